"""Archives that altered, hostile or large files must not get through."""

import gzip
import io
import lzma
import tarfile
from pathlib import Path

import pytest
import zstandard

from tasks.data.sources import tarballs
from tasks.data.sources.tarballs import read_tarball

pytestmark = pytest.mark.unit


def tar(*members: tarfile.TarInfo | tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                entry = tarfile.TarInfo(member[0])
                entry.size = len(member[1])
                archive.addfile(entry, io.BytesIO(member[1]))
    return buffer.getvalue()


def tgz(path: Path, *members: tarfile.TarInfo | tuple[str, bytes]) -> Path:
    path.write_bytes(gzip.compress(tar(*members)))
    return path


def deb(path: Path, name: str, data: bytes) -> Path:
    """Write an ar archive with the three members of a Debian package."""
    parts = [("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), (name, data)]
    path.write_bytes(b"!<arch>\n" + b"".join(
        f"{member:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content + b"\n" * (len(content) % 2)
        for member, content in parts))
    return path


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, target
    return entry


def everything(name: str) -> bool:
    return True


def test_wanted_members_of_an_npm_tarball(tmp_path):
    path = tgz(tmp_path / "a.tgz", ("package/a.json", b"[1]"), ("package/index.js", b"process.exit()"))
    assert read_tarball(path, lambda name: name.endswith(".json")) == {"package/a.json": b"[1]"}


@pytest.mark.parametrize(("name", "compress"), [
    ("data.tar", bytes), ("data.tar.gz", gzip.compress), ("data.tar.xz", lzma.compress), ("data.tar.zst", zstandard.compress)])
def test_members_of_a_debian_package(tmp_path, name, compress):
    path = deb(tmp_path / "a.deb", name, compress(tar(("./usr/share/a.html", b"<p>"))))
    assert read_tarball(path, everything) == {"usr/share/a.html": b"<p>"}


def test_a_package_without_data(tmp_path):
    with pytest.raises(ValueError, match=r"none of data\.tar"):
        read_tarball(deb(tmp_path / "a.deb", "other.tar", b""), everything)


@pytest.mark.parametrize("name", ["../outside", "package/../../outside", "/etc/passwd"])
def test_names_that_leave_the_archive(tmp_path, name):
    with pytest.raises(ValueError, match="leaves the archive"):
        read_tarball(tgz(tmp_path / "a.tgz", (name, b"x")), lambda name: False)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_place_of_files(tmp_path, kind):
    with pytest.raises(ValueError, match="no regular file"):
        read_tarball(tgz(tmp_path / "a.tgz", link("package/a.json", "/etc/passwd", kind)), everything)


def test_links_that_are_not_read_are_ignored(tmp_path):
    path = tgz(tmp_path / "a.tgz", link("package/link", "/etc/passwd", tarfile.SYMTYPE), ("package/a", b"x"))
    assert read_tarball(path, lambda name: name == "package/a") == {"package/a": b"x"}


def test_a_name_that_occurs_twice(tmp_path):
    with pytest.raises(ValueError, match="there twice"):
        read_tarball(tgz(tmp_path / "a.tgz", ("a", b"1"), ("a", b"2")), everything)


def test_a_member_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(tarballs, "MEMBER_BYTES", 1_000)
    with pytest.raises(ValueError, match="2,000 bytes; at most 1,000"):
        read_tarball(tgz(tmp_path / "a.tgz", ("a", b"x" * 2_000)), lambda name: False)


@pytest.mark.parametrize("wanted", [everything, lambda name: False])
def test_many_members_that_are_too_large_together(tmp_path, monkeypatch, wanted):
    monkeypatch.setattr(tarballs, "UNPACKED_BYTES", 100_000)
    with pytest.raises(ValueError, match="larger than 100,000 bytes"):
        read_tarball(tgz(tmp_path / "a.tgz", *((str(number), b"0" * 50_000) for number in range(4))), wanted)


def test_a_damaged_file(tmp_path):
    path = tgz(tmp_path / "a.tgz", ("a", bytes(range(256)) * 40))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises((EOFError, tarfile.TarError)):
        read_tarball(path, everything)
