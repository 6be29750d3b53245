"""Options that are misspelled: the error has the one that was probably meant."""

from __future__ import annotations

import difflib
import functools
import inspect
from datetime import timedelta
from typing import Any, Callable, Iterable, Mapping, Sequence, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def check_names(owner: str, names: Iterable[str], known: Sequence[str], elsewhere: Mapping[str, str] = {}) -> None:
    """Raises TypeError for a name that is not known, with the place that has it, if `elsewhere` tells one."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]}=…?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"{owner} has no option {name!r}: {elsewhere.get(name, meant)}")


def with_known_names(owner: str, **elsewhere: str) -> Callable[[Function], Function]:
    """Decorates a method whose options are all given by name, but for the first ones. Python's own error has no hint, or only
    in newer versions."""

    def decorate(method: Function) -> Function:
        known = options_of(method)
        first = [it.name for it in inspect.signature(method).parameters.values() if it.kind is it.POSITIONAL_OR_KEYWORD]

        @functools.wraps(method)
        def checked(*args: Any, **options: Any) -> Any:
            check_names(owner, options, [*first[1:], *known], elsewhere)
            if len(args) > len(first) and known:
                name = owner.replace("()", "")
                raise TypeError(f"{owner} takes its options by name, such as {name}({known[0]}={args[len(first)]!r})")
            return method(*args, **options)

        return cast(Function, checked)

    return decorate


def options_of(function: Callable[..., Any]) -> Sequence[str]:
    parameters = inspect.signature(function).parameters.values()
    return [it.name for it in parameters if it.kind is it.KEYWORD_ONLY]


def check_numbers(**numbers: object) -> None:
    """Raises TypeError for what is no whole number and not None. The server would tell of its JSON."""
    for name, given in numbers.items():
        if given is not None and (not isinstance(given, int) or isinstance(given, bool)):
            such = f", such as {given // timedelta(milliseconds=1)}" if isinstance(given, timedelta) and name.endswith("_ms") else ""
            raise TypeError(f"{name} is a whole number{such}, not {given!r}")


def check_seconds(timeout: object) -> None:
    """Raises TypeError for what is no number of seconds."""
    if not isinstance(timeout, (int, float)):
        such = f", such as {timeout.total_seconds()}" if isinstance(timeout, timedelta) else ""
        raise TypeError(f"timeout is a number of seconds{such}, not {timeout!r}")
