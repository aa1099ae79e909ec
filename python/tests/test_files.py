"""Documents and packages at paths: they take their places when they are complete."""

from __future__ import annotations

import io
import os
import pathlib
import socket
import threading

import pytest

import instep
from instep._files import replacing

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


def test_o607_a_file_that_takes_the_place_of_a_private_one_is_private_all_the_time(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "private.xml"
    path.write_text("former")
    path.chmod(0o600)
    mask = os.umask(0)
    try:
        with replacing(path) as file:
            file.write(b"new")
            [unfinished] = [name for name in tmp_path.iterdir() if name != path]
            assert unfinished.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(mask)
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o600


def test_o563_a_file_that_takes_less_than_all_is_written_whole() -> None:
    class Short:
        """A file without a buffer, on a disk that is nearly full."""

        taken = b""

        def write(self, data: bytes, /) -> int:
            self.taken += data[:1_000]
            return len(data[:1_000])

    document, short = resources(500), Short()
    with instep.Writer(short, document.header) as writer:
        writer.write_batch(document.entries)
    assert short.taken == document.to_xml().encode()

    class Silent(Short):
        """An object that takes everything, and does not say how much."""

        def write(self, data: bytes, /) -> int:
            self.taken += data
            return True

    silent = Silent()
    with instep.Writer(silent, document.header) as writer:
        writer.write_batch(document.entries)
    assert silent.taken == short.taken


def test_o564_content_that_cannot_seek_is_read_as_a_whole(tmp_path: pathlib.Path) -> None:
    manifest = instep.ResourceDumpManifest([instep.Entry("http://example.com/a", path="/a")], at=AT, up=UP)
    content = b"from a pipe" * 1_000
    out, into = os.pipe()
    with os.fdopen(into, "wb") as end:
        end.write(content)
    with os.fdopen(out, "rb") as pipe, instep.PackageWriter(tmp_path / "package.zip", manifest) as writer:
        writer.add("/a", pipe)
    assert instep.Package(tmp_path / "package.zip").read("/a") == content


def test_o565_a_server_that_speaks_another_protocol_is_no_source() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"220 ready for mail\r\n")

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(instep.FetchError, match="Cannot fetch http://127.0.0.1.*220 ready"):
            instep.read(f"http://127.0.0.1:{server.getsockname()[1]}/")
        answering.join()
