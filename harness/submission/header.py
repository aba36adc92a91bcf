"""Read the header of a submission file without executing the file.

A submission starts with inline script metadata (PEP 723). It is scanned line by line within size limits, parsed as TOML and
validated. Every mistake is reported in one sentence that names the file and the line.
"""

from __future__ import annotations

import math
import re
import tomllib
from functools import lru_cache
from typing import Annotated, Any, Literal

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.base.errors import TouchstoneError, did_you_mean, printable
from harness.models.names import is_model_name

FILE_BYTES = 1_000_000
HEADER_BYTES = 16_000
LINE_CHARACTERS = 1_000
DEPENDENCIES = 30
VARIANTS = 12
REMEMBERED_HEADERS = 512
OUR_PACKAGES = frozenset({"harness", "tasks", "submissions", "leaderboard", "touchstone-benchmark"})

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
VARIANT_NAME = re.compile(r"[a-z0-9][a-z0-9_.=-]{0,31}")
HIDDEN = re.compile("\r(?!\n)|[\u202a-\u202e\u2066-\u2069]")        # a lone carriage return, and bidirectional controls
CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")      # PEP 263, first two lines


def _plain(text: str) -> str:
    if not text.isprintable() or text != text.strip() or not text:
        raise ValueError("must be plain text on one line, without control or invisible characters")
    return text


def _name(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ValueError("must be 1 to 64 of a-z, 0-9, '_', '.', '-', starting with a letter or a digit")
    return name


def _model_name(name: str) -> str:
    if not is_model_name(name):
        raise ValueError('must be a registered name, like "minilm", or one of the Hugging Face hub, like "owner/name"')
    return name


def _variant_name(name: str) -> str:
    if not VARIANT_NAME.fullmatch(name):
        raise ValueError("must be 1 to 32 of a-z, 0-9, '_', '.', '-', '=', starting with a letter or a digit")
    return name


def _address(address: str) -> str:
    if not re.fullmatch(r"(https?://|doi:10\.)[!-~]{3,400}", address) or re.search(r"[<>\"'`\\]", address):
        raise ValueError('must be an address that starts with "https://", "http://" or "doi:10."')
    return address


def _dependency(line: str) -> str:
    try:
        wanted = Requirement(line)
    except InvalidRequirement:
        raise ValueError(f'{printable(line, 60)!r} must be a package name with version bounds, like "scipy>=1.14"') from None
    if wanted.url or wanted.extras or wanted.marker or "\n" in line:
        raise ValueError(f"{printable(line, 60)!r} must be a package name with version bounds only: "
                         "no address, no extras, no markers")
    if any(bound.operator == "===" for bound in wanted.specifier):
        raise ValueError(f"{printable(line, 60)!r} must bound the version with an operator such as ==, >=, < or ~=, not ===")
    if canonicalize_name(wanted.name) in OUR_PACKAGES:
        raise ValueError(f"{wanted.name!r} is a package of the harness; submissions cannot import it")
    return line


Name = Annotated[str, AfterValidator(_name)]
Plain = Annotated[str, AfterValidator(_plain)]
ModelName = Annotated[str, AfterValidator(_model_name)]
Scalar = bool | int | float | str


class Variant(BaseModel):
    """A named set of parameters, or of vectors, that becomes a separate entry of the same family."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, AfterValidator(_variant_name)]
    parameters: Annotated[dict[Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]{0,63}$")], Scalar],
                          Field(max_length=20)] = {}
    summary: Annotated[Plain, Field(max_length=300)] | None = None
    on_request: bool = False                # as for a whole file
    vectors_of: Annotated[tuple[ModelName, ...], Field(max_length=5)] = ()      # empty: the suite's model
    in_chunks: bool = False                 # split texts that are longer than the model's window

    @property
    def setting(self) -> tuple[dict[str, Scalar], tuple[str, ...], bool]:
        """What distinguishes this variant from others."""
        return self.parameters, self.vectors_of, self.in_chunks

    @model_validator(mode="after")
    def _bounded(self) -> Variant:
        if not self.parameters and not self.vectors_of and not self.in_chunks:
            raise ValueError(f'the variant "{self.name}" has no `parameters`, nor `vectors_of` or `in_chunks`; add a line such '
                             f"as `# {EXAMPLES['parameters']}`")
        for key, value in self.parameters.items():
            if isinstance(value, str) and (len(value) > 200 or not value.isprintable()):
                raise ValueError(f"parameter {key!r} must be plain text of at most 200 characters")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"parameter {key!r} must be finite")
        return self


class Header(BaseModel):
    """The declarations of a submission. `symmetric`, `range` and `control` are claims that are tested."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Name
    title: Annotated[Plain, Field(max_length=80)]
    summary: Annotated[Plain, Field(max_length=300)]
    kind: Literal["corpus", "text"]
    input: Literal["texts", "tokens", "embeddings", "token_embeddings"]
    returns: Literal["distance", "similarity"]
    range: tuple[float, float]
    license: Annotated[Plain, Field(max_length=100)]
    symmetric: bool = False
    repeatable: bool = True
    control: bool = False
    on_request: bool = False                # true: slow; runs only if it is named
    lift: bool = True                       # false: too slow to score all pairs of two corpora
    models: Annotated[tuple[ModelName, ...], Field(max_length=5)] = ()
    trained_on: Annotated[tuple[Annotated[Plain, Field(max_length=80)], ...], Field(max_length=50)] = ()
    paper: Annotated[str, AfterValidator(_address)] | None = None
    authors: Annotated[tuple[Annotated[Plain, Field(max_length=80)], ...], Field(max_length=50)] = ()    # of the paper
    year: Annotated[int, Field(ge=1800, le=2200)] | None = None      # of the paper
    memory: Annotated[int, Field(ge=1, le=64_000)] | None = None      # requested megabytes
    time: Annotated[float, Field(gt=0, le=86_400)] | None = None      # requested seconds per test unit
    variants: Annotated[tuple[Variant, ...], Field(max_length=VARIANTS)] = ()
    command: Annotated[tuple[Annotated[Plain, Field(max_length=200)], ...], Field(min_length=1, max_length=20)] | None = None
    supplied_answers: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None      # hash of answers computed elsewhere
    requires_python: Annotated[Plain, Field(max_length=60)] | None = None
    dependencies: Annotated[tuple[Annotated[str, Field(max_length=200), AfterValidator(_dependency)], ...],
                            Field(max_length=DEPENDENCIES)] = ()

    @property
    def distributions(self) -> list[str]:
        """The names of the dependencies, without version bounds."""
        return [canonicalize_name(Requirement(line).name) for line in self.dependencies]

    @model_validator(mode="after")
    def _consistent(self) -> Header:
        low, high = self.range
        if math.isnan(low) or math.isnan(high) or not low < high:
            raise ValueError("`range` must be [low, high] with low < high, for example [0.0, inf]")
        if self.command is not None and self.input == "token_embeddings":
            raise ValueError('`input = "token_embeddings"` is not available to programs; use "texts", "tokens" or "embeddings"')
        names = [variant.name for variant in self.variants]
        for twice in {name for name in names if names.count(name) > 1}:
            raise ValueError(f'`variants`: two variants are named "{twice}"')
        for number, variant in enumerate(self.variants):
            if any(variant.setting == other.setting for other in self.variants[:number]):
                raise ValueError(f'`variants`: "{variant.name}" has the same parameters as another variant')
            if (variant.vectors_of or variant.in_chunks) and self.input != "embeddings":
                raise ValueError(f'`variants`: "{variant.name}" sets vectors, which requires `input = "embeddings"`')
        return self


MEANINGS = {
    "kind": '"corpus" (one number for two corpora) or "text" (one number per pair of texts)',
    "input": '"texts", "tokens", "embeddings" or "token_embeddings"',
    "returns": '"distance" (larger = more different) or "similarity" (larger = more alike)',
}
EXAMPLES = {
    "name": 'name = "energy"', "title": 'title = "Energy distance"', "summary": 'summary = "What it computes, in a sentence."',
    "kind": 'kind = "corpus"', "input": 'input = "embeddings"', "returns": 'returns = "distance"',
    "range": "range = [0.0, inf]", "license": 'license = "Apache-2.0"', "parameters": "parameters = { k = 5 }",
    "command": 'command = ["node"]',
}


ADDED = ("command", "supplied_answers")     # fields that entry digests omit unless they are set, as digests are older


# What a header may change without changing any answer; the rest of it is part of an entry's digest.
DESCRIPTIVE = frozenset(
    {
        "authors",
        "year",
        "title",
        "summary",
        "license",
        "control",
        "on_request",
        "trained_on",
        "paper",
        "memory",
        "time",
        "variants",
    }
)


def functional_fields(header: Header) -> dict[str, Any]:
    """Return the fields of a header that influence answers, as plain JSON values."""
    fields = header.model_dump(mode="python", exclude={*DESCRIPTIVE, *(name for name in ADDED if getattr(header, name) is None)})
    return {**fields, "range": [str(end) for end in header.range]}


def without_header(source: bytes) -> bytes:
    """Return the source without the lines of its header."""
    lines = source.split(b"\n")
    stripped = [line.rstrip(b"\r") for line in lines]
    start = next(number for number, line in enumerate(stripped) if line in (b"# /// script", b"// /// script"))
    end = stripped.index(stripped[start].removesuffix(b" script"), start)
    return b"\n".join(lines[:start] + lines[end + 1:])


@lru_cache(REMEMBERED_HEADERS)
def read_header(source: bytes, filename: str) -> Header:
    """Return the validated header of a submission's source, or raise TouchstoneError."""
    first_line, block = _block(_decode(source, filename), filename)
    lines = block.split("\n")
    tables = _parse(block, first_line, filename)
    for key in tables:
        if key not in ("requires-python", "dependencies", "tool"):
            raise TouchstoneError(f"{filename}, line {_line(lines, first_line, key)}: `{printable(key, 40)}` is not allowed next "
                                  "to [tool.touchstone]; put fields of the metric below that line.")
    tool = tables.get("tool")
    fields = tool.get("touchstone") if isinstance(tool, dict) else None
    if not isinstance(fields, dict):
        raise TouchstoneError(f"{filename}, line {first_line}: the header has no [tool.touchstone] table; add the line "
                              "`# [tool.touchstone]` and below it name, title, summary, kind, input, returns, range and license.")
    for reserved in ("requires_python", "dependencies"):
        if reserved in fields:
            raise TouchstoneError(f"{filename}, line {_line(lines, first_line, reserved)}: `{reserved.replace('_', '-')}` "
                                  "belongs above [tool.touchstone] (PEP 723).")
    whole = {**fields}
    if "requires-python" in tables:
        whole["requires_python"] = tables["requires-python"]
    if "dependencies" in tables:
        whole["dependencies"] = tables["dependencies"]
    if source.split(b"\n")[first_line - 2].startswith(b"//") and "command" not in fields:
        raise TouchstoneError(f"{filename}, line {first_line}: the header of a program needs the command that runs it; add "
                              f"a line such as `// {EXAMPLES['command']}`.")
    try:
        return Header.model_validate(_tuples(whole))
    except ValidationError as error:
        raise TouchstoneError(_sentence(error, lines, first_line, filename)) from None


def field_line(source: bytes, key: str) -> int:
    """Return the line of a valid submission that holds a field of its header."""
    first_line, block = _block(source.decode(), "")
    return _line(block.split("\n"), first_line, key)


def _decode(source: bytes, filename: str) -> str:
    if len(source) > FILE_BYTES:
        raise TouchstoneError(f"{filename}: the file has {len(source):,} bytes; a submission may have at most {FILE_BYTES:,}. "
                              "Weights belong in `models`, data in a dataset.")
    if b"\0" in source:
        raise TouchstoneError(f"{filename}: the file contains a NUL byte; a submission must be a plain UTF-8 text file.")
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        line = source[: error.start].count(b"\n") + 1
        raise TouchstoneError(f"{filename}, line {line}: the line is not valid UTF-8; save the file as UTF-8.") from None
    hidden = HIDDEN.search(text)
    if hidden:
        line = text[: hidden.start()].count("\n") + 1
        raise TouchstoneError(f"{filename}, line {line}: the character U+{ord(hidden[0][0]):04X} changes how lines are "
                              "displayed; remove it.")
    for number, words in enumerate(text.split("\n", 2)[:2], start=1):
        cookie = CODING.match(words)
        if cookie and cookie[1].lower().replace("_", "-") not in ("utf-8", "utf8"):
            raise TouchstoneError(f"{filename}, line {number}: the coding {printable(cookie[1], 30)!r} is declared; "
                                  "only UTF-8 is read. Remove the line.")
    return text


def _block(text: str, filename: str) -> tuple[int, str]:
    """Return the TOML between `# /// script` and `# ///`, and the line number of its first line.

    The header of a program may be in comments that start with `//`.
    """
    inner: list[str] = []
    start, end, size, mark = 0, 0, 0, "#"
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.rstrip("\r")
        if not start:
            if line in ("# /// script", "// /// script"):
                start, mark = number, line.split()[0]
            continue
        if end:
            if line == f"{mark} /// script":
                raise TouchstoneError(f"{filename}, line {number}: this is a second `# /// script` block; remove it, because a "
                                      "file has one header.")
            continue
        if line == f"{mark} ///":
            end = number
            continue
        if line != mark and not line.startswith(f"{mark} "):
            raise TouchstoneError(f"{filename}, line {number}: every line from the start of the header (line {start}) to its "
                                  f"end, a line `{mark} ///`, must start with `{mark} `.")
        size += len(line.encode()) + 1
        if len(line) > LINE_CHARACTERS:
            raise TouchstoneError(f"{filename}, line {number}: the line has {len(line):,} characters; a line of the header "
                                  f"may have at most {LINE_CHARACTERS:,}.")
        if size > HEADER_BYTES:
            raise TouchstoneError(f"{filename}, line {number}: the header is longer than {HEADER_BYTES:,} bytes; shorten it.")
        inner.append(line[len(mark) + 1:])
    if not start:
        raise TouchstoneError(f"{filename}: no header. A submission starts with `# /// script`, then TOML in comment lines with "
                              "a [tool.touchstone] table, then `# ///`; see \"Submit a metric\" in the README.")
    if not end:
        raise TouchstoneError(f"{filename}, line {start}: the header that starts here is never closed; end it with `{mark} ///`.")
    return start + 1, "\n".join(inner)


def _parse(block: str, first_line: int, filename: str) -> dict[str, Any]:
    try:
        return tomllib.loads(block)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"^(?P<what>.*?)(?: \(at line (?P<line>\d+), column \d+\))?$", str(error).split("\n")[0])
        what = printable(match["what"], 120) if match else "not TOML"
        number = int(match["line"]) if match and match["line"] else block.count("\n") + 1
        raise TouchstoneError(f"{filename}, line {first_line + number - 1}: the header is not valid TOML here: {what}.") from None
    except (RecursionError, ValueError):
        raise TouchstoneError(f"{filename}, line {first_line}: the header cannot be read as TOML; it is nested too deeply, or "
                              "contains a number that is too large.") from None


def _tuples(value: Any) -> Any:
    """Convert TOML lists to tuples and integers in `range` to floats, as the strict model expects."""
    fixed = {key: tuple(item) if isinstance(item, list) else item for key, item in value.items()}
    if isinstance(fixed.get("variants"), tuple):
        fixed["variants"] = tuple({key: tuple(item) if isinstance(item, list) else item for key, item in variant.items()}
                                  if isinstance(variant, dict) else variant for variant in fixed["variants"])
    if isinstance(fixed.get("range"), tuple):
        fixed["range"] = tuple(float(x) if type(x) is int and abs(x) < 2**53 else x for x in fixed["range"])
    return fixed


def _line(lines: list[str], first_line: int, key: str, variant: int | None = None) -> int:
    """Return the line of the file that holds a key of the header (of the n-th variant, if given), or the header's first line."""
    seen = -1
    for number, line in enumerate(lines, start=first_line):
        if re.match(r"\s*\[\[\s*tool\.touchstone\.variants\s*\]\]", line):
            seen += 1
            if variant is not None and seen == variant and not key:
                return number
        inside = variant is None or seen == variant
        if inside and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
            return number
    return _line(lines, first_line, "", variant) if variant is not None and key else first_line


def _sentence(invalid: ValidationError, lines: list[str], first_line: int, filename: str) -> str:
    """Return the first validation error as one sentence: file and line, what is wrong, how to fix it."""
    error = invalid.errors(include_url=False)[0]
    path = list(error["loc"])
    variant = path[1] if len(path) > 1 and path[0] == "variants" and isinstance(path[1], int) else None
    names = [part for part in path if isinstance(part, str)]
    key = names[1] if variant is not None and len(names) > 1 else (names[0] if names else "")
    field = key.replace("requires_python", "requires-python")
    message = error["msg"].removeprefix("Value error, ")
    if not key:                                        # a rule on several fields; the message names them
        named = re.search(r"`(\w+)`", message)
        key = named[1] if named else ""
        number = _line(lines, first_line, "" if variant is not None else key, variant)
        return f"{filename}, line {number}: {message}."
    fields = Variant.model_fields if variant is not None else Header.model_fields
    where = f"{filename}, line {_line(lines, first_line, field, variant)}"
    value = printable(_as_toml(error["input"]), 60)
    if error["type"] == "missing":
        table = "the variant" if variant is not None else "the header"
        return f"{where}: {table} has no `{field}`; add a line such as `# {EXAMPLES.get(field, field)}`."
    if error["type"] == "extra_forbidden":
        return f"{where}: `{printable(field, 40)}` is not a field of the header.{did_you_mean(field, fields)}"
    if error["type"] == "literal_error":
        return f"{where}: `{field} = {value}` is not a valid choice. Use {MEANINGS[field]}."
    if error["type"] in ("tuple_type", "too_short"):
        return f"{where}: `{field} = {value}` must be a list of values, such as `{EXAMPLES.get(field, f'{field} = [...]')}`."
    if error["type"] in ("too_long", "string_too_long"):
        return f"{where}: `{field}` is too long; {message[0].lower()}{message[1:]}."
    return f"{where}: `{field} = {value}` is not valid; {message[0].lower()}{message[1:]}."


def _as_toml(value: Any, depth: int = 3) -> str:
    if not depth:
        return "..."
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{printable(value, 80)}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_as_toml(item, depth - 1) for item in value[:5]) + "]"
    return str(value) if isinstance(value, int | float) else type(value).__name__
