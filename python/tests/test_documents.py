"""Documents are read, written and compared as a Python programmer expects."""

from __future__ import annotations

import copy
import datetime
import gzip
import io
import pathlib
import pickle
import threading

import pytest

import instep

UP = "http://example.com/caps.xml"
AT = "2013-01-03T09:00:00Z"


def resources(count: int) -> instep.ResourceList:
    entries = (
        instep.Entry(f"http://example.com/res{number}", lastmod=AT, length=number, hash="md5:" + f"{number:032x}")
        for number in range(count)
    )
    return instep.ResourceList(entries, at=AT, up=UP)


def test_a_document_that_is_written_reads_back_equal(tmp_path: pathlib.Path) -> None:
    written = resources(1_500)
    for name in ("list.xml", "list.xml.gz"):
        path = tmp_path / name
        written.write(path)
        assert instep.ResourceList.read(path) == written
        assert instep.load(str(path)) == written
    assert (tmp_path / "list.xml.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_entries_are_read_from_paths_bytes_and_files() -> None:
    xml = resources(1_100).to_xml().encode()
    expected = [f"http://example.com/res{number}" for number in range(1_100)]
    for source in (xml, gzip.compress(xml), io.BytesIO(xml), io.BytesIO(gzip.compress(xml))):
        assert [entry.loc for entry in instep.read(source)] == expected


def test_reading_begins_before_the_document_has_arrived() -> None:
    """A file hands out the list in pieces; the first entries are there long before the last piece was asked for."""
    xml = resources(60_000).to_xml().encode()
    asked = 0

    class Arriving:
        def read(self, size: int, /) -> bytes:
            nonlocal asked
            piece = xml[asked : asked + min(size, 10_000)]
            asked += len(piece)
            return piece

    reader = instep.read(Arriving())
    assert next(reader).loc == "http://example.com/res0"
    assert asked < len(xml) / 10
    assert sum(1 for _ in reader) == 59_999


def test_the_lock_of_python_is_free_while_a_document_is_parsed() -> None:
    """A file whose `read` waits for another thread can only be read if that thread runs meanwhile."""
    xml = resources(10).to_xml().encode()
    reached, done = threading.Event(), threading.Event()

    class Waiting:
        given = False

        def read(self, size: int, /) -> bytes:
            reached.set()
            assert done.wait(60)
            piece, self.given = (b"" if self.given else xml), True
            return piece

    def other() -> None:
        assert reached.wait(60)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert len(list(instep.read(Waiting()))) == 10
    thread.join()


def test_an_error_comes_after_the_entries_before_it_and_says_where() -> None:
    xml = resources(3).to_xml().replace("<loc>http://example.com/res2", "<loc><broken>").encode()
    reader = instep.read(xml)
    read = []
    with pytest.raises(instep.DocumentError) as caught:
        for entry in reader:
            read.append(entry.loc)
    assert read == ["http://example.com/res0", "http://example.com/res1"]
    assert caught.value.rule == "GEN-24"
    assert caught.value.line == xml[: xml.index(b"</loc>", xml.index(b"<broken>"))].count(b"\n") + 1
    assert list(reader) == []


def test_an_exception_of_a_file_reaches_the_reader_as_it_is() -> None:
    class Failing:
        def read(self, size: int, /) -> bytes:
            raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError, match="gone"):
        instep.read(Failing())


def test_a_bad_value_costs_that_value_and_leaves_a_finding() -> None:
    xml = resources(2).to_xml().replace('length="1"', 'length="one"').encode()
    with instep.read(xml) as reader:
        assert [entry.length for entry in reader] == [0, None]
        findings = reader.take_findings()
    assert [(finding.rule, finding.found) for finding in findings] == [("ATT-15", 'length="one"')]


def test_a_damaged_compression_is_an_error_of_the_document() -> None:
    with pytest.raises(instep.DocumentError):
        list(instep.read(gzip.compress(resources(5).to_xml().encode())[:-20]))


def test_a_missing_file_is_an_os_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        instep.read(tmp_path / "nowhere.xml")
    assert caught.value.filename == tmp_path / "nowhere.xml"


def test_a_document_that_breaks_a_must_is_refused_and_the_file_stays(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "list.xml"
    path.write_text("as it was")
    changes = instep.ChangeList([instep.Entry("http://example.com/res1")], from_=AT, up=UP)
    with pytest.raises(instep.DocumentError) as caught:
        changes.write(path)
    assert caught.value.rule == "CL-8"
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]
    assert "<loc>http://example.com/res1</loc>" in changes.to_xml(checked=False)


def test_another_kind_of_document_is_refused() -> None:
    with pytest.raises(instep.DocumentError, match="Expected a ChangeList"):
        instep.ChangeList.read(resources(1).to_xml().encode())


@pytest.mark.parametrize("kind", [getattr(instep, name) for name in instep.__all__ if hasattr(getattr(instep, name), "accepts")])
def test_each_kind_of_document_is_recognized(kind: type[instep.Document]) -> None:
    if kind is instep.Document:
        return
    header = instep.Header(kind.capability, is_index=kind.is_index, at=None)
    document = instep.Document(header)
    assert type(instep.load(document.to_xml(checked=False).encode())) is kind


def test_times_keep_their_precision_and_accept_those_of_python() -> None:
    entry = instep.Entry("http://example.com/res1", lastmod=datetime.date(2013, 1, 3))
    assert entry.lastmod is not None
    assert (str(entry.lastmod), entry.lastmod.precision) == ("2013-01-03", "day")
    aware = datetime.datetime(2013, 1, 3, 9, tzinfo=datetime.timezone.utc)
    assert instep.DateTime(aware) == instep.DateTime("2013-01-03T09:00:00Z")
    assert instep.DateTime(aware).to_datetime() == aware
    with pytest.raises(ValueError, match="zone"):
        instep.DateTime(datetime.datetime(2013, 1, 3, 9))


def test_values_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="absolute"):
        instep.Entry("res1")
    with pytest.raises(ValueError):
        instep.Entry("http://example.com/res1", hash="md5")
    with pytest.raises(TypeError, match="no field lastmodified"):
        instep.Entry("http://example.com/res1", lastmodified=AT)  # type: ignore[call-arg]


def test_entries_never_change_and_compare_by_value() -> None:
    entry = instep.Entry("http://example.com/res1", length=3, links=[instep.Link("describedby", UP)])
    longer = entry.replace(length=4)
    assert (entry.length, longer.length, longer.links) == (3, 4, entry.links)
    assert longer.replace(length=3) == entry
    assert len({entry, entry.replace(), longer}) == 2
    with pytest.raises(AttributeError):
        entry.length = 5  # type: ignore[misc]


def test_digests_are_given_as_text_or_by_algorithm() -> None:
    md5 = "1584abdf8ebdc9802ac0c6a7402c03b6"
    entry = instep.Entry("http://example.com/res1", hash={"md5": md5})
    assert (entry.hash, entry.digests) == (f"md5:{md5}", {"md5": md5})


def test_a_writer_that_an_exception_interrupts_leaves_no_whole_document() -> None:
    file = io.BytesIO()
    with pytest.raises(KeyError):
        with instep.Writer(file, resources(0).header) as writer:
            writer.write_batch(resources(3).entries)
            raise KeyError
    assert b"</urlset>" not in file.getvalue()
    with pytest.raises(ValueError, match="closed"):
        writer.write(resources(1)[0])


def test_a_package_is_written_read_and_checked(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "package.zip"
    entries = [
        instep.Entry("http://example.com/a", path="/a", length=5),
        instep.Entry("http://example.com/b", path="/b", length=3_000_000),
    ]
    manifest = instep.ResourceDumpManifest(entries, at=AT, up=UP)
    large = bytes(3_000_000)
    with instep.PackageWriter(path, manifest) as writer:
        writer.add("/a", b"hello", type="text/plain")
        writer.add("/b", io.BytesIO(large))
    package = instep.Package(path)
    assert package.header == manifest.header and package.entries() == entries
    copied = io.BytesIO()
    assert package.copy("/b", copied) == len(large) and copied.getvalue() == large
    with pytest.raises(instep.PackageError):
        package.read("/c")
    reports = instep.validate_package(path, expected="resourcedump")
    assert [report is not None and report.is_valid for report in reports] == [True, True]
    with pytest.raises(instep.PackageError):
        instep.Package(b"PK no package")


def test_o91_values_and_documents_are_pickled_and_copied_and_show_what_makes_them() -> None:
    """Other processes get them by pickle."""
    link = instep.Link("mirror", "http://example.com/m", pri=1, length=0, hash="md5:" + "0" * 32, type="text/html")
    entry = instep.Entry(
        "http://example.com/res", lastmod=AT, changefreq="daily", priority="0.5", change="updated", datetime=AT,
        length=0, path="/res", links=[link], attributes=[("urn:x", "y", "z")],
    )
    header = instep.Header("changelist", is_index=True, from_=AT, links=[instep.Link("up", UP)])
    document = resources(3)
    for value in (link, entry, header, document, next(iter(instep.read(document.to_xml().encode())))):
        assert pickle.loads(pickle.dumps(value)) == value
        assert copy.copy(value) == value and copy.deepcopy(value) == value
    plain = instep.Entry("http://example.com/res", length=0, type="text/html")
    assert eval(repr(plain), {"Entry": instep.Entry}) == plain
    assert "length=0" in repr(link)


def test_o91_the_package_states_its_version() -> None:
    from importlib.metadata import version

    assert instep.__version__ == version("instep")


def test_o220_a_closed_reader_does_not_end_as_if_it_had_read_everything() -> None:
    reader = instep.read(resources(3).to_xml().encode())
    reader.close()
    with pytest.raises(ValueError, match="closed"):
        next(reader)
    with pytest.raises(ValueError, match="closed"):
        reader.next_batch()
    assert reader.take_findings() == []


def test_o221_a_wrong_source_or_length_says_what_is_wrong(tmp_path: pathlib.Path) -> None:
    for length in (-1, 2**70):
        with pytest.raises(ValueError, match="length: .* is not a number of bytes"):
            instep.Entry("http://example.com/1", length=length)
    with pytest.raises(TypeError, match="open it in binary mode"):
        list(instep.read(io.StringIO("<urlset/>")))  # type: ignore[arg-type]
    with pytest.raises(IsADirectoryError) as folder:
        instep.read(tmp_path)
    assert str(tmp_path) in str(folder.value)


def test_o325_entries_are_entries_and_a_document_can_be_added_to_itself() -> None:
    document = resources(2)
    document.extend(document)
    assert [entry.loc for entry in document] == [entry.loc for entry in resources(2)] * 2
    for wrong in (None, document, "http://example.com/1"):
        with pytest.raises(TypeError, match="entries of type Entry"):
            document.append(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="entries of type Entry"):
            document.extend([document[0], wrong])  # type: ignore[list-item]
    assert len(document) == 4


def test_o916_a_time_of_another_type_is_refused_also_by_type_checkers() -> None:
    with pytest.raises(TypeError):
        instep.Entry("http://example.com/a", lastmod=5)  # type: ignore[arg-type]
    assert instep.DateTime("2013-01").to_datetime().month == 1


def test_o840_until_does_not_close_a_document_of_a_draft() -> None:
    xml = instep.ChangeList(from_=AT, until="2013-01-04T09:00:00Z", up=UP).to_xml()
    assert instep.ChangeList.read(xml.encode()).is_closed
    draft = instep.ChangeList.read(xml.replace('rel="up"', 'rel="resourcesync"').encode())
    assert draft.header.is_draft and draft.up == UP and not draft.is_closed
    assert not instep.load(b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>").header.is_draft


def test_o843_digests_that_cannot_be_verified_are_pickled_and_copied() -> None:
    for digest in ("crc32:00000000", "md5:none", "md5:none crc32:0"):
        link = f'<rs:ln rel="duplicate" href="http://example.com/m" hash="{digest}"/>'
        xml = resources(1).to_xml().replace("md5:" + "0" * 32, digest).replace("</url>", link + "</url>")
        entry = instep.load(xml.encode())[0]
        assert (entry.hash, entry.links[0].hash) == (digest, digest)
        assert pickle.loads(pickle.dumps(entry)) == entry == copy.copy(entry) == copy.deepcopy(entry)
        with pytest.raises(ValueError):
            entry.replace(hash=digest)
