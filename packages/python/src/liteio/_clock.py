"""The clock that the server goes by."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Mapping, Optional, Union

from ._control import Control
from ._records import read_time, write_time


class Clock:
    """Presigned URLs, lifecycle rules, retention and session tokens go by it. It goes on running from where it is set."""

    def __init__(self, control: Control, space: Optional[str]) -> None:
        self._control = control
        self._space = space

    def now(self) -> datetime:
        return read_time(self._call("GET")["now"])

    @property
    def offset(self) -> timedelta:
        """How far it is ahead of the machine's."""
        return timedelta(milliseconds=self._call("GET")["offset_ms"])

    def set(self, moment: datetime) -> datetime:
        """Sets it; a time without a zone is taken for UTC. Returns the time by it."""
        return read_time(self._call("PUT", {"now": write_time(moment)})["now"])

    def advance(self, by: Union[timedelta, float]) -> datetime:
        """Sets it forward, by seconds or a timedelta. Returns the time by it."""
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        return read_time(self._call("PUT", {"advance_ms": step // timedelta(milliseconds=1)})["now"])

    def reset(self) -> datetime:
        """Sets it to the machine's. Returns the time by it."""
        return read_time(self._call("PUT", {"reset": True})["now"])

    def _call(self, method: str, body: Optional[Mapping[str, Any]] = None) -> Any:
        return self._control.call(method, "/clock", query={"space": self._space}, body=body)
