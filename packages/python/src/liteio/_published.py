"""The endpoints and keys that the variables AWS_… have had in this process.

Clients and sessions that a suite keeps, such as in a cache, keep them too, beyond the test that they were made in.
"""

from __future__ import annotations

from typing import Dict, Optional, Set, Tuple
from urllib.parse import urlsplit

from ._space import Space

# In the variables during a mock of moto, and of mock_aws.
KEYS_OF_MOCKS = ("FOOBARKEY", "FOOBARSECRET")

_places: Set[str] = set()
# Of servers that accept any key.
_open_places: Set[str] = set()
_keys: Set[str] = {KEYS_OF_MOCKS[0]}
_spaces: Dict[Tuple[str, str], Space] = {}


def publish(endpoint: str, space: Space) -> None:
    """Remembers what the variables have from now on."""
    place = place_of(endpoint)
    _places.add(place)
    if getattr(space, "_accepts_any_key", None) is not None:
        _open_places.add(place)
    _keys.add(space.access_key)
    _spaces[place, space.access_key] = space


def was_published(place: str, key: Optional[str]) -> bool:
    """True for a place that the variables have pointed at, if the key is not one that the code of the client names for it."""
    return place in _places and (key is None or key in _keys or place in _open_places)


def was_key_published(key: Optional[str]) -> bool:
    return key in _keys


def is_kept_key(key: Optional[str], place: str, target: Space, *, made_before: bool) -> bool:
    """True for a key that a request to the server of `target` has from the variables of another time.

    A client of this time may name the key of another space of the server, if that space still exists. The main space's is
    mostly that of a session that has kept it, and all tests share that space."""
    if key is None or key == target.access_key or key not in _keys:
        return False
    named = _spaces.get((place, key))
    return made_before or named is None or named.name is None or named._is_closed


def place_of(url: str) -> str:
    """Host and port."""
    return urlsplit(url).netloc
