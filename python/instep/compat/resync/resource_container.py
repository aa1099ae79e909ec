"""The top of a document, and its resources."""

from __future__ import annotations

import collections.abc
from typing import Any, Iterator, Optional, Union

from .w3c_datetime import datetime_to_str

__all__ = ["ResourceContainer"]


def _str_datetime_now(x: Any = "now") -> Optional[str]:
    """Return a time as text: a text other than ``now`` as it is, a number as a W3C datetime."""
    return x if isinstance(x, str) and x != "now" else datetime_to_str(x)


def _time(name: str) -> Any:
    def read(self: ResourceContainer) -> Optional[str]:
        return self.md.get(name)

    def write(self: ResourceContainer, value: Any) -> None:
        self.md[name] = _str_datetime_now(value)

    return property(read, write, doc=f"The time ``{name}`` of the document; set it to ``'now'``, a text or a number.")


def _link(rel: str) -> Any:
    def read(self: ResourceContainer) -> Optional[str]:
        return self.link_href(rel)

    def write(self: ResourceContainer, uri: str) -> None:
        self.link_set(rel, uri)

    return property(read, write, doc=f"The target of the link ``{rel}``.")


class ResourceContainer:
    """Metadata (``md``), links (``ln``) and resources, as every document has them."""

    def __init__(
        self,
        resources: Optional[Any] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        uri: Optional[str] = None,
        capability_name: Optional[str] = None,
    ) -> None:
        self.resources: Any = [] if resources is None else resources
        self.md: dict[str, Any] = {} if md is None else md
        self.ln: list[dict[str, Any]] = [] if ln is None else ln
        self.uri = uri
        self.capability_name = capability_name

    def __iter__(self) -> Iterator[Any]:
        return iter(self.resources)

    def __getitem__(self, index: Union[int, str]) -> Any:
        return self.resources[index]

    @property
    def capability(self) -> Optional[str]:
        """The capability of the document."""
        return self.md.get("capability")

    @capability.setter
    def capability(self, capability: str) -> None:
        self.md["capability"] = capability

    md_at = _time("md_at")
    md_completed = _time("md_completed")
    md_from = _time("md_from")
    md_until = _time("md_until")
    describedby = _link("describedby")
    up = _link("up")
    index = _link("index")

    def link(self, rel: str) -> Optional[dict[str, Any]]:
        """Return the first link of a relation; ``None`` if there is none."""
        return next((link for link in self.ln if link.get("rel") == rel), None)

    def link_href(self, rel: str) -> Optional[str]:
        """Return the target of the first link of a relation; ``None`` if there is none."""
        link = self.link(rel)
        return None if link is None else link["href"]

    def link_set(self, rel: str, href: str, **atts: Any) -> None:
        """Set the link of a relation."""
        link = self.link(rel)
        if link is None:
            link = {"rel": rel}
            self.ln.append(link)
        link["href"] = href
        link.update(atts)

    def default_capability(self) -> None:
        """Set the capability to that of the class, if none is set."""
        if "capability" not in self.md and self.capability_name is not None:
            self.md["capability"] = self.capability_name

    def add(self, resource: Any) -> None:
        """Add a resource, or several."""
        add = getattr(self.resources, "add", None) or self.resources.append
        for one in resource if isinstance(resource, collections.abc.Iterable) else [resource]:
            add(one)

    def uris(self) -> list[str]:
        """Return the URI of each resource, in order."""
        return [resource.uri for resource in self.resources]

    def prune_dupes(self) -> int:
        """Keep the last entry of each URI, and none of a resource that was first created and last deleted.

        Returns the number of entries removed.
        """
        before = len(self.resources)
        first: dict[str, Any] = {}
        last: dict[str, int] = {}
        for place, resource in enumerate(self.resources):
            first.setdefault(resource.uri, resource)
            last[resource.uri] = place
        kept = []
        for place, resource in enumerate(self.resources):
            beginning = first[resource.uri]
            came_and_went = (
                beginning is not resource and beginning.change == "created" and resource.change == "deleted"
            )
            if last[resource.uri] == place and not came_and_went:
                kept.append(resource)
        self.resources = kept
        return before - len(kept)
