"""The program's commands as functions, against a Source over HTTP."""

from __future__ import annotations

import datetime
import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

import instep

from .conftest import Source


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
def test_o617_of_a_long_run_only_the_last_words_are_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talkative = tmp_path / "instep"
    talkative.write_text("#!/bin/sh\nyes 'a warning' | head -c 3000000 >&2\necho 'the disk is full' >&2\nexit 5\n")
    talkative.chmod(0o755)
    monkeypatch.setenv("INSTEP_PROGRAM", str(talkative))
    with pytest.raises(instep.InstepError) as raised:
        instep.explore("http://example.com/")
    said = str(raised.value)
    assert said.endswith("the disk is full") and len(said) < 1 << 17


def test_a_folder_is_published_copied_and_compared(source: Source, tmp_path: pathlib.Path) -> None:
    source.fill(5)
    published = source.publish()
    assert (published.created, published.resources, published.problems) == (5, 5, ())
    assert published.source_description == f"{source.url}.well-known/resourcesync"

    events: list[dict[str, Any]] = []
    copy = tmp_path / "copy"
    report = instep.sync(source.url, copy, progress=events.append)
    assert (report.created, report.in_step, report.exit_code) == (5, True, 0)
    assert report.checkpoint == published.at
    assert sum(event["type"] == "item" for event in events) == 5
    assert (copy / "file3.txt").read_text() == "text 3"
    assert instep.audit(source.url, copy).is_same

    (copy / "file3.txt").write_text("text x")
    audited = instep.audit(source.url, copy)
    assert (audited.differing, audited.is_same) == (1, False)
    assert [(item.letter, item.uri) for item in audited.items] == [("~", f"{source.url}file3.txt")]


def test_o1076_a_copy_is_not_the_same_if_the_documents_do_not_show_all_that_the_source_has(
    source: Source, tmp_path: pathlib.Path
) -> None:
    source.fill(2)
    source.publish()
    copy = tmp_path / "copy"
    instep.sync(source.url, copy)
    listed = source.folder / "resourcesync" / "resourcelist.xml"
    listed.write_text(re.sub(' at="[^"]*"', "", listed.read_text()))
    audited = instep.audit(source.url, copy)
    assert audited.summary["coverage"] == {"known": "unknown"}
    assert (audited.same, audited.exit_code, audited.is_same) == (2, 0, False)
    assert instep.audit(str(copy), offline=True).is_same


def test_the_documents_of_a_source_are_read_from_its_urls(source: Source) -> None:
    source.fill(3)
    source.publish()
    tree = instep.explore(source.url)
    listed = tree.find("resourcelist")
    assert listed is not None and (listed.entries, listed.children) == (3, ())
    with instep.read(listed.uri) as reader:
        assert reader.header.capability == "resourcelist"
        assert [entry.length for entry in reader] == [6, 6, 6]
    assert instep.validate(listed.uri).is_valid
    assert isinstance(instep.load(f"{source.url}.well-known/resourcesync"), instep.SourceDescription)


def test_a_document_that_cannot_be_read_is_in_the_tree_with_its_problem(source: Source) -> None:
    source.fill(3)
    source.publish()
    (source.folder / "resourcesync" / "resourcelist.xml").write_text("<broken")
    listed = instep.explore(source.url).find("resourcelist")
    assert listed is not None and (listed.entries, listed.is_index) == (None, False)
    assert listed.problem is not None and "cannot be read" in listed.problem


def test_a_resource_that_is_missing_is_a_problem_of_the_report(source: Source, tmp_path: pathlib.Path) -> None:
    source.fill(3)
    source.publish()
    (source.folder / "file1.txt").unlink()
    report = instep.sync(source.url, tmp_path / "copy")
    assert (report.exit_code, report.in_step, report.created) == (3, False, 2)
    assert [(problem.kind, problem.subject) for problem in report.problems] == [("missing", f"{source.url}file1.txt")]


def test_a_guard_that_refuses_is_an_exception_with_a_hint(source: Source, tmp_path: pathlib.Path) -> None:
    source.fill(30)
    source.publish()
    instep.sync(source.url, tmp_path / "copy")
    for number in range(25):
        (source.folder / f"file{number}.txt").unlink()
    source.publish(max_delete="100%")
    with pytest.raises(instep.RefusedError) as caught:
        instep.sync(source.url, tmp_path / "copy", delete=True)
    assert caught.value.exit_code == 6 and caught.value.hint is not None
    assert instep.sync(source.url, tmp_path / "copy", delete=True, max_delete="100%").deleted == 25


def test_exceptions_follow_the_exit_codes(source: Source, tmp_path: pathlib.Path) -> None:
    with pytest.raises(instep.FetchError):
        instep.sync(source.url, tmp_path / "copy")
    with pytest.raises(instep.UsageError, match="--no-such-option"):
        instep.sync(source.url, tmp_path / "copy", no_such_option=True)
    with pytest.raises(instep.FetchError, match="404"):
        instep.read(f"{source.url}nowhere.xml")
    for kind in (instep.FetchError, instep.UsageError, instep.DocumentError):
        assert issubclass(kind, instep.InstepError)


def test_o841_a_limit_that_was_reached_is_an_exception(source: Source, tmp_path: pathlib.Path) -> None:
    source.fill(3)
    source.publish()
    with pytest.raises(instep.LimitError) as reached:
        instep.sync(source.url, tmp_path / "copy", max_transfer=1)
    assert reached.value.exit_code == 9
    assert instep.sync(source.url, tmp_path / "copy").in_step


def test_an_exception_of_the_callback_ends_the_run_in_order(source: Source, tmp_path: pathlib.Path) -> None:
    source.fill(3)
    source.publish()

    def refuse(event: instep.Event) -> None:
        raise LookupError(event["type"])

    with pytest.raises(LookupError):
        instep.sync(source.url, tmp_path / "copy", progress=refuse)
    assert instep.sync(source.url, tmp_path / "copy").in_step


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_ends_a_synchronization_in_order(source: Source, tmp_path: pathlib.Path) -> None:
    """The copy follows its Source until Ctrl-C; the state is saved, the lock is free, and the next run resumes."""
    source.fill(3)
    source.publish()
    script = """
        import instep, sys
        def report(event):
            if event["type"] == "round":
                print("round", flush=True)
        try:
            instep.sync(sys.argv[1], sys.argv[2], follow=True, progress=report)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), source.url, str(tmp_path / "copy")], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "round\n"
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert (output.splitlines()[-1], child.returncode) == ("interrupted", 0)
    report = instep.sync(source.url, tmp_path / "copy")
    assert (report.unchanged, report.created, report.in_step) == (report.unchanged, 0, True)


def test_the_command_of_the_wheel_is_the_program() -> None:
    for command in ([instep.program()], [sys.executable, "-m", "instep"]):
        done = subprocess.run([*command, "help", "exit-codes"], capture_output=True, text=True, check=True)
        assert "refused by a safety guard" in done.stdout


def test_o330_a_value_that_no_option_has_is_refused_before_the_run(tmp_path: pathlib.Path) -> None:
    wrong: dict[str, Any] = {
        "timeout": datetime.timedelta(seconds=5),
        "since": datetime.datetime(2026, 1, 1),
        "include": b"*.txt",
        "exclude": ["a", None],
    }
    for name, value in wrong.items():
        with pytest.raises(TypeError, match=f"{name}: .* is not the value of an option"):
            instep.sync("http://127.0.0.1:1/", tmp_path / "copy", **{name: value})
    with pytest.raises(TypeError, match="help is not an option of a run"):
        instep.sync("http://127.0.0.1:1/", tmp_path / "copy", help=True)
    assert not (tmp_path / "copy").exists()


def test_o785_a_url_that_is_none_is_refused_and_the_folder_does_not_take_its_place(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    two: list[Any] = [instep.sync, instep.audit]
    one: list[Any] = [instep.publish, instep.explore]
    for command in two:
        with pytest.raises(TypeError):
            command(None, "127.0.0.1:1")
    for command in one:
        with pytest.raises(TypeError):
            command(None)
    assert not any(tmp_path.iterdir())
