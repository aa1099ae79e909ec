"""The exceptions of the package.

::

    InstepError
    ├── DocumentError        a document breaks a rule or cannot be read; has the rule, line and column
    │   └── PackageError         a package is not safe to read, or lacks a member
    ├── ProgramError         the program is not installed beside the package
    └── CommandError         a command of the program ended without its result
        ├── UsageError           2: wrong options or configuration
        ├── FetchError           4: the Source cannot be reached, or is not a ResourceSync Source
        ├── InvalidSourceError   5: a document of the Source is invalid
        ├── RefusedError         6: a safety guard refused
        ├── LockedError          7: another run has the folder
        ├── StorageError         8: no space, or the storage failed
        ├── LimitError           9: a limit on time or bytes was reached
        ├── NewerStateError     10: the state was written by a newer version
        └── RunInterrupted     130, 143: a signal ended the run; its state is saved

An invalid value, such as a relative URI, raises a ``ValueError``; a file that cannot be read raises an ``OSError``.
Numbers are exit codes of the program. Resources that fail (3) and differences (20) are in the report, and raise nothing.
"""

from __future__ import annotations

from typing import Optional

__all__ = [
    "CommandError",
    "DocumentError",
    "FetchError",
    "InstepError",
    "InvalidSourceError",
    "LimitError",
    "LockedError",
    "NewerStateError",
    "PackageError",
    "ProgramError",
    "RefusedError",
    "RunInterrupted",
    "StorageError",
    "UsageError",
]


class InstepError(Exception):
    """The base of every exception of this package."""


class DocumentError(InstepError):
    """A document that cannot be read to its end, or that would break a rule if it were written.

    >>> import instep
    >>> try:
    ...     instep.load(b"<html/>")
    ... except instep.DocumentError as error:
    ...     error.rule, error.line, error.column
    ('GEN-1', 1, 1)
    """

    def __init__(
        self,
        message: str,
        rule: Optional[str] = None,
        line: Optional[int] = None,
        column: Optional[int] = None,
    ) -> None:
        super().__init__(message, rule, line, column)
        self.message = message
        #: The id of the rule, such as ``RL-2``; ``None`` if no rule is about it.
        self.rule = rule
        #: The line, from 1; ``None`` if the error is not about a place.
        self.line = line
        #: The byte in the line, from 1; ``None`` if the error is not about a place.
        self.column = column

    def __str__(self) -> str:
        place = "" if self.line is None else f" (line {self.line}, column {self.column})"
        rule = "" if self.rule is None else f"{self.rule}: "
        return f"{rule}{self.message}{place}"


class PackageError(DocumentError):
    """A package that is not safe to read, or that lacks a member."""


class ProgramError(InstepError):
    """The program ``instep`` is not installed beside this package."""


class CommandError(InstepError):
    """A command of the program that ended without its result."""

    def __init__(self, message: str, exit_code: int, hint: Optional[str] = None) -> None:
        super().__init__(message, exit_code, hint)
        self.message = message
        #: The exit code of the program.
        self.exit_code = exit_code
        #: What to do next; ``None`` if nothing is known.
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n{self.hint}"


class UsageError(CommandError):
    """Wrong options or configuration."""


class FetchError(CommandError):
    """The Source cannot be reached, or is no ResourceSync Source."""


class InvalidSourceError(CommandError):
    """A document of the Source is invalid."""


class RefusedError(CommandError):
    """A safety guard refused: too many deletions, an empty list, an older list."""


class LockedError(CommandError):
    """Another run has the folder."""


class StorageError(CommandError):
    """There is no space, or the storage failed."""


class LimitError(CommandError):
    """A limit on time or bytes was reached; what arrived is kept."""


class NewerStateError(CommandError):
    """The state was written by a newer version."""


class RunInterrupted(CommandError):
    """A signal ended the run; its state is saved, and the next run resumes."""


LIMIT_REACHED = 9
"""The exit code of a run that ends early as it was told to. It prints a summary, as one that ends by itself does."""

_BY_EXIT_CODE = {
    2: UsageError,
    4: FetchError,
    5: InvalidSourceError,
    6: RefusedError,
    7: LockedError,
    8: StorageError,
    LIMIT_REACHED: LimitError,
    10: NewerStateError,
    130: RunInterrupted,
    143: RunInterrupted,
}


def _of_exit_code(message: str, exit_code: int, hint: Optional[str]) -> CommandError:
    """Return the exception for an exit code of the program."""
    return _BY_EXIT_CODE.get(exit_code, CommandError)(message, exit_code, hint)
