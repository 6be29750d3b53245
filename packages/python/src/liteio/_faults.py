"""Fault rules: requests fail, are slow, or are cut off."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Mapping, Optional, Type

from ._control import Control, LiteIOError


class Fault:
    """A rule, active until it is removed or its `with` ends."""

    def __init__(self, control: Control, space: Optional[str], id: str, rule: Mapping[str, Any]) -> None:
        self._control = control
        self._space = space
        self.id = id
        self.rule = dict(rule)

    @property
    def hits(self) -> int:
        """Number of requests that matched the rule."""
        answer = self._control.call("GET", "/faults", query={"space": self._space})
        for fault in answer["faults"]:
            if fault["id"] == self.id:
                return int(fault["hits"])
        raise LiteIOError(f"the fault {self.id} is not in force any more")

    def remove(self) -> None:
        """Removes the rule, unless clear_faults() or a reset has."""
        self._control.delete(f"/faults/{self.id}", query={"space": self._space})

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"Fault({self.id}, {self.rule})"
