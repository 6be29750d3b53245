"""The options of `Server`, by which type checkers check mock_aws and like_moto."""

from __future__ import annotations

import os
from typing import Iterable, Iterator, List, Mapping, Optional, Protocol, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]


class Strings(Protocol):
    """A collection of strings that is not one string: `in` of that takes nothing but strings."""

    def __iter__(self) -> Iterator[str]: ...

    def __contains__(self, value: object, /) -> bool: ...


class Options(TypedDict, total=False):
    data_dir: Optional[Path]
    buckets: Strings
    seed: Optional[Path]
    profile: Optional[str]
    access_key: Optional[str]
    secret_key: Optional[str]
    region: Optional[str]
    port: Optional[int]
    binary: Optional[Path]
    arguments: Strings
    environment: Optional[Mapping[str, str]]


def strings_of(name: str, given: object) -> List[str]:
    """The list of an option; raises TypeError for what is none, and for what is no string in it."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(f"{name} is a list of strings, not {given!r}")
    strings = list(given)
    for each in strings:
        if not isinstance(each, str):
            raise TypeError(f"{name} is a list of strings, but has {each!r}")
    return strings


def check_strings(**given: object) -> None:
    """Raises TypeError for what is no string and not None."""
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is a string, not {value!r}")


def check_environment(given: object) -> None:
    """Raises TypeError for what is no dictionary of strings and not None."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise TypeError(f"environment is a dictionary of strings, not {given!r}")
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"environment is a dictionary of strings, but has {name!r}: {value!r}")
