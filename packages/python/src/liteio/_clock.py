"""The clock of a server or space."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Mapping, Optional, Union, overload

from ._control import Control
from ._records import parse_time, read_time, write_time

UNITS = ("weeks", "days", "hours", "minutes", "seconds", "milliseconds")


class Clock:
    """Clock for presigned URLs, lifecycle rules, retention and session tokens. It continues to run after it is set."""

    def __init__(self, control: Control, space: Optional[str]) -> None:
        self._control = control
        self._space = space

    def now(self) -> datetime:
        return read_time(self._call("GET")["now"])

    @property
    def offset(self) -> timedelta:
        """Its lead over the clock of the machine."""
        return timedelta(milliseconds=self._call("GET")["offset_ms"])

    def set(self, moment: Union[datetime, str]) -> datetime:
        """Sets the clock to a datetime with a time zone, or to a text such as "2020-01-01T00:00:00Z", which is UTC if it
        names no zone. Returns the new time.

        Raises ValueError for a datetime without a time zone: Python means local time by it, and tests mostly UTC."""
        return read_time(self._call("PUT", {"now": write_time(moment_of(moment))})["now"])

    @overload
    def advance(self, by: Union[timedelta, float]) -> datetime: ...

    @overload
    def advance(
        self, *, weeks: float = ..., days: float = ..., hours: float = ..., minutes: float = ..., seconds: float = ...,
        milliseconds: float = ...,
    ) -> datetime: ...

    def advance(self, by: Union[timedelta, float, None] = None, **units: float) -> datetime:
        """Advances the clock by seconds or a timedelta, or by the arguments of one, such as days=3. Returns the new time."""
        return read_time(self._call("PUT", {"advance_ms": step_of(by, units) // timedelta(milliseconds=1)})["now"])

    def reset(self) -> datetime:
        """Sets the clock to the time of the machine. Returns the new time."""
        return read_time(self._call("PUT", {"reset": True})["now"])

    def _call(self, method: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        return self._control.call(method, "/clock", query={"space": self._space}, body=body)


def moment_of(given: object) -> datetime:
    if isinstance(given, str):
        return parse_time(given)
    if not isinstance(given, datetime):
        raise TypeError(
            f"{given!r} is no time: give a datetime, such as datetime.now(timezone.utc), or a text, such as 2020-01-01T00:00:00Z"
        )
    if given.utcoffset() is None:
        raise ValueError(f"{given} has no time zone: give a time zone, such as datetime.now(timezone.utc)")
    return given


def step_of(given: object, units: Mapping[str, float]) -> timedelta:
    if given is None and units:
        try:
            return timedelta(**units)
        except (TypeError, ValueError, OverflowError) as error:
            named = ", ".join(f"{name}={value!r}" for name, value in units.items())
            raise TypeError(f"{named} is no step: give numbers of {', '.join(UNITS)}, such as days=3") from error
    if units:
        raise TypeError(f"{given!r} and {', '.join(units)} are two steps: give one of them")
    if isinstance(given, timedelta):
        return given
    if isinstance(given, (int, float)) and abs(given) <= timedelta.max.total_seconds():
        return timedelta(seconds=given)
    raise TypeError(f"{given!r} is no step: give seconds, or a timedelta, such as timedelta(hours=1), or days=3")
