"""The options of `Server`, by which type checkers check mock_aws and like_moto."""

from __future__ import annotations

import os
from typing import Iterator, Mapping, Optional, Protocol, TypedDict, Union

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
