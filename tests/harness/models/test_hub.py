"""Embedding models beyond the packaged ones: of the hub, fetched and read as data; and services.

The hub is a server of the tests that speaks its protocol to its own library, or a folder of clones; the model is a tiny one
with random weights, made here.  What the services answer is written from their documentation: none can be reached.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import SUBMISSIONS
from harness.base.progress import NoProgress
from harness.evaluation.run import run_suite
from harness.models import hub_access as hub
from harness.models.api_services import TEXTS_AT_ONCE
from harness.models.hub import fetch_model
from harness.models.registry import MODELS, find_model
from harness.models.vector_cache import VectorCache
from harness.results.store import Store
from harness.submission.selection import select_entries
from harness.submission.submission import load_submission
from leaderboard.scoring.results import score_suite
from leaderboard.scoring.signature import parse_signature
from tasks.suite_files import load_suite
from tests.support.command import touchstone

pytestmark = pytest.mark.sandbox

NAME = "tester/tiny-Bert"
TEXTS = ["", "a", "some words of a text", "another text, and a longer one of more words", "words " * 300, " Padded  with Space "]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    """A sentence-transformers model of two small layers, with a prompt of its own."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast, set_seed

    set_seed(1)
    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz,.", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"), "words", "text"]
    (folder / "vocab.txt").write_text("\n".join(words))
    bert = folder / "bert"
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), vocab={word: place for place, word in enumerate(words)}).save_pretrained(bert)
    BertModel(BertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)).save_pretrained(bert)
    transformer = Transformer(str(bert), max_seq_length=128)
    SentenceTransformer(modules=[transformer, Pooling(32), Normalize()], prompts={"task": "text of: "}, default_prompt_name="task").save(str(folder / "model"))
    return folder / "model"


@pytest.fixture
def clones(tmp_path, monkeypatch, tiny) -> Path:
    """A folder of clones of the hub with the tiny model in it, and a cache of its own."""
    shutil.copytree(tiny, tmp_path / "clones" / NAME)
    monkeypatch.setenv("TOUCHSTONE_HUB", str(tmp_path / "clones"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "clones"


def expected(folder: Path) -> np.ndarray:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu").encode(TEXTS)


def test_its_vectors_are_those_of_sentence_transformers_with_its_own_prompt(clones, tmp_path, tiny):
    model = fetch_model(NAME)
    assert (model.dimensions, model.verified) == (32, False)
    cache = VectorCache(NAME, tmp_path / "cache")
    cache.fill(TEXTS, NoProgress(), threads=2)
    assert np.abs(cache.vectors(TEXTS) - expected(tiny)).max() < 1e-6
    assert model.tokenizer().encode("text words").tokens[1:-1] == ["text", "words"]


def test_the_same_files_by_another_name_give_the_same_vectors(clones, tmp_path):
    shutil.copytree(MODELS["minilm"].path(), clones / "tester" / "minilm-copy")
    fetch_model("tester/minilm-copy")
    copied, packaged = VectorCache("tester/minilm-copy", tmp_path / "cache"), VectorCache("minilm", tmp_path / "cache")
    for cache in (copied, packaged):
        cache.fill(TEXTS, NoProgress(), threads=1)
    assert np.array_equal(copied.vectors(TEXTS), packaged.vectors(TEXTS))


def test_minilms_weights_are_the_published_ones():
    """The sha256 that public projects pin for model.safetensors and tokenizer.json of sentence-transformers/all-MiniLM-L6-v2.

    They state revision 1110a243fdf4706b3f48f1d95db1a4f5529b4d41; at the hub itself it could not be looked up here.
    """
    for name, published in (("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
                            ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037")):
        assert hashlib.sha256((MODELS["minilm"].path() / name).read_bytes()).hexdigest() == published


def test_a_suite_and_a_submission_can_name_it(clones, tmp_path, write):
    suite = tmp_path / "tiny.toml"
    suite.write_text(f'title = "Tiny"\nseed = 1\nmodel = "{NAME}"\n[tasks.known_similarity]\n'
                     'pairs = [["made_weather", "made_trains"]]\nlevels = [{ k = 3, n = 6 }]\nrepetitions = 2\n')
    path = write("reader", "import os\ndef setup(models): global found; found = sorted(os.listdir(models['tester/tiny-Bert']))\n"
                           "def distance(p, q): assert 'model.safetensors' in found; return float(len(p))\n")
    path.write_text(path.read_text().replace("# name =", f'# models = ["{NAME}"]\n# name ='))
    with pytest.raises(TouchstoneError, match=f"tiny.toml: .*`touchstone models fetch {NAME}` fetches it"):
        load_suite(str(suite))
    fetch_model(NAME)
    read, store = load_suite(str(suite)), tmp_path / "store.sqlite"
    entries = [*select_entries(["energy"], SUBMISSIONS), *load_submission(path).entries]
    tally = run_suite(entries, read, store, progress=NoProgress())
    assert (tally.answered, tally.failures) == (4, [])
    scored = next(one for one in score_suite(Store(store, read_only=True), read) if one.name == "energy")
    signature = parse_signature(str(scored.signature(scored.tasks["known_similarity"])))
    assert (signature.model, signature.model_fingerprint) == (NAME, read.model.fingerprint[:2])


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no sentence-transformers model": (lambda f: (f / "modules.json").unlink(), "no modules.json"),
    "code beside the weights": (lambda f: (f / "config.json").write_text('{"auto_map": {"AutoModel": "own.Model"}}'), "its own code"),
    "a module of its own": (lambda f: (f / "modules.json").write_text('[{"type": "own.Module"}]'), "its own code"),
    "weights that execute code": (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "no safetensors weights"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "no tokenizer.json"),
    "no JSON": (lambda f: (f / "modules.json").write_text("{"), "cannot be read"),
    "another form": (lambda f: (f / "modules.json").write_text('{"a": 1}'), "cannot be read"),
    "cut off weights": (lambda f: (f / "model.safetensors").write_bytes(b"\x08"), "sentence-transformers cannot read it"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_used_is_refused_and_not_noted(what, clones):
    damage, sentence = BROKEN[what]
    damage(clones / NAME)
    with pytest.raises(TouchstoneError, match=sentence):
        fetch_model(NAME)
    with pytest.raises(TouchstoneError, match="is not available locally"):
        find_model(NAME)


def test_code_of_a_repository_is_never_run(clones, tmp_path):
    """The same repository runs its code when sentence-transformers is told to trust it."""
    folder, mark = clones / NAME, tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w')\nfrom sentence_transformers.models import Normalize\nclass Own(Normalize): pass\n")
    modules = json.loads((folder / "modules.json").read_text())
    modules[-1]["type"] = "own.Own"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(TouchstoneError, match="its own code"):
        fetch_model(NAME)
    assert not mark.exists()
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
    assert mark.exists()


def test_other_files_under_a_known_name_are_noticed(clones, tmp_path):
    first = fetch_model(NAME)
    weights = clones / NAME / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(bytes(changed))
    with pytest.raises(TouchstoneError, match="have changed since the first fetch"):
        VectorCache(NAME, tmp_path / "cache").fill(["a"], NoProgress(), threads=1)
    with pytest.raises(TouchstoneError, match="which models.lock recorded at the first fetch"):
        fetch_model(NAME)
    assert touchstone("models", "verify").returncode == 2
    assert fetch_model(NAME, again=True).fingerprint != first.fingerprint
    shutil.rmtree(clones / NAME)
    with pytest.raises(TouchstoneError, match="are no longer in"):
        find_model(NAME).ready()


def test_what_papers_use_and_cannot_be_had_is_listed_with_the_reason(clones):
    listed = {row["name"]: row for row in json.loads(touchstone("models", "list", "--json").stdout)}
    assert listed["minilm"]["status"] == "pinned"
    assert listed["BAAI/bge-m3"]["here"] is False
    assert "its own code" in listed["jinaai/jina-embeddings-v2-base-en"]["unusable"]
    assert "OPENAI_API_KEY" in listed["text-embedding-3-small"]["unusable"]
    with pytest.raises(TouchstoneError, match="its own code"):
        fetch_model("mosaicml/mosaic-bert-base")
    with pytest.raises(TouchstoneError, match='Did you mean "minilm"'):
        find_model("minilm2")


class Server:
    """A web server in a thread; `answer` makes (status, headers, body) of (method, path, body)."""

    def __init__(self, answer: Callable[[str, str, bytes, Any], tuple[int, dict[str, str], bytes]]) -> None:
        self.asked: list[tuple[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.asked.append((self.command, self.path))
                status, headers, content = answer(self.command, self.path, body, self.headers)
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_POST = reply      # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    opened: list[Server] = []

    def made(answer: Callable[..., Any]) -> Server:
        opened.append(Server(answer))
        return opened[-1]
    yield made
    for server in opened:
        server.close()


REVISION = "0123456789abcdef0123456789abcdef01234567"


def test_a_model_is_fetched_by_the_hubs_own_library(serve, tiny, tmp_path):
    """Only text files and safetensors weights; the description first."""
    shutil.copytree(tiny, tmp_path / "there")
    (tmp_path / "there" / "pytorch_model.bin").write_bytes(b"not wanted")
    (tmp_path / "there" / "own.py").write_text("raise SystemExit")
    files = {str(path.relative_to(tmp_path / "there")): path.read_bytes() for path in (tmp_path / "there").rglob("*") if path.is_file()}

    def answer(method: str, path: str, body: bytes, headers: Any) -> tuple[int, dict[str, str], bytes]:
        path = path.partition("?")[0]
        if path.startswith(f"/api/models/{NAME}/revision/"):
            said = {"id": NAME, "sha": REVISION, "siblings": [{"rfilename": name} for name in files]}
            return 200, {"Content-Type": "application/json"}, json.dumps(said).encode()
        if path.startswith(f"/api/models/{NAME}/tree/"):
            said = [{"type": "file", "path": name, "size": len(content), "oid": "0" * 40} for name, content in files.items()]
            return 200, {"Content-Type": "application/json"}, json.dumps(said).encode()
        name = path.removeprefix(f"/{NAME}/resolve/{REVISION}/")
        if name in files:
            return 200, {"X-Repo-Commit": REVISION, "ETag": f'"{abs(hash(name))}"'}, files[name]
        return 404, {"X-Error-Code": "RepoNotFound"}, b"{}"

    hub_server = serve(answer)
    there = {"HF_ENDPOINT": hub_server.address, "TOUCHSTONE_CACHE": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1"}
    done = touchstone("models", "fetch", NAME, environment=there)
    assert done.returncode == 0, done.stderr
    noted = json.loads((tmp_path / "cache" / "models.lock").read_text())[NAME]
    assert (noted["revision"], noted["dimensions"]) == (REVISION, 32)
    fetched = [path.partition("?")[0] for method, path in hub_server.asked if method == "GET" and "/resolve/" in path]
    assert not [path for path in fetched if path.endswith((".bin", ".py"))]
    assert fetched[-1].endswith("model.safetensors")
    absent = touchstone("models", "fetch", "tester/none", environment=there)
    assert absent.returncode == 2
    assert "has no model" in " ".join(absent.stderr.split())
    assert "Traceback" not in absent.stderr


def test_no_hub_is_said_with_what_to_do(monkeypatch, tmp_path):
    done = touchstone("models", "fetch", NAME, environment={"HF_ENDPOINT": "http://127.0.0.1:1", "TOUCHSTONE_CACHE": str(tmp_path)})
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "TOUCHSTONE_HUB" in said
    assert "Traceback" not in said
    assert touchstone("models", "fetch", "no name/at all", environment={"TOUCHSTONE_CACHE": str(tmp_path)}).returncode == 2
    assert not hub.local_clone("tester/none")


SERVICES = {"text-embedding-3-small": ("OPENAI_API_KEY", "TOUCHSTONE_OPENAI_URL"), "embed-english-v3.0": ("COHERE_API_KEY", "TOUCHSTONE_COHERE_URL")}


def as_documented(model: str, asked: dict[str, Any]) -> bytes:
    """The answer of either company; a text's vector starts with its length."""
    texts, width = asked.get("input") or asked["texts"], find_model(model).dimensions
    assert asked["model"] == model
    assert all(texts)
    assert len(texts) <= TEXTS_AT_ONCE
    vectors = [[float(len(text)), *([1.0] * (width - 1))] for text in texts]
    if "input" in asked:
        return json.dumps({"object": "list", "data": [{"object": "embedding", "index": i, "embedding": vectors[i]}
                                                      for i in reversed(range(len(texts)))]}).encode()
    return json.dumps({"id": "1", "embeddings": {"float": vectors}, "texts": texts}).encode()


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_asked_in_portions_and_again_while_it_is_busy(name, serve, monkeypatch, tmp_path):
    refused = iter([429, 503])

    def answer(method: str, path: str, body: bytes, headers: Any) -> tuple[int, dict[str, str], bytes]:
        assert headers["Authorization"] == "Bearer of-mine"
        status = next(refused, 200)
        return (status, {"Retry-After": "0.01"}, b"") if status != 200 else (200, {}, as_documented(name, json.loads(body)))

    key, address = SERVICES[name]
    monkeypatch.setenv(key, "of-mine")
    monkeypatch.setenv(address, serve(answer).address)
    texts = ["x" * n for n in range(1, 130)]
    cache = VectorCache(name, tmp_path)
    assert cache.fill(["", *texts], NoProgress(), threads=2) == 130
    assert cache.vectors(texts)[:, 0].tolist() == list(range(1, 130))
    assert VectorCache(name, tmp_path).missing(texts) == []


REFUSALS = {
    "a wrong key": (401, b"{}", "does not accept the API key in OPENAI_API_KEY"),
    "too long a text": (400, b'{"error": "maximum context length \x1b[31m"}', r"refused the embedding request \(400: .*maximum context"),
    "no JSON": (200, b"<html>", "does not follow its documented API"),
    "another form": (200, b'{"data": []}', "does not follow its documented API"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_service_that_does_not_answer_is_told_in_a_sentence(what, serve, monkeypatch, tmp_path):
    status, content, sentence = REFUSALS[what]
    monkeypatch.setenv("OPENAI_API_KEY", "of-mine")
    monkeypatch.setenv("TOUCHSTONE_OPENAI_URL", serve(lambda *_: (status, {}, content)).address)
    with pytest.raises(TouchstoneError, match=sentence) as caught:
        VectorCache("text-embedding-3-small", tmp_path).fill(["a"], NoProgress(), threads=1)
    assert str(caught.value).isprintable()
    assert "of-mine" not in str(caught.value)


@pytest.mark.parametrize("name", SERVICES)
def test_without_a_key_it_says_which(name, monkeypatch, tmp_path):
    key, _ = SERVICES[name]
    monkeypatch.delenv(key, raising=False)
    with pytest.raises(TouchstoneError, match=f"set {key} to your API key"):
        VectorCache(name, tmp_path).fill(["a"], NoProgress(), threads=1)


def test_a_service_has_no_tokens_and_no_files(write):
    with pytest.raises(TouchstoneError, match="take tokens need another"):
        find_model("embed-english-v3.0").tokenizer()
    with pytest.raises(TouchstoneError, match="no local files"):
        find_model("embed-english-v3.0").path()
