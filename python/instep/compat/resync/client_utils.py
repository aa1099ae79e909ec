"""What the clients have in common: errors, logs, and values of options."""

from __future__ import annotations

import logging
from datetime import datetime, timezone
from typing import Any, Iterable, Optional

__all__ = [
    "ClientError",
    "ClientFatalError",
    "UTCFormatter",
    "count_true_args",
    "init_logging",
    "parse_capabilities",
    "parse_capability_lists",
    "parse_link",
    "parse_links",
]


class ClientFatalError(Exception):
    """An error that ends the run."""


class ClientError(Exception):
    """An error after which another way may be tried."""


class UTCFormatter(logging.Formatter):
    """Writes the times of a log in UTC."""

    def formatTime(self, record: logging.LogRecord, datefmt: Optional[str] = None) -> str:
        """Return the time of a record as a W3C datetime."""
        shown = datetime.fromtimestamp(record.created, timezone.utc)
        return shown.replace(tzinfo=None).isoformat() + "Z"


def init_logging(
    to_file: bool = False,
    logfile: Optional[str] = None,
    default_logfile: str = "/tmp/resync.log",
    human: bool = True,
    verbose: bool = False,
    eval_mode: bool = False,
    default_logger: str = "client",
    extra_loggers: Optional[Iterable[str]] = None,
) -> None:
    """Log warnings to the terminal, and everything to a file with ``to_file``."""
    handlers: list[logging.Handler] = []
    if human:
        terminal = logging.StreamHandler()
        terminal.setLevel(logging.INFO if verbose else logging.WARNING)
        terminal.setFormatter(logging.Formatter(fmt="%(message)s"))
        handlers.append(terminal)
    file = logfile or default_logfile
    if to_file:
        kept = logging.FileHandler(filename=file, mode="a")
        kept.setFormatter(UTCFormatter("%(asctime)s | %(name)s | %(levelname)s | %(message)s"))
        kept.setLevel(logging.DEBUG if eval_mode else logging.INFO)
        handlers.append(kept)
    for name in (default_logger, "resync", *(extra_loggers or ())):
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        for handler in handlers:
            logger.addHandler(handler)
    if to_file:
        logging.getLogger(default_logger).info("Writing detailed log to %s", file)


def count_true_args(*args: Any) -> int:
    """Return the number of arguments that are true."""
    return sum(1 for argument in args if argument)


def parse_links(args_link: Optional[Iterable[str]]) -> list[dict[str, str]]:
    """Return the links of ``--link`` options."""
    links = []
    for text in args_link or ():
        try:
            links.append(parse_link(text))
        except ClientFatalError as error:
            raise ClientFatalError(f"Bad --link option '{text}' ({error})") from None
    return links


def parse_link(link_str: str) -> dict[str, str]:
    """Return a link written as ``rel,href,att1=val1,att2=val2``."""
    usage = f"--link option '{link_str}' (format rel,href,att1=val1...)"
    parts = link_str.split(",")
    if len(parts) < 2:
        raise ClientFatalError(f"Incomplete component of {usage}")
    link = {"rel": parts[0], "href": parts[1]}
    if not link["href"]:
        raise ClientFatalError(f"Missing uri in {usage}")
    for part in parts[2:]:
        name, equals, value = part.partition("=")
        if not equals or "=" in value:
            raise ClientFatalError(f"Bad component of {usage}")
        if not name or not value:
            raise ClientFatalError(f"Bad attribute ({part}) in {usage}")
        link[name] = value
    return link


def parse_capabilities(caps_str: str) -> dict[str, str]:
    """Return capabilities written as ``name=uri,name=uri``."""
    try:
        return dict(_pair(part) for part in caps_str.split(","))
    except ValueError as error:
        raise ClientFatalError(f"Bad component of --capabilitylist option '{caps_str}' ({error})") from None


def _pair(text: str) -> tuple[str, str]:
    name, value = text.split("=")
    return name, value


def parse_capability_lists(cls_str: str) -> list[str]:
    """Return URIs written with commas between them."""
    return cls_str.split(",")
