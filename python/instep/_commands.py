"""Publishing, synchronizing and checking: the program's commands as functions."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, Optional, TypeVar, Union

from ._native import DateTime
from ._program import Event, Option, Progress, Run

__all__ = ["AuditReport", "Item", "Problem", "PublishReport", "SyncReport", "Tree", "audit", "explore", "publish", "sync"]

Folder = Union[str, "os.PathLike[str]"]
R = TypeVar("R")


@dataclass(frozen=True)
class Problem:
    """A resource or document that failed, or was left out."""

    #: The URI or path that the problem is about.
    subject: str
    #: What happened.
    what: str
    #: ``error`` or ``warning``.
    severity: str
    #: ``mismatch``, ``missing``, ``denied``, ``unreachable``, ...; empty when publishing.
    kind: str
    #: What to do next; ``None`` if nothing is known.
    hint: Optional[str]


@dataclass(frozen=True)
class Item:
    """A resource that an audit found to be different."""

    #: ``+`` missing, ``~`` different, ``-`` surplus, ``!`` failed.
    letter: str
    #: The URI of the resource.
    uri: str
    #: What is different.
    detail: Optional[str]


@dataclass(frozen=True)
class SyncReport:
    """The outcome of a synchronization."""

    #: Resources that are new in the copy.
    created: int
    #: Resources that have a new state in the copy.
    updated: int
    #: Resources that were removed from the copy.
    deleted: int
    #: Resources that were current.
    unchanged: int
    #: Resources that failed in this run.
    failed: int
    #: Resources that the next run tries again.
    owed: int
    #: Entries and documents that could not be used.
    skipped: int
    #: Bytes of resources that were transferred.
    bytes: int
    #: Requests that were sent.
    requests: int
    #: Elapsed real time.
    seconds: float
    #: ``True`` if the copy is known to be all that the Source has.
    in_step: bool
    #: The way that was chosen.
    strategy: str
    #: The reason for it, in a sentence.
    reason: str
    #: The time up to which the copy has the Source's changes.
    checkpoint: Optional[DateTime]
    #: 0, or 3 if some resources failed and the rest is committed.
    exit_code: int
    #: The resources and documents that failed, in the order in which the run met them.
    problems: tuple[Problem, ...] = ()
    #: Remarks about the way that was chosen, such as a gap in the changes.
    notes: tuple[str, ...] = ()
    #: The program's summary with every field.
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class PublishReport:
    """The outcome of a publication."""

    #: Resources that are new since the last publication; all of them in the first one.
    created: int
    #: Resources with a new state.
    updated: int
    #: Resources that are gone.
    deleted: int
    #: Resources that have not changed.
    unchanged: int
    #: Files that cannot be published; each is in ``problems``.
    skipped: int
    #: Resources that are published now.
    resources: int
    #: The bytes of all these resources.
    bytes: int
    #: The names of the documents that were written.
    documents: tuple[str, ...]
    #: The URL of the Source Description.
    source_description: Optional[str]
    #: The time at which the publication began: the ``at`` of its Resource List.
    at: Optional[DateTime]
    #: Elapsed real time.
    seconds: float
    #: The files that were left out, and other faults.
    problems: tuple[Problem, ...] = ()
    #: The program's summary with every field.
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class AuditReport:
    """The outcome of an audit."""

    #: Resources that are the same.
    same: int
    #: Resources of the Source that the copy lacks.
    missing: int
    #: Resources whose file or metadata differ.
    differing: int
    #: Resources of the copy that the Source no longer has.
    surplus: int
    #: Resources that could not be compared.
    failed: int
    #: Resources without a digest or a length to compare their bytes with.
    unauditable: int
    #: Bytes of which a digest was computed.
    bytes: int
    #: Elapsed real time.
    seconds: float
    #: 0, 3 if some resources could not be compared, or 20 if there are differences.
    exit_code: int
    #: The differences.
    items: tuple[Item, ...] = ()
    #: The resources and documents that could not be compared.
    problems: tuple[Problem, ...] = ()
    #: The program's summary with every field.
    summary: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def is_same(self) -> bool:
        """``True`` if everything was compared and is the same, and the documents show all that the Source has.

        Compared with no Source, as with ``offline=True``, the files of the copy alone count.
        """
        coverage = self.summary.get("coverage") or {"known": "complete"}
        return self.exit_code == 0 and bool(coverage["known"] == "complete")


@dataclass(frozen=True)
class Tree:
    """A document of a Source, with those that it leads to."""

    #: The URI of the document.
    uri: str
    #: Its capability, such as ``resourcelist``; ``None`` if it states none or could not be read.
    capability: Optional[str]
    #: ``True`` for an index, whose entries lead to lists; ``False`` also for a document that was not read.
    is_index: bool
    #: The number of its entries; ``None`` if they were not read.
    entries: Optional[int]
    #: The bytes of the resources that are listed, as far as their lengths are stated.
    bytes: Optional[int]
    #: The start of a snapshot.
    at: Optional[DateTime]
    #: The end of a snapshot.
    completed: Optional[DateTime]
    #: The start of an interval of changes.
    from_: Optional[DateTime]
    #: The end of an interval of changes.
    until: Optional[DateTime]
    #: The reason why the document could not be read; ``None`` if it could.
    problem: Optional[str]
    #: The documents that it leads to.
    children: tuple[Tree, ...]

    def find(self, capability: str) -> Optional[Tree]:
        """Return the first document with a capability, in the order of the tree; ``None`` if there is none."""
        if self.capability == capability:
            return self
        return next((found for child in self.children if (found := child.find(capability))), None)


def sync(
    url: str, folder: Optional[Folder] = None, *, progress: Optional[Progress] = None, **options: Option
) -> SyncReport:
    """Make or update a copy of a Source, as ``instep sync`` does.

    ``folder`` is ``./HOST`` if it is not given. ``progress`` is called with each event. ``options`` are those of
    ``instep sync --help`` with underscores: ``delete=True``, ``max_delete="5%"``, ``include=["*.pdf", "letters/**"]``.

    Resources that fail are reported in the result, and tried again by the next run; what ends the run raises a
    :class:`CommandError`. A ``KeyboardInterrupt`` ends the run cleanly: what arrived is kept, and the next run resumes.
    """
    return Sync(url, folder, options).finish(progress)


def publish(
    folder: Folder, base_url: Optional[str] = None, *, progress: Optional[Progress] = None, **options: Option
) -> PublishReport:
    """Publish a folder, as ``instep publish`` does: write its documents as files that any web server can serve.

    ``base_url`` is the URL at which the folder is served. Each publication needs it, unless ``instep.toml`` has it or the
    option ``rebase`` names it. ``options`` are those of ``instep publish --help`` with underscores: ``dump="always"``,
    ``hash="sha-256,md5"``.

    Files that cannot be published are in the report; a publication that fails as a whole raises a :class:`CommandError`.
    """
    return Publish(folder, base_url, options).finish(progress)


def audit(
    url: str, folder: Optional[Folder] = None, *, progress: Optional[Progress] = None, **options: Option
) -> AuditReport:
    """Compare a copy with its Source, as ``instep audit`` does. Differences are in the report and raise nothing.

    ``options`` are those of ``instep audit --help`` with underscores: ``sample="1%"``.
    """
    return Audit(url, folder, options).finish(progress)


def explore(url: str, **options: Option) -> Tree:
    """Return the documents of a Source as a tree, from any of its URLs, as ``instep explore`` does.

    ``options`` are those of ``instep explore --help`` with underscores. A document that cannot be read is in the tree
    with its ``problem``; a Source that cannot be reached raises a :class:`FetchError`.
    """
    return Explore(url, options).finish(None)


class _Command:
    """A running command, and what is kept of its events."""

    def __init__(
        self, command: str, subject: Folder, folder: Optional[Folder], options: Mapping[str, Option]
    ) -> None:
        # Only the folder may be missing: it would be taken for a URL that is `None`.
        self.run = Run(command, [subject] if folder is None else [subject, folder], options)
        self.problems: list[Problem] = []

    def execute(self, progress: Optional[Progress]) -> Event:
        """Run to the end, and return the summary."""

        def observe(event: Event) -> None:
            self.keep(event)
            if progress is not None:
                progress(event)

        return self.run.finish(observe)

    def keep(self, event: Event) -> None:
        """Keep what the report shows of an event."""
        if event["type"] == "problem":
            subject = event.get("uri") or event.get("subject") or ""
            severity, kind = event.get("severity", "warning"), event.get("kind", "")
            self.problems.append(Problem(subject, event["what"], severity, kind, event.get("hint")))


class Sync(_Command):
    """A running synchronization."""

    def __init__(self, url: str, folder: Optional[Folder], options: Mapping[str, Option]) -> None:
        super().__init__("sync", url, folder, options)
        self.notes: list[str] = []

    def keep(self, event: Event) -> None:
        super().keep(event)
        if event["type"] == "note":
            self.notes.append(event["text"])

    def finish(self, progress: Optional[Progress]) -> SyncReport:
        """Run to the end."""
        summary = self.execute(progress)
        made = _made(SyncReport, summary, problems=tuple(self.problems), notes=tuple(self.notes))
        return made


class Publish(_Command):
    """A running publication."""

    def __init__(self, folder: Folder, base_url: Optional[str], options: Mapping[str, Option]) -> None:
        super().__init__("publish", folder, None, {"base_url": base_url, **options})

    def finish(self, progress: Optional[Progress]) -> PublishReport:
        """Run to the end."""
        return _made(PublishReport, self.execute(progress), problems=tuple(self.problems))


class Audit(_Command):
    """A running audit."""

    def __init__(self, url: str, folder: Optional[Folder], options: Mapping[str, Option]) -> None:
        super().__init__("audit", url, folder, options)
        self.items: list[Item] = []

    def keep(self, event: Event) -> None:
        super().keep(event)
        if event["type"] == "item":
            self.items.append(Item(event["letter"], event["uri"], event["detail"]))

    def finish(self, progress: Optional[Progress]) -> AuditReport:
        """Run to the end."""
        summary = self.execute(progress)
        return _made(AuditReport, summary, items=tuple(self.items), problems=tuple(self.problems))


class Explore(_Command):
    """A running exploration."""

    def __init__(self, url: str, options: Mapping[str, Option]) -> None:
        super().__init__("explore", url, None, options)
        self.tree: Optional[Event] = None

    def keep(self, event: Event) -> None:
        if event["type"] == "tree":
            self.tree = event

    def finish(self, progress: Optional[Progress]) -> Tree:
        """Run to the end."""
        self.execute(progress)
        assert self.tree is not None
        return _tree(self.tree)


def _made(report: Callable[..., R], summary: Event, **kept: Any) -> R:
    """Return a report with the fields of a summary that it has; a run that planned only has few of them."""
    fields: Mapping[str, Any] = getattr(report, "__dataclass_fields__")
    values = {name: summary.get(name, _NOTHING.get(str(fields[name].type))) for name in fields}
    for name in ("checkpoint", "at"):
        if values.get(name) is not None:
            values[name] = DateTime(values[name])
    if "documents" in values:
        values["documents"] = tuple(values["documents"] or ())
    return report(**{**values, "summary": summary, **kept})


_NOTHING = {"int": 0, "float": 0.0, "bool": False, "str": ""}


def _tree(node: Event) -> Tree:
    times = ("at", "completed", "from", "until")
    at, completed, from_, until = (DateTime(node[name]) if node[name] else None for name in times)
    children = tuple(_tree(child) for child in node["children"])
    return Tree(
        node["uri"],
        node["capability"],
        bool(node["index"]),
        node["entries"],
        node["bytes"],
        at,
        completed,
        from_,
        until,
        node["problem"],
        children,
    )
