"""Capability Lists."""

from __future__ import annotations

import collections.abc
from typing import Any, Iterator, Optional

from .list_base import ListBase
from .resource import Resource
from .resource_set import ResourceSet

__all__ = ["CapabilityList", "CapabilitySet"]

_ORDER = ("resourcelist", "resourcedump", "changelist", "changedump")


class CapabilitySet(ResourceSet):
    """Resources by URI, in the order in which the standard names their capabilities."""

    def __init__(self) -> None:
        super().__init__()
        self.order = [*_ORDER, *(f"{name}-archive" for name in _ORDER)]

    def __iter__(self) -> Iterator[Any]:
        unknown: list[Any] = []
        for resource in self.values():
            if resource.capability not in self.order and resource.capability not in unknown:
                unknown.append(resource.capability)
        order = [*self.order, *unknown]
        return iter(sorted(self.values(), key=lambda held: (order.index(held.capability), held.uri)))


class CapabilityList(ListBase):
    """The capabilities of one set of resources."""

    def __init__(
        self,
        resources: Optional[Any] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        uri: Optional[str] = None,
        spec_version: str = "1.1",
        add_lastmod: bool = False,
    ) -> None:
        super().__init__(
            resources=CapabilitySet() if resources is None else resources,
            md=md,
            ln=ln,
            uri=uri,
            capability_name="capabilitylist",
            spec_version=spec_version,
            add_lastmod=add_lastmod,
        )

    def add(self, resource: Any, replace: bool = False) -> None:
        """Add a resource, or several; one that is there already is an error, or replaced."""
        for one in resource if isinstance(resource, collections.abc.Iterable) else [resource]:
            self.resources.add(one, replace)

    def add_capability(
        self, capability: Optional[Any] = None, uri: Optional[str] = None, name: Optional[str] = None
    ) -> None:
        """Add a capability: a document with its URI, or a name and a URI."""
        if capability is not None:
            name = capability.capability_name
            uri = capability.uri if capability.uri is not None else uri
        self.add(Resource(uri=uri, capability=name))

    def has_capability(self, name: Optional[str] = None) -> bool:
        """Return ``True`` if the capability is offered."""
        return self.capability_info(name) is not None

    def capability_info(self, name: Optional[str] = None) -> Optional[Any]:
        """Return the resource of a capability; ``None`` if it is not offered."""
        return next((resource for resource in self.resources if resource.capability == name), None)
