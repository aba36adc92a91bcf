"""Files of the npm registry and of Debian archives, located through the settings of npm and apt; the servers are our own."""

import gzip
import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from typing import ClassVar

import pytest

from harness.base import registries
from harness.base.downloads import fetch_archive
from harness.base.errors import TouchstoneError
from harness.base.progress import NoProgress
from harness.base.registries import DebianArchive, NpmArchive, npm_registry

CONTENT = gzip.compress(b"a small archive" * 100, mtime=0)
PINNED = hashlib.sha256(CONTENT).hexdigest()
NPM = NpmArchive("@toys/toy", "1.0.0", "toys-toy-1.0.0.tgz", PINNED, len(CONTENT))
DEB = DebianArchive("toy", "1.0-1", "toy_1.0-1_all.deb", PINNED, len(CONTENT))


class Server(http.server.BaseHTTPRequestHandler):
    """Describes one package and has its tarball."""

    content: ClassVar[bytes] = CONTENT
    description: ClassVar[object] = None

    def do_GET(self) -> None:
        if self.path == "/toy":
            body = self.content
        elif self.path == "/@toys%2Ftoy/1.0.0":
            body = json.dumps(self.description).encode()
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        return


@pytest.fixture
def address(tmp_path, monkeypatch) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"{address}/")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "none"))
    monkeypatch.setenv("TOUCHSTONE_CACHE", str(tmp_path / "cache"))
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    Server.content, Server.description = CONTENT, {"dist": {"tarball": f"{address}/toy"}}
    yield address
    server.shutdown()


def refused(archive: NpmArchive | DebianArchive) -> str:
    with pytest.raises(TouchstoneError) as caught:
        fetch_archive(archive, NoProgress())
    return str(caught.value)


def test_a_tarball_is_fetched_from_the_registry_that_npm_uses(address):
    assert fetch_archive(NPM, NoProgress()).read_bytes() == CONTENT


def test_a_package_is_fetched_from_the_address_that_apt_prints(address, monkeypatch):
    monkeypatch.setattr(registries, "run_tool", lambda command: f"'{address}/toy' toy_1.0-1_all.deb 1 SHA256:0")
    assert fetch_archive(DEB, NoProgress()).read_bytes() == CONTENT


def test_an_altered_tarball_is_discarded(address):
    Server.content = CONTENT[:-1] + b"!"
    assert "SHA-256" in refused(NPM)
    assert list(NPM.path.parent.iterdir()) == []


@pytest.mark.parametrize("description", [{}, [], {"dist": {}}, {"dist": {"tarball": 3}}, {"dist": {"tarball": "file:///etc/passwd"}}])
def test_a_registry_without_an_address(address, description):
    Server.description = description
    assert "does not describe" in refused(NPM) or "no address" in refused(NPM)


def test_a_version_that_apt_does_not_have(address, monkeypatch):
    monkeypatch.setattr(registries, "run_tool", lambda command: "")
    monkeypatch.setattr(registries.shutil, "which", lambda name: "/usr/bin/apt-get")
    sentence = refused(DEB)
    assert "has no toy 1.0-1" in sentence
    assert "apt's sources" in sentence


def test_without_npm_and_without_apt(address, monkeypatch):
    monkeypatch.delenv("NPM_CONFIG_REGISTRY")
    monkeypatch.setattr(registries, "run_tool", lambda command: "")
    monkeypatch.setattr(registries.shutil, "which", lambda name: None)
    assert npm_registry() == ""
    assert "set NPM_CONFIG_REGISTRY" in refused(NPM)
    assert "is not installed here" in refused(DEB)


def test_a_file_in_an_offline_folder_of_pip(address, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / DEB.filename).write_bytes(CONTENT)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "folder"))
    assert fetch_archive(DEB, NoProgress()).read_bytes() == CONTENT
