"""Archives: documents of the past."""

from __future__ import annotations

from typing import Any, Optional

from .list_base_with_index import ListBaseWithIndex

__all__ = ["ChangeDumpArchive", "ChangeListArchive", "ResourceDumpArchive", "ResourceListArchive"]


class _Archive(ListBaseWithIndex):
    """Documents of the past; each class names their capability."""

    _archive = ""

    def __init__(
        self,
        resources: Optional[Any] = None,
        md: Optional[dict[str, Any]] = None,
        ln: Optional[list[dict[str, Any]]] = None,
        uri: Optional[str] = None,
        spec_version: str = "1.1",
        add_lastmod: bool = False,
        resources_class: Optional[Any] = None,
    ) -> None:
        super().__init__(
            resources=resources,
            md=md,
            ln=ln,
            uri=uri,
            capability_name=self._archive,
            spec_version=spec_version,
            add_lastmod=add_lastmod,
            resources_class=resources_class,
        )


class ResourceListArchive(_Archive):
    """Resource Lists of the past."""

    _archive = "resourcelist-archive"


class ResourceDumpArchive(_Archive):
    """Resource Dumps of the past."""

    _archive = "resourcedump-archive"


class ChangeListArchive(_Archive):
    """Change Lists of the past."""

    _archive = "changelist-archive"


class ChangeDumpArchive(_Archive):
    """Change Dumps of the past."""

    _archive = "changedump-archive"
