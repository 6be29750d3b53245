"""Options that are misspelled: the error has the one that was probably meant."""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any, Callable, Iterable, Sequence, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def check_names(owner: str, names: Iterable[str], known: Sequence[str]) -> None:
    """Raises TypeError for a name that is not known."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {near[0]}=…?" if near else f"it has {', '.join(known)}"
            raise TypeError(f"{owner} has no option {name!r}: {meant}")


def with_known_names(owner: str) -> Callable[[Function], Function]:
    """Decorates a method whose options are all given by name. Python's own error has no hint, or only in newer versions."""

    def decorate(method: Function) -> Function:
        known = options_of(method)

        @functools.wraps(method)
        def checked(*args: Any, **options: Any) -> Any:
            check_names(owner, options, known)
            return method(*args, **options)

        return cast(Function, checked)

    return decorate


def options_of(function: Callable[..., Any]) -> Sequence[str]:
    parameters = inspect.signature(function).parameters.values()
    return [it.name for it in parameters if it.kind is it.KEYWORD_ONLY]
