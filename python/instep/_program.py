"""The program of the wheel: where it is, and runs of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from typing import IO, Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

from .errors import LIMIT_REACHED, ProgramError, RunInterrupted, _of_exit_code

__all__ = ["Event", "Option", "Progress", "program"]

Event = dict[str, Any]
"""A line of the program's output: ``type`` and the fields that the book lists under "JSON output"."""

Progress = Callable[[Event], object]
"""Called with each event of a run, in the thread of the run.

An exception that it raises ends the run as a Ctrl-C does: what arrived is kept, and the next run resumes.
"""

Option = Union[None, bool, int, float, str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]
"""The value of an option: ``True`` for one without a value, a sequence for one that is repeated."""

_NAME = "instep.exe" if os.name == "nt" else "instep"


def program() -> str:
    """Return the path of the program ``instep``.

    It is the one of the same wheel, which ``pip`` puts beside ``python``; else the one in ``PATH``. The variable
    ``INSTEP_PROGRAM`` names another one.

    >>> import instep, subprocess
    >>> subprocess.run([instep.program(), "--version"], capture_output=True, text=True).stdout.split()[0]
    'instep'
    """
    named = os.environ.get("INSTEP_PROGRAM")
    if named:
        return named
    for folder in _folders():
        if (folder / _NAME).is_file():
            return str(folder / _NAME)
    found = shutil.which(_NAME)
    if found is None:
        raise ProgramError("The program instep is not installed: install a wheel of instep, or set INSTEP_PROGRAM")
    return found


def _folders() -> Iterator[Path]:
    """Return the folders where ``pip`` puts programs: of the environment, of the user, of ``--target``."""
    yield Path(sysconfig.get_path("scripts"))
    user = "nt_user" if os.name == "nt" else "posix_user"
    yield Path(sysconfig.get_path("scripts", scheme=user))
    yield Path(__file__).parent.parent / "bin"


def arguments(options: Mapping[str, Option]) -> list[str]:
    """Return options as arguments: ``max_delete="5%"`` becomes ``--max-delete=5%``.

    >>> arguments({"delete": True, "exclude": ["*.tmp", "*.bak"], "limit": None})
    ['--delete', '--exclude=*.tmp', '--exclude=*.bak']
    """
    given: list[str] = []
    for name, value in options.items():
        option = f"--{name.rstrip('_').replace('_', '-')}"
        if option in ("--help", "--version"):
            raise TypeError(f"{name} is not an option of a run")
        if value is None or value is False:
            continue
        if value is True:
            given.append(option)
            continue
        values = value if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else [value]
        given.extend(f"{option}={_text(name, one)}" for one in values)
    return given


def _text(name: str, value: Any) -> str:
    """Return a value as it is typed in a terminal."""
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError(f"{name}: {type(value).__name__} is not the value of an option; give text such as '30s'")
    return str(value)


class _LastWords:
    """The end of what a program says on standard error.

    It is read while the program runs, on a thread of its own: a run that follows for months fills neither the pipe nor
    a disk.
    """

    _MOST = 1 << 16

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe: Any = pipe
        self._kept = b""
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        with self._pipe:
            while said := self._pipe.read1(self._MOST):
                self._kept = (self._kept + said)[-self._MOST :]

    def text(self) -> str:
        """Return the words of a program that has ended. A program that it left behind may still have the pipe."""
        self._reading.join(timeout=1)
        return self._kept.decode(errors="replace").strip()


class Run:
    """One run of the program: its events, and how it ends.

    The program runs in a process group of its own: a Ctrl-C in the terminal reaches Python alone, which then asks the
    program once to end cleanly.
    """

    def __init__(self, command: str, positional: Sequence[Union[str, "os.PathLike[str]"]], options: Mapping[str, Option]) -> None:
        argv = [program(), command, *arguments(options), "--json", "--", *(os.fspath(value) for value in positional)]
        self._summary: Optional[Event] = None
        self._error: Optional[Event] = None
        self._stopped = False
        group: dict[str, Any] = {"start_new_session": True} if os.name == "posix" else {}
        self._process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **group
        )
        assert self._process.stderr is not None
        self._messages = _LastWords(self._process.stderr)

    def stop(self) -> None:
        """Ask the program to end cleanly, once. What was committed stays, and the next run resumes."""
        if not self._stopped:
            self._stopped = True
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)

    def finish(self, observe: Progress) -> Event:
        """Pass each event to ``observe`` until the program ends; return its summary.

        Whatever is raised meanwhile, a ``KeyboardInterrupt`` too, first ends the program cleanly.
        """
        try:
            for event in self._events():
                if event["type"] == "summary":
                    self._summary = event
                elif event["type"] == "error":
                    self._error = event
                else:
                    observe(event)
            code = self._process.wait()
        except BaseException:
            self.stop()
            self._drain()
            raise
        finally:
            self._close()
        return self._outcome(code)

    def _outcome(self, code: int) -> Event:
        if self._stopped or code in (130, 143):
            raise RunInterrupted("The run was interrupted; its state is saved", code if code > 0 else 130)
        if code == LIMIT_REACHED:
            raise _of_exit_code("A limit on time or bytes was reached; the next run resumes", code, None)
        if self._summary is not None:
            return self._summary
        if self._error is not None:
            raise _of_exit_code(self._error["message"], code, self._error["hint"])
        if code in (0, 3):
            # ``explore`` prints no summary. With 3 some documents could not be read, and its tree says which.
            return {"exit_code": code}
        raise _of_exit_code(self._said or f"instep ended with {code}", code, None)

    def _events(self) -> Iterator[Event]:
        for line in self._output:
            yield json.loads(line)

    def _drain(self) -> None:
        """Wait for the end. A second Ctrl-C does not cut the program off, which is saving its state."""
        while True:
            try:
                for _ in self._output:
                    pass
                self._process.wait()
                return
            except KeyboardInterrupt:
                continue

    @property
    def _output(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _close(self) -> None:
        self._output.close()
        self._said = self._messages.text().removeprefix("error: ")


def main() -> None:
    """Run the program in the place of this process: ``python -m instep``."""
    path = program()
    if os.name == "posix":
        os.execv(path, [path, *sys.argv[1:]])
    raise SystemExit(subprocess.run([path, *sys.argv[1:]]).returncode)
