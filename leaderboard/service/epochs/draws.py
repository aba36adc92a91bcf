"""Private draws: a recipe and a secret determine a suite; a commitment to both is published before the secret is.

A draw has the ranked tasks of a public suite with seeds that depend on the secret. A recipe can name other datasets and settings
for a task, and tasks whose texts must not occur in the public draw.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import os
import secrets
import stat
import tomllib
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.base.errors import TouchstoneError, did_you_mean, printable
from harness.base.hashing import canonical, digest_of
from harness.base.progress import NoProgress, Progress
from harness.evaluation.suite import Suite
from leaderboard.service.epochs.remainders import add_remainder
from tasks.registry import get_task
from tasks.suite_files import build_suite, first_error, load_suite, read_settings, read_suite_file

SECRET_BYTES = 32
SECRET_VARIABLE = "TOUCHSTONE_EPOCH_SECRET"


class Recipe(BaseModel):
    """What a private draw contains, as the operator writes it in TOML."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,19}$")]       # of the epoch, such as 2026Q4
    suite: str = "core"
    expires: datetime.date                  # of the badge
    leave_out: list[str] = []               # tasks that are not drawn
    disjoint: list[str] = []                # tasks that are drawn from what the public draw of the task does not use
    tasks: dict[str, dict[str, Any]] = {}   # tables that replace those of the suite


def read_recipe(path: Path) -> str:
    """Return the text of a recipe, which is valid."""
    try:
        text = path.read_text(encoding="utf-8").strip() + "\n"
    except (OSError, UnicodeDecodeError) as error:
        raise TouchstoneError(f"{path} cannot be read as a recipe ({printable(str(error), 100)}).") from None
    parse_recipe(text, path.name)
    return text


def parse_recipe(text: str, name: str = "The recipe") -> Recipe:
    """Return a recipe from its text."""
    try:
        return Recipe.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise TouchstoneError(f"{name} is not TOML: {error}.") from None
    except ValidationError as error:
        raise TouchstoneError(f"{name}: {first_error(error)}") from None


# ---- the secret -------------------------------------------------------------------------------------------------------------

def create_secret(path: Path) -> bytes:
    """Write a new secret to a file that only its owner can read; refuse to replace one."""
    secret = secrets.token_bytes(SECRET_BYTES)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise TouchstoneError(f"{path} exists; each epoch needs a new secret. Name another file with --secret.") from None
    except OSError as error:
        raise TouchstoneError(f"{path} cannot be written ({error.strerror}). Name another file with --secret.") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(secret.hex() + "\n")
    return secret


def read_secret(path: Path | None) -> bytes:
    """Return the secret in a file, or in an environment variable, which is then removed; the file must be private."""
    if path is None:
        text, origin = os.environ.pop(SECRET_VARIABLE, None), SECRET_VARIABLE
        if text is None:
            raise TouchstoneError(f"The secret of the epoch is needed: name its file with --secret, or set {SECRET_VARIABLE}.")
    else:
        origin = str(path)
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
            text = path.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            raise TouchstoneError(f"{path} cannot be read as the secret of an epoch.") from None
        if mode & 0o077:
            raise TouchstoneError(f"{path} can be read by others (mode {mode:o}); restrict it with `chmod 600 {path}`.")
    return parse_secret(text, origin)


def parse_secret(text: str, origin: str) -> bytes:
    """Return a secret from hexadecimal digits."""
    try:
        secret = bytes.fromhex(text.strip())
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise TouchstoneError(f"{origin} does not contain a secret, which has {2 * SECRET_BYTES} hexadecimal digits.")
    return secret


# ---- the commitment ---------------------------------------------------------------------------------------------------------

def commitment_of(secret: bytes, recipe: str, sources: str) -> str:
    """Return sha256(secret || recipe || sources); the sources are the last line, so the parts are unambiguous."""
    return hashlib.sha256(secret + recipe.encode() + sources.encode()).hexdigest()


def sources_of(public: Suite, draw: Suite) -> str:
    """Return the public suite, the model, and the datasets of a draw with their fingerprints, on one line of JSON."""
    datasets = {source.name: source.fingerprint for task_unit in draw.task_units for source in task_unit.unit.data}
    return canonical({"suite": {public.name: public.fingerprint}, "model": {draw.model.name: draw.model.fingerprint},
                      "datasets": datasets}).decode()


# ---- the draw ---------------------------------------------------------------------------------------------------------------

def seed_of_epoch(secret: bytes, recipe: str) -> int:
    """Return the seed of a draw, 62 bits of HMAC-SHA256, which every database and JSON parser can store."""
    return int.from_bytes(hmac.digest(secret, b"touchstone epoch seed\n" + recipe.encode(), "sha256")[:8], "big") >> 2


def derive_suite(recipe_text: str, secret: bytes) -> Suite:
    """Return the suite of a private draw."""
    recipe = parse_recipe(recipe_text)
    public, content = load_suite(recipe.suite), read_suite_file(recipe.suite)
    ranked = [task.name for task in public.tasks if public.is_ranked(task)]
    for where, names in (("leave_out", recipe.leave_out), ("disjoint", recipe.disjoint), ("tasks", recipe.tasks)):
        for name in names:
            if name not in ranked:
                raise TouchstoneError(f'`{where}` of the recipe names "{name}", which is not a ranked task of {public.name}.'
                                      f"{did_you_mean(name, ranked)} These are {', '.join(ranked)}.")
    drawn = [name for name in ranked if name not in recipe.leave_out]
    if not drawn:
        raise TouchstoneError("The recipe leaves out all ranked tasks; a private draw needs at least one.")
    tables = {name: recipe.tasks.get(name, content.tasks[name]) for name in drawn}
    for name in recipe.disjoint:
        if name in tables:
            tables[name] = use_remainders(name, tables[name], public, recipe.suite)
    axes = [axis.model_copy(update={"parts": parts}) for axis in content.axes
            if (parts := [part for part in axis.parts if part.task in drawn])]
    draw = content.model_copy(update={"title": f"{content.title}: private draw {recipe.name}", "tasks": tables, "axes": axes,
                                      "seed": seed_of_epoch(secret, recipe_text), "admission": None})
    try:
        return build_suite(f"{public.name}-{recipe.name}", draw)
    except TouchstoneError as error:
        raise TouchstoneError(f"The recipe of {recipe.name} cannot be drawn: {error}") from None


def use_remainders(task: str, table: Mapping[str, Any], public: Suite, suite: str) -> dict[str, Any]:
    """Return the table of a task with each dataset of its public draw replaced by its remainder."""
    used = {source.name for unit in public.units(get_task(task)) for source in unit.data}
    names = {name: add_remainder(name, task, suite, public.fingerprint)
             for name in get_task(task).datasets(read_settings(task, table)) & used}
    replaced: dict[str, Any] = rename(table, names)
    return replaced


def rename(value: Any, names: Mapping[str, str]) -> Any:
    """Return a TOML value in which names of datasets, also in unions such as `a + b`, are replaced."""
    if isinstance(value, str):
        return " + ".join(names.get(part, part) for part in value.split(" + "))
    if isinstance(value, Mapping):
        return {rename(key, names): rename(item, names) for key, item in value.items()}
    return [rename(item, names) for item in value] if isinstance(value, list | tuple) else value


def digest_items(draw: Suite, progress: Progress | None = None) -> dict[str, str]:
    """Return for each task a digest of its test units in order with all their texts in order; draw all of them."""
    stage = (progress or NoProgress()).stage("Drawing", len(draw.task_units), "units")
    units: dict[str, list[str]] = {}
    try:
        for task_unit in draw.task_units:
            task, unit = task_unit.task, task_unit.unit
            try:
                texts = task.texts(unit)
                items = sorted(texts) if isinstance(texts, Set) else list(texts)
                units.setdefault(task.name, []).append(digest_of([unit.id, items]))
            except TouchstoneError as error:
                raise TouchstoneError(f"The task {task.name} cannot be drawn: {error}") from None
            stage.advance()
    finally:
        stage.close()
    return {name: digest_of(digests) for name, digests in units.items()}

