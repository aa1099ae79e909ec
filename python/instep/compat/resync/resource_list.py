"""Resource Lists."""

from __future__ import annotations

import collections.abc
from collections import OrderedDict
from typing import Any, Iterator, Optional

from .list_base_with_index import ListBaseWithIndex

__all__ = ["ResourceList", "ResourceListDict", "ResourceListDupeError", "ResourceListOrdered"]


class ResourceListDupeError(Exception):
    """A resource that is in the list already."""


def _add(resources: Any, resource: Any, replace: bool) -> None:
    if resource.uri in resources.keys() and not replace:
        raise ResourceListDupeError("Attempt to add resource already in resource_list")
    resources[resource.uri] = resource


class SortedIterMixin:
    """Gives the resources of a dict in the order of their URIs."""

    def sorted_iter(self) -> Iterator[Any]:
        """Return the resources in the order of their URIs."""
        held: Any = self
        return iter([held[uri] for uri in sorted(held.keys())])


class ResourceListDict(dict, SortedIterMixin):  # type: ignore[type-arg]
    """Resources by URI, in the order of their URIs."""

    def __iter__(self) -> Iterator[Any]:
        return self.sorted_iter()

    def uris(self) -> list[str]:
        """Return the URIs in their order."""
        return sorted(self.keys())

    def add(self, resource: Any, replace: bool = False) -> None:
        """Add a resource; one that is there already is an error, or replaced."""
        _add(self, resource, replace)


class ResourceListOrdered(OrderedDict, SortedIterMixin):  # type: ignore[type-arg]
    """Resources by URI, in the order in which they were added."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())

    def uris(self) -> Any:
        """Return the URIs in the order in which they were added."""
        return self.keys()

    def add(self, resource: Any, replace: bool = False) -> None:
        """Add a resource; one that is there already is an error, or replaced."""
        _add(self, resource, replace)


class ResourceList(ListBaseWithIndex):
    """The state of a set of resources, each URI once."""

    def __init__(
        self,
        resources: Optional[Any] = None,
        count: Optional[int] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        uri: Optional[str] = None,
        allow_multifile: Optional[bool] = None,
        mapper: Optional[Any] = None,
        spec_version: str = "1.1",
        add_lastmod: bool = False,
        resources_class: Any = ResourceListDict,
    ) -> None:
        super().__init__(
            resources=resources,
            count=count,
            md=md,
            ln=ln,
            uri=uri,
            capability_name="resourcelist",
            allow_multifile=allow_multifile,
            mapper=mapper,
            spec_version=spec_version,
            add_lastmod=add_lastmod,
            resources_class=resources_class,
        )

    def add(self, resource: Any, replace: bool = False) -> None:
        """Add a resource, or several; one that is there already is an error, or replaced."""
        for one in resource if isinstance(resource, collections.abc.Iterable) else [resource]:
            self.resources.add(one, replace)

    def compare(self, src: ResourceList) -> tuple[ResourceList, ResourceList, ResourceList, ResourceList]:
        """Compare this list, that of a copy, with that of its Source: what is the same, updated, deleted and created."""
        same, updated, deleted, created = ResourceList(), ResourceList(), ResourceList(), ResourceList()
        for resource in self.resources.sorted_iter():
            listed = src.resources.get(resource.uri)
            if listed is None:
                deleted.add(resource)
            elif resource == listed:
                same.add(resource)
            else:
                updated.add(listed)
        for listed in src.resources.sorted_iter():
            if listed.uri not in self.resources.keys():
                created.add(listed)
        return same, updated, deleted, created

    def hashes(self) -> set[str]:
        """Return the algorithms that some resource has a digest of."""
        attributes = {"md5": "md5", "sha-1": "sha1", "sha-256": "sha256"}
        held = (name for resource in self for name, key in attributes.items() if getattr(resource, key) is not None)
        return set(held)
