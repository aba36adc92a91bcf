"""Environments of submissions: made from wheels alone, used in the sandbox, locked by hash, or refused in a sentence."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from harness.base.errors import TouchstoneError
from harness.base.paths import cache_folder
from harness.base.progress import NoProgress
from harness.environments import environment as environments
from harness.environments.environment import HARNESS_ENVIRONMENT, get_environment, prepare_environments
from harness.evaluation.assignment import Conditions
from harness.results.provenance import current_provenance
from harness.sandbox.inside.remove_tree import remove_tree
from harness.sandbox.limits import Limits
from harness.sandbox.probe import probe_sandbox
from harness.submission.submission import Submission, load_submission
from tests.support.command import touchstone

pytestmark = pytest.mark.sandbox


def make_wheel(folder: Path, name: str, files: dict[str, str], requires: tuple[str, ...] = (), version: str = "1.0") -> Path:
    """A wheel of the tests' own, as PEP 427 has it."""
    about = f"{name}-{version}.dist-info"
    members = {**files, f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
               + "".join(f"Requires-Dist: {line}\n" for line in requires),
               f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}\n"
                     for path, text in members.items())
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, text in {**members, f"{about}/RECORD": record + f"{about}/RECORD,,\n"}.items():
            archive.writestr(member, text)
    return path


@pytest.fixture
def wheels(tmp_path, monkeypatch) -> Path:
    """A folder of wheels beside the package index, and a cache of this test's own."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", f"{os.environ.get('PIP_FIND_LINKS', '')} {folder}".strip())
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def needing(write):
    def writer(*dependencies: str, body: str = "def distance(p, q): return 1.0\n", name: str = "needy") -> Submission:
        path = write(name, body)
        path.write_text(path.read_text().replace("dependencies = []", f"dependencies = {json.dumps(dependencies)}"))
        return load_submission(path)
    return writer


def ask(desk_of, submission: Submission, environment) -> float:
    worker = desk_of(Conditions(probe_sandbox(), Limits(), {e.digest: environment for e in submission.entries})).start(submission.entries[0])
    return worker.call("distance", [["a b"], ["c"]], 1)


@pytest.fixture
def desk_of():
    from harness.evaluation.executor import WorkerSlot

    made = []

    def maker(conditions: Conditions) -> WorkerSlot:
        made.append(WorkerSlot(conditions))
        return made[-1]
    yield maker
    for worker_slot in made:
        worker_slot.close()


def test_what_ours_meets_needs_no_environment(needing):
    assert get_environment(needing("numpy>=1", "scipy"), NoProgress()) is HARNESS_ENVIRONMENT


@pytest.mark.network
def test_a_package_that_ours_lacks_is_installed_locked_and_imported_behind_the_walls(needing, wheels, desk_of):
    make_wheel(wheels, "ts_probe_lib", {
        "ts_probe_lib/__init__.py": "import numpy\ndef answer(p, q): return float(numpy.float64(40 + len(p) + len(q)))\n",
        "ts_probe_lib.pth": "import os; os.environ['TS_PTH'] = 'ran'\n",
        "sitecustomize.py": "import os; os.environ['TS_SITE'] = 'ran'\n",
        "json.py": "raise RuntimeError('shadows the standard library')\n"})
    submission = needing("ts-probe-lib>=1", body="""
import json, os, sys
import numpy, ts_probe_lib
OWN = __import__("os").path.dirname(ts_probe_lib.__file__)
def distance(p, q):
    assert "TS_PTH" not in os.environ and "TS_SITE" not in os.environ, "a wheel's own start-up code ran"
    assert os.path.dirname(OWN) == os.path.dirname(os.path.dirname(numpy.__file__)), "libraries of two environments are mixed"
    try:
        import scipy
    except ImportError:
        return ts_probe_lib.answer(p, q)
    raise AssertionError("the harness's own libraries are there too")
""")
    environment = get_environment(submission, NoProgress())
    assert ask(desk_of, submission, environment) == 42.0
    probe, = (line for line in environment.lock if line.startswith("ts-probe-lib==1.0 "))
    wheel, = wheels.glob("*.whl")
    assert probe.endswith(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert any(line.startswith("numpy==") for line in environment.lock)         # what every worker needs
    entry, = submission.entries
    kept = current_provenance(("process",), Limits(), Conditions(probe_sandbox(), Limits(), {entry.digest: environment}).locks, "smoke", "f" * 64)
    assert kept.environments == {entry.digest: environment.lock}

    folder = cache_folder() / "environments"
    assert not list(folder.glob("making-*"))
    before = environment.folder.stat().st_mtime_ns, environment.folder.stat().st_ino
    assert get_environment(submission, NoProgress()) == environment                  # and nothing is made again:
    assert (environment.folder.stat().st_mtime_ns, environment.folder.stat().st_ino) == before

    make_wheel(wheels, "ts_probe_lib", {"ts_probe_lib/__init__.py": ""}, version="1.1")
    assert get_environment(submission, NoProgress()) == environment                  # not before one asks for it
    newer = get_environment(submission, NoProgress(), refresh=True)
    assert any(line.startswith("ts-probe-lib==1.1 ") for line in newer.lock)
    assert newer.folder != environment.folder


REFUSED = {
    "no-such-package-of-touchstone": "needs no-such-package-of-touchstone>=1, but an environment with these packages cannot be built: pip reports: .*only wheels for this",
    "ts-conflict": "No matching distribution found for ts-old<1",
    "ts-many": r"it needs 1\d packages; at most 10",
    "ts-bomb": r"its packages would take .* at most",
    "ts-source": "only wheels for this",
}


@pytest.mark.network
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_installed_is_refused_in_a_sentence_and_leaves_nothing(name, needing, wheels, monkeypatch, tmp_path):
    make_wheel(wheels, "ts_conflict", {"a.py": ""}, ("ts-old<1", "ts-old>1"))
    make_wheel(wheels, "ts_old", {"ts_old.py": ""})
    make_wheel(wheels, "ts_many", {"m.py": ""}, tuple(f"ts-part-{n}" for n in range(12)))
    for n in range(12):
        make_wheel(wheels, f"ts_part_{n}", {f"part{n}.py": ""})
    monkeypatch.setattr(environments, "INSTALLED_BYTES", 100_000_000)
    monkeypatch.setattr(environments, "DISTRIBUTIONS", 10)
    make_wheel(wheels, "ts_bomb", {"zeros.txt": "\0" * 120_000_000})
    with zipfile.ZipFile(wheels / "ts_source-1.0.zip", "w") as archive:         # a source package would execute its setup.py
        archive.writestr("ts_source-1.0/setup.py", f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(TouchstoneError, match=REFUSED[name]) as caught:
        get_environment(needing(f"{name}>=1"), NoProgress())
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()
    assert not [path for path in (cache_folder() / "environments").iterdir() if path.name != ".lock"]


SDIST = """
import os
def get_requires_for_build_wheel(config_settings=None): open({marker!r}, "w").write("built"); return []
def prepare_metadata_for_build_wheel(folder, config_settings=None): open({marker!r}, "w").write("built"); raise SystemExit(1)
def build_wheel(folder, config_settings=None, metadata=None): open({marker!r}, "w").write("built"); raise SystemExit(1)
"""


@pytest.mark.network
def test_nothing_is_built_for_a_wheel_that_requires_a_source_by_address(needing, wheels, tmp_path):
    """`--only-binary :all:` does not keep pip from that: the control below builds it."""
    marker = tmp_path / "built"
    files = {"evil-1.0/pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
             "evil-1.0/backend.py": SDIST.format(marker=str(marker)), "evil-1.0/PKG-INFO": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"}
    with tarfile.open(tmp_path / "evil-1.0.tar.gz", "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    make_wheel(wheels, "ts_lure", {"ts_lure.py": ""}, (f"evil @ {(tmp_path / 'evil-1.0.tar.gz').as_uri()}",))
    with pytest.raises(TouchstoneError, match="an environment with these packages cannot be built"):
        get_environment(needing("ts-lure"), NoProgress())
    assert not marker.exists()
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--no-build-isolation", "--dest",
                    str(tmp_path / "control"), "ts-lure"], capture_output=True)
    assert marker.exists()


def test_a_secret_of_ours_is_not_pips_to_see(monkeypatch, tmp_path):
    monkeypatch.setenv("MY_SECRET", "hunter2")
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
    seen = environments.pip_variables(tmp_path)
    assert "MY_SECRET" not in seen
    assert seen["PIP_INDEX_URL"] == "https://index.example/simple"


def test_wheels_that_are_no_zip_files_are_refused(tmp_path):
    good = make_wheel(tmp_path, "good", {"good.py": ""})
    content = good.read_bytes()
    directory = content.rfind(b"PK\1\2")
    for damaged in (b"", b"PK\5\6", content[:-30], content[:directory + 6] + b"\x63" + content[directory + 7:],
                    content[:-10] + b"\xff\xff\xff\xff" + content[-6:]):
        good.write_bytes(damaged)
        with pytest.raises(TouchstoneError, match="is not a wheel|too many files"):
            environments.lock_wheels([good])


def test_an_environment_in_use_is_not_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "KEPT", 1)
    for n in range(3):
        environments.write_lock(tmp_path / f"{n}.json", [f"a=={n}"])
        (tmp_path / environments.environment_name([f"a=={n}"])).mkdir()
        os.utime(tmp_path / f"{n}.json", (n, n))
    held = tmp_path / environments.environment_name(["a==0"])
    environments.hold(held)
    (tmp_path / "broken.json").write_text("")
    environments.remove_old_environments(tmp_path)
    assert {path.name for path in tmp_path.glob("*.json")} == {"0.json", "2.json"}
    environments.HELD.pop(held).close()
    environments.remove_old_environments(tmp_path)
    assert {path.name for path in tmp_path.glob("*.json")} == {"2.json"}
    assert not held.exists()


def test_a_download_without_end_is_stopped(needing, wheels, monkeypatch):
    monkeypatch.setattr(environments, "DOWNLOAD_BYTES", 1)
    make_wheel(wheels, "ts_large", {"zeros.txt": base64.b64encode(os.urandom(3_000_000)).decode()})
    with pytest.raises(TouchstoneError, match="it takes more than 1 bytes"):
        get_environment(needing("ts-large"), NoProgress())


def test_wishes_beyond_the_limits_are_refused_with_the_option_that_grants_them(write):
    path = write("greedy", "def distance(p, q): return 1.0\n")
    path.write_text(path.read_text().replace("# ///\ndef", "# memory = 20000\n# ///\ndef"))
    found, refused = prepare_environments(load_submission(path).entries, Limits(), NoProgress())
    assert not found
    assert refused == ["greedy.py requests 20,000 MB of memory; the limit is 8,000 MB. Raise it with `--memory 20000`."]
    assert prepare_environments(load_submission(path).entries, Limits(memory_bytes=20_000_000_000), NoProgress())[1] == []


def test_one_submission_that_cannot_be_had_does_not_keep_the_others_from_being_asked(needing, write, tmp_path):
    needing("no-such-package-of-touchstone")
    write("sound", "def distance(p, q): return float(len(p) + len(q))\n")
    done = touchstone("run", tmp_path / "needy.py", tmp_path / "sound.py", "--suite", "smoke", "--only", "known_similarity",
                      "--store", tmp_path / "s.sqlite", environment={"PIP_NO_INDEX": "1"})
    assert done.returncode == 2
    assert "needy.py needs no-such-package-of-touchstone" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert "sound" in done.stdout


def test_the_environments_used_longest_ago_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "KEPT", 2)
    for n in range(4):
        lock = [f"a=={n}"]
        environments.write_lock(tmp_path / f"{n}.json", lock)
        (tmp_path / environments.environment_name(lock)).mkdir()
        os.utime(tmp_path / f"{n}.json", (n, n))
    (tmp_path / "making-x").mkdir()
    environments.remove_old_environments(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["2.json", "3.json"]
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {environments.environment_name([f"a=={n}"]) for n in (2, 3)}


def test_torch_stays_the_one_of_the_benchmark():
    assert environments.pinned_requirements() == [f"torch=={importlib.metadata.version('torch').split('+')[0]}"]


def test_removing_a_tree_follows_no_link_and_survives_what_a_metric_can_leave(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    top = tmp_path / "top"
    top.mkdir()
    (top / "to-a-folder").symlink_to(outside)
    (top / "to-a-file").symlink_to(outside / "kept")
    (top / ("n" * 255)).mkdir()
    descriptor = os.open(top, os.O_RDONLY)
    for _ in range(1500):                       # a path of three times PATH_MAX
        os.mkdir("deep-folder", dir_fd=descriptor)
        inner = os.open("deep-folder", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    for n in range(500):
        (top / f"file-{n}").write_text("")
    locked = top / "locked"
    locked.mkdir()
    (locked / "inside").write_text("")
    (locked / "folder").mkdir(mode=0o000)
    locked.chmod(0o000)
    top.chmod(0o000)
    remove_tree(str(top))
    assert not top.exists()
    assert (outside / "kept").read_text() == "x"
