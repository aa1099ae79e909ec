"""Source Descriptions."""

from __future__ import annotations

import collections.abc
from typing import Any, Optional

from .list_base_with_index import ListBaseWithIndex
from .resource import Resource
from .resource_set import ResourceSet

__all__ = ["SourceDescription"]


class SourceDescription(ListBaseWithIndex):
    """The Capability Lists of a Source, in the order of their URIs."""

    def __init__(
        self,
        resources: Optional[Any] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        spec_version: str = "1.1",
        add_lastmod: bool = False,
    ) -> None:
        super().__init__(
            resources=resources,
            md=md,
            ln=ln,
            capability_name="description",
            resources_class=ResourceSet,
            spec_version=spec_version,
            add_lastmod=add_lastmod,
        )
        self.md["from"] = None

    def add(self, resource: Any, replace: bool = False) -> None:
        """Add a resource, or several; one that is there already is an error, or replaced."""
        for one in resource if isinstance(resource, collections.abc.Iterable) else [resource]:
            self.resources.add(one, replace)

    def add_capability_list(self, capability_list: Any = None) -> None:
        """Add a Capability List: the document with its URI, or a URI."""
        if not hasattr(capability_list, "uri"):
            self.add(Resource(uri=capability_list, capability="capabilitylist"))
            return
        resource = Resource(uri=capability_list.uri, capability=capability_list.capability_name)
        if capability_list.describedby is not None:
            resource.link_set(rel="describedby", href=capability_list.describedby)
        self.add(resource)
