"""Resources by URI, in the order of their URIs."""

from __future__ import annotations

from typing import Any, Iterator

__all__ = ["ResourceSet", "ResourceSetDupeError"]


class ResourceSetDupeError(Exception):
    """A resource that is in the set already."""


class ResourceSet(dict):  # type: ignore[type-arg]
    """A dict of resources by URI, whose iterator gives the resources in the order of their URIs."""

    def __iter__(self) -> Iterator[Any]:
        return iter([self[uri] for uri in sorted(self.keys())])

    def add(self, resource: Any, replace: bool = False) -> None:
        """Add a resource; one that is there already is an error, or replaced."""
        if resource.uri in self and not replace:
            raise ResourceSetDupeError("Attempt to add resource already in this set")
        self[resource.uri] = resource

    def first(self) -> Any:
        """Return the first resource."""
        return next(iter(self))
