"""W3C datetimes as seconds since 1970, and back."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Optional, Union

from ... import DateTime

__all__ = ["datetime_to_str", "str_to_datetime"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

#: The beginning of the year 1: Python's times have no year 0.
_FIRST = (datetime.min.replace(tzinfo=timezone.utc) - _EPOCH).total_seconds()


def datetime_to_str(dt: Union[float, str, None] = "now", no_fractions: bool = False) -> Optional[str]:
    """Return a time as a W3C datetime in UTC, with six fraction digits if it has a fraction; ``None`` for ``None``.

    A time outside of the years 1 to 9999 is a :class:`ValueError`.

    >>> datetime_to_str(0), datetime_to_str(0.5), datetime_to_str(None)
    ('1970-01-01T00:00:00Z', '1970-01-01T00:00:00.500000Z', None)
    """
    if dt is None:
        return None
    seconds = time.time() if dt == "now" else float(dt)
    # A tenth of a microsecond more: a fraction that is stored in binary must not lose its last digit.
    try:
        shown = _EPOCH + timedelta(seconds=int(seconds) if no_fractions else seconds + 1e-7)
    except OverflowError:
        raise ValueError(f"Time {dt} is out of range") from None
    return shown.replace(tzinfo=None).isoformat() + "Z"


def str_to_datetime(s: Optional[str], context: str = "datetime") -> Union[int, float, None]:
    """Return a W3C datetime as seconds since 1970; ``None`` for ``None``. ``context`` names it in errors.

    >>> str_to_datetime("1970-01-01"), str_to_datetime("1970-01-01T00:00:10.5Z")
    (0, 10.5)
    """
    if s is None:
        return None
    if s == "":
        raise ValueError(f"Attempt to set empty {context}")
    try:
        seconds = DateTime(s).timestamp()
    except ValueError:
        raise ValueError(f"Bad datetime format ({s})") from None
    if seconds < _FIRST:
        raise ValueError(f"Bad datetime: no year 0 ({s})")
    return int(seconds) if seconds == int(seconds) else seconds
