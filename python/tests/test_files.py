"""Documents and packages at paths: they take their places when they are complete."""

from __future__ import annotations

import io
import os
import pathlib
import threading

import pytest

import instep

from .test_documents import AT, UP, resources


def test_o326_a_document_is_written_where_a_path_leads_and_touches_nothing_else(tmp_path: pathlib.Path) -> None:
    document = resources(1)
    real, link, beside = tmp_path / "real.xml", tmp_path / "link.xml", tmp_path / "link.xml.tmp"
    real.write_text("former")
    real.chmod(0o640)
    link.symlink_to("real.xml")
    beside.write_text("of the user")
    document.write(link)
    assert link.is_symlink() and instep.load(real) == document and beside.read_text() == "of the user"
    assert real.stat().st_mode & 0o777 == 0o640
    # A pipe takes the bytes, as a device does, and stays what it is.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    document.write(pipe)
    reader.join()
    assert read == [document.to_xml().encode()] and pipe.is_fifo()
    with pytest.raises(IsADirectoryError):
        document.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.xml", "link.xml.tmp", "pipe", "real.xml"]


def test_o335_a_package_has_what_its_manifest_names_or_is_not_made(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    entries = [instep.Entry(f"http://example.com/{name}", path=f"/{name}") for name in "ab"]
    manifest = instep.ResourceDumpManifest(entries, at=AT, up=UP)
    path = tmp_path / "package.zip"
    path.write_bytes(b"former")
    with pytest.raises(instep.PackageError, match="names /b, which was not added"):
        with instep.PackageWriter(path, manifest) as writer:
            writer.add("/a", b"one")
    with pytest.raises(instep.PackageError, match="does not name /c"):
        with instep.PackageWriter(path, manifest) as writer:
            writer.add("/c", b"three")
    with pytest.raises(RuntimeError, match="of the user"):
        with instep.PackageWriter(path, manifest) as writer:
            writer.add("/a", b"one")
            raise RuntimeError("of the user")
    assert path.read_bytes() == b"former" and [item.name for item in tmp_path.iterdir()] == ["package.zip"]
    with instep.PackageWriter(path, manifest) as writer:
        writer.add("/a", b"one")
        writer.add("b", io.BytesIO(b"two"))
    assert instep.Package(path).read("/b") == b"two"
    assert capfd.readouterr().err == ""
