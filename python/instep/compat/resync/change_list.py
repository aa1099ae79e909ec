"""Change Lists."""

from __future__ import annotations

import collections.abc
from typing import Any, Iterable, Optional

from .list_base_with_index import ListBaseWithIndex
from .resource import ChangeTypeError, Resource

__all__ = ["ChangeList"]


class ChangeList(ListBaseWithIndex):
    """Changes in their order; a resource can have several."""

    def __init__(
        self,
        resources: Optional[Any] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        uri: Optional[str] = None,
        mapper: Optional[Any] = None,
        spec_version: str = "1.1",
        add_lastmod: bool = False,
        resources_class: Any = list,
    ) -> None:
        super().__init__(
            resources=resources,
            md=md,
            ln=ln,
            uri=uri,
            capability_name="changelist",
            mapper=mapper,
            spec_version=spec_version,
            add_lastmod=add_lastmod,
            resources_class=resources_class,
        )

    def add_if_changed(self, resource: Any) -> None:
        """Add a resource with a change; another one is a :class:`ChangeTypeError`."""
        if resource.change is None:
            raise ChangeTypeError(resource.change)
        self.resources.append(resource)

    def add(self, resource: Any) -> None:
        """Add a change, or several."""
        for one in resource if isinstance(resource, collections.abc.Iterable) else [resource]:
            self.add_if_changed(one)

    def add_changed_resources(self, resources: Iterable[Any], change: Optional[str] = None) -> None:
        """Add copies of resources with a change."""
        for resource in resources:
            self.add(Resource(resource=resource, change=change))

    def prune_updates_before(self, timestamp: float, spec_version: str = "1.1") -> int:
        """Remove the changes before a time, and return their number. Each entry must have a time."""
        kept = []
        for resource in self.resources:
            time = resource.timestamp if spec_version == "1.0" else resource.ts_datetime
            if time is None:
                raise Exception(f"Entry {resource.uri} has no update datetime/timestamp")
            if time >= timestamp:
                kept.append(resource)
        removed = len(self.resources) - len(kept)
        self.resources = kept
        return removed
