"""The clock of a server or space."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Mapping, Optional, Union

from ._control import Control
from ._records import read_time, write_time


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

    def set(self, moment: datetime) -> datetime:
        """Sets the clock; a time without a zone is UTC. Returns the new time."""
        return read_time(self._call("PUT", {"now": write_time(moment)})["now"])

    def advance(self, by: Union[timedelta, float]) -> datetime:
        """Advances the clock by seconds or a timedelta. Returns the new time."""
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        return read_time(self._call("PUT", {"advance_ms": step // timedelta(milliseconds=1)})["now"])

    def reset(self) -> datetime:
        """Sets the clock to the time of the machine. Returns the new time."""
        return read_time(self._call("PUT", {"reset": True})["now"])

    def _call(self, method: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        return self._control.call(method, "/clock", query={"space": self._space}, body=body)
