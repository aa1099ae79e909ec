"""Programs that were written for the reference library, moved by their imports."""

from __future__ import annotations

import http.server
import io
import os
import pathlib
import threading
import zipfile
from typing import Iterator, Optional

import pytest

import instep
from instep.compat import resync
from instep.compat.resync.client import Client, ClientFatalError
from instep.compat.resync.client_state import ClientState
from instep.compat.resync.dump import Dump
from instep.compat.resync.explorer import Explorer
from instep.compat.resync.mapper import Mapper, MapperError
from instep.compat.resync.resource import ChangeTypeError
from instep.compat.resync.resource_list import ResourceListDupeError
from instep.compat.resync.resource_list_builder import ResourceListBuilder
from instep.compat.resync.sitemap import Sitemap, SitemapParseError
from instep.compat.resync.url_authority import UrlAuthority
from instep.compat.resync.url_or_file_open import CONFIG, url_or_file_open
from instep.compat.resync.w3c_datetime import datetime_to_str, str_to_datetime

from .conftest import Source


def test_a_resource_list_is_built_and_written_as_its_documentation_shows() -> None:
    resources = resync.ResourceList()
    resources.add(resync.Resource("http://example.com/res1", lastmod="2013-01-01"))
    resources.add(resync.Resource("http://example.com/res2", lastmod="2013-01-02"))
    assert resources.as_xml() == (
        "<?xml version='1.0' encoding='UTF-8'?>\n"
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">'
        '<rs:md capability="resourcelist" />'
        "<url><loc>http://example.com/res1</loc><lastmod>2013-01-01T00:00:00Z</lastmod></url>"
        "<url><loc>http://example.com/res2</loc><lastmod>2013-01-02T00:00:00Z</lastmod></url></urlset>"
    )


def test_a_capability_list_is_read_and_shows_what_is_supported(tmp_path: pathlib.Path) -> None:
    written = instep.CapabilityList(up="http://example.com/.well-known/resourcesync")
    written.add_capability("changelist", "http://example.com/changelist.xml")
    written.add_capability("resourcelist", "http://example.com/resourcelist.xml")
    written.write(tmp_path / "capabilitylist.xml")
    capabilities = resync.CapabilityList()
    capabilities.read(str(tmp_path / "capabilitylist.xml"))
    supported = [(resource.capability, resource.uri) for resource in capabilities]
    assert supported == [
        ("resourcelist", "http://example.com/resourcelist.xml"),
        ("changelist", "http://example.com/changelist.xml"),
    ]
    assert capabilities.has_capability("resourcelist") and not capabilities.has_capability("changedump")


def test_what_it_writes_is_what_the_standard_says() -> None:
    changes = resync.ChangeList(ln=[{"rel": "up", "href": "http://example.com/caps.xml"}])
    changes.md_from = "2013-01-01T00:00:00Z"
    changes.add(resync.Resource("http://example.com/a", change="updated", datetime="2013-01-02T00:00:00Z", md5="0" * 32))
    changes.add(resync.Resource("http://example.com/b", change="deleted", datetime="2013-01-03T00:00:00Z"))
    report = instep.validate(changes.as_xml().encode())
    assert report.is_valid, report.findings
    read = instep.ChangeList.read(changes.as_xml().encode())
    assert [(entry.loc, entry.change, str(entry.datetime)) for entry in read] == [
        ("http://example.com/a", "updated", "2013-01-02T00:00:00Z"),
        ("http://example.com/b", "deleted", "2013-01-03T00:00:00Z"),
    ]
    with pytest.raises(ChangeTypeError):
        resync.Resource("http://example.com/c", change="moved")


def test_lists_are_compared(tmp_path: pathlib.Path) -> None:
    copy, source = resync.ResourceList(), resync.ResourceList()
    copy.add([resync.Resource("a", timestamp=1), resync.Resource("b", timestamp=1), resync.Resource("d", timestamp=1)])
    source.add([resync.Resource("a", timestamp=1), resync.Resource("b", timestamp=2), resync.Resource("c", timestamp=1)])
    uris = [[resource.uri for resource in part] for part in copy.compare(source)]
    assert uris == [["a"], ["b"], ["d"], ["c"]]
    with pytest.raises(ResourceListDupeError):
        copy.add(resync.Resource("a"))


def test_a_long_list_becomes_an_index_with_parts_and_is_read_back(tmp_path: pathlib.Path) -> None:
    mapper = Mapper(["http://example.com", str(tmp_path)])
    resources = resync.ResourceList(mapper=mapper)
    resources.max_sitemap_entries = 2
    resources.add(resync.Resource(f"http://example.com/{number}", length=number) for number in range(5))
    resources.write(str(tmp_path / "list.xml"))
    names = ["list.xml", "list00000.xml", "list00001.xml", "list00002.xml"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    read = resync.ResourceList(mapper=mapper)
    read.read(str(tmp_path / "list.xml"))
    assert [(resource.uri, resource.length) for resource in read] == [
        (f"http://example.com/{number}", number) for number in range(5)
    ]


def test_o913_a_file_that_a_program_has_opened_stays_open() -> None:
    file = io.BytesIO(resync.ResourceList([resync.Resource("http://example.com/a")]).as_xml().encode())
    read = resync.ResourceList()
    read.parse(fh=file)
    assert not file.closed and [resource.uri for resource in read] == ["http://example.com/a"]


def test_o914_a_subclass_of_resource_may_have_slots_of_its_own() -> None:
    class Numbered(resync.Resource):
        __slots__ = ("number",)
        number: int

    numbered = Numbered("http://example.com/a", length=5)
    numbered.number = 7
    assert (numbered.number, numbered.length, numbered.md5, numbered.capability) == (7, 5, None, None)
    assert numbered == resync.Resource("http://example.com/a")


def test_o915_a_mapping_may_lead_to_the_root_of_the_disk() -> None:
    mapper = Mapper(["http://example.com/", "/"])
    assert mapper.src_to_dst("http://example.com/srv/a") == "/srv/a"
    assert mapper.dst_to_src("/srv/a") == "http://example.com/srv/a"
    assert Mapper(["/", "/srv"]).unsafe() and Mapper(["/srv", "/"]).unsafe() and not mapper.unsafe()


def test_o611_an_index_of_change_lists_is_read_with_the_changes_of_its_lists(tmp_path: pathlib.Path) -> None:
    mapper = Mapper(["http://example.com", str(tmp_path)])
    changes = resync.ChangeList(mapper=mapper)
    changes.max_sitemap_entries = 2
    for number in range(5):
        changes.add(resync.Resource(f"http://example.com/{number}", change="updated"))
    changes.write(str(tmp_path / "changes.xml"))
    read = resync.ChangeList(mapper=mapper)
    read.read(str(tmp_path / "changes.xml"))
    assert [(change.uri, change.change) for change in read] == [
        (f"http://example.com/{number}", "updated") for number in range(5)
    ]
    index = resync.ChangeList(mapper=mapper)
    index.read(str(tmp_path / "changes.xml"), index_only=True)
    assert len(index) == 3 and index.sitemapindex


def test_a_list_of_files_is_built_and_packed(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("hello")
    (folder / "b.tmp").write_text("left out")
    builder = ResourceListBuilder(mapper=Mapper(["http://example.com", str(folder)]), set_hashes=["md5"], set_path=True)
    builder.add_exclude_patterns([r".*\.tmp"])
    resources = builder.from_disk()
    (resource,) = list(resources)
    assert (resource.uri, resource.length, resource.md5) == (
        "http://example.com/a.txt",
        5,
        "5d41402abc4b2a76b9719d911017c592",
    )
    assert resources.md_at is not None and resources.md_completed is not None
    assert Dump(resources=resources).write(str(tmp_path / "part_")) == 1
    assert zipfile.ZipFile(tmp_path / "part_00000.zip").read("a.txt") == b"hello"
    with instep.read(tmp_path / "part_00000.xml") as manifest:
        assert manifest.header.capability == "resourcedump-manifest"


def test_the_client_copies_a_source_and_then_applies_its_changes(
    source: Source, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.fill(3)
    source.publish(single_changelist=True, dump="never")
    monkeypatch.chdir(tmp_path)
    copy = tmp_path / "copy"
    client = Client()
    client.set_mappings([source.url, str(copy)])
    client.baseline_or_audit()
    assert sorted(os.listdir(copy)) == ["file0.txt", "file1.txt", "file2.txt"]
    since = ClientState().get_state(client.sitemap)
    assert since is not None
    (source.folder / "file1.txt").write_text("changed")
    source.publish(single_changelist=True)
    tree = instep.explore(source.url).find("changelist")
    assert tree is not None and not tree.is_index
    again = Client()
    again.set_mappings([source.url, str(copy)])
    again.incremental(change_list_uri=tree.uri)
    assert (copy / "file1.txt").read_text() == "changed"


def test_o1055_a_baseline_goes_on_at_the_time_of_the_source_and_not_of_a_local_file(
    source: Source, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.fill(1)
    os.utime(source.folder / "file0.txt", (1000, 1000))
    source.publish(dump="never")
    monkeypatch.chdir(tmp_path)
    for allow_deletion in (False, True):
        copy = tmp_path / f"copy-{allow_deletion}"
        copy.mkdir()
        (copy / "of-the-user.txt").write_text("newer than everything at the Source")
        client = Client()
        client.set_mappings([source.url, str(copy)])
        client.baseline_or_audit(allow_deletion=allow_deletion)
        assert (copy / "of-the-user.txt").exists() is not allow_deletion
        assert ClientState().get_state(client.sitemap) == 1000.0


def test_o1056_a_time_that_python_does_not_have_is_a_value_error() -> None:
    for text in ("0000-01-01", "0000-12-31T23:59:59Z"):
        with pytest.raises(ValueError, match="no year 0"):
            str_to_datetime(text)
        with pytest.raises(ValueError):
            resync.Resource("http://example.com/a", lastmod=text)
    assert datetime_to_str(str_to_datetime("0001-01-01")) == "0001-01-01T00:00:00Z"
    for seconds in (1e12, -1e12, 253402300800, float("inf")):
        with pytest.raises(ValueError):
            datetime_to_str(seconds)


def test_a_client_without_mapping_or_with_an_unsafe_one_refuses() -> None:
    with pytest.raises(ClientFatalError, match="No source to destination mapping"):
        Client().baseline_or_audit()
    client = Client()
    client.set_mappings(["/tmp/a", "/tmp/a/b"])
    with pytest.raises(ClientFatalError, match="unsafe"):
        client.baseline_or_audit()


def test_a_uri_cannot_lead_out_of_the_folder_of_the_copy() -> None:
    mapper = Mapper(["http://example.com/", "/tmp/copy"])
    assert mapper.src_to_dst("http://example.com/a/b") == "/tmp/copy/a/b"
    assert mapper.dst_to_src("/tmp/copy/a/b") == "http://example.com/a/b"
    with pytest.raises(MapperError):
        mapper.src_to_dst("http://example.com/../../etc/passwd")
    authority = UrlAuthority("http://example.com/dir/list.xml", strict=True)
    assert authority.has_authority_over("http://example.com/dir/a")
    assert not authority.has_authority_over("http://other.com/dir/a")


def test_a_doctype_is_refused() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset>&b;</urlset>'
    with pytest.raises(SitemapParseError, match="DOCTYPE"):
        resync.ResourceList().parse(str_data=bomb)
    with pytest.raises(SitemapParseError):
        Sitemap().parse_xml(fh=io.StringIO("<html/>"))


class Answers(http.server.BaseHTTPRequestHandler):
    """Redirects what is below `/to/`, and breaks off every other answer after five bytes of nine."""

    def do_GET(self) -> None:
        seen: list[tuple[str, Optional[str]]] = getattr(self.server, "seen")
        seen.append((self.path, self.headers["Authorization"]))
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path[len("/to/") :])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", "9")
        self.end_headers()
        self.wfile.write(b"begin")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def answers() -> Iterator[tuple[str, list[tuple[str, Optional[str]]]]]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    seen: list[tuple[str, Optional[str]]] = []
    setattr(server, "seen", seen)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f":{server.server_address[1]}/", seen
    server.shutdown()
    server.server_close()


def test_o567_a_token_is_not_sent_to_the_host_that_a_redirect_leads_to(
    answers: tuple[str, list[tuple[str, Optional[str]]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, seen = answers
    monkeypatch.setitem(CONFIG, "bearer_token", "secret")
    for host in ("127.0.0.1", "localhost"):
        with url_or_file_open(f"http://127.0.0.1{port}to/http://{host}{port}file"):
            pass
    assert [token for path, token in seen if path == "/file"] == ["Bearer secret", None]
    assert [token for path, token in seen if path != "/file"] == ["Bearer secret", "Bearer secret"]


def test_o985_a_token_is_sent_to_the_origin_of_the_first_url_and_to_those_that_are_named(
    answers: tuple[str, list[tuple[str, Optional[str]]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, seen = answers
    monkeypatch.setitem(CONFIG, "bearer_token", "another")
    # The second one is as if a document named it.
    for host in ("127.0.0.1", "localhost", "127.0.0.1"):
        with url_or_file_open(f"http://{host}{port}file"):
            pass
    assert [token for _, token in seen] == ["Bearer another", None, "Bearer another"]
    monkeypatch.setitem(CONFIG, "bearer_origins", [f"http://localhost{port}"])
    with url_or_file_open(f"http://localhost{port}file"):
        pass
    assert seen[-1] == ("/file", "Bearer another")


def test_o986_the_explorer_shows_a_document_and_follows_what_the_user_chooses(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capabilities = resync.CapabilityList()
    capabilities.add(resync.Resource("resourcelist.xml", capability="resourcelist"))
    capabilities.write(str(tmp_path / "capabilitylist.xml"))
    resources = resync.ResourceList()
    resources.add(resync.Resource("http://example.com/res1"))
    resources.write(str(tmp_path / "resourcelist.xml"))
    answered = iter(["1", "b", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answered))
    explorer = Explorer()
    explorer.sitemap_name = str(tmp_path / "capabilitylist.xml")
    explorer.explore()
    said = capsys.readouterr().out
    assert said.count("Parsed capabilitylist document with 1 entries:") == 2
    assert "[1] http://example.com/res1" in said
    assert said.endswith("resync-explorer done, bye...\n\n")


def test_o568_a_body_that_breaks_off_is_a_failure(
    answers: tuple[str, list[tuple[str, Optional[str]]]], tmp_path: pathlib.Path
) -> None:
    resource = resync.Resource(f"http://127.0.0.1{answers[0]}file", lastmod="2013-01-01T00:00:00Z")
    with pytest.raises(ClientFatalError, match="4 bytes did not arrive"):
        Client().update_resource(resource, str(tmp_path / "file"), "created")
    # The next run takes no file for current whose time is another one.
    assert (tmp_path / "file").stat().st_mtime != resource.timestamp


def test_o842_folders_whose_names_begin_alike_are_packed_below_their_common_folder(tmp_path: pathlib.Path) -> None:
    resources = resync.ResourceList()
    for name in ("data1", "data2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        resources.add(resync.Resource(f"http://example.com/{name}", path=str(tmp_path / name / "file")))
    assert Dump(resources).write(str(tmp_path / "package")) == 1
    package = instep.Package(tmp_path / "package00000.zip")
    assert [member.name for member in package.members()] == ["manifest.xml", "data1/file", "data2/file"]
    assert package.read("/data2/file") == b"data2"
