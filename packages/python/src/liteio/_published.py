"""The endpoints and keys that the variables AWS_… have had in this process.

Clients and sessions that a suite keeps, such as in a cache, keep them too, beyond the test that they were made in. The
variables may also have pointed elsewhere before a use, such as to the server of `liteio exec` or of a file .env.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Set, Tuple
from urllib.parse import SplitResult, urlsplit

from ._space import SERVICES, Space

# In the variables during a mock of moto, and of mock_aws.
KEYS_OF_MOCKS = ("FOOBARKEY", "FOOBARSECRET")

_places: Set[str] = set()
# Of servers that accept any key.
_open_places: Set[str] = set()
_keys: Set[str] = {KEYS_OF_MOCKS[0]}
_spaces: Dict[Tuple[str, str], Space] = {}
# Not those of services that are not served here, such as AWS_ENDPOINT_URL_DYNAMODB: their clients stay where they are.
VARIABLES_OF_ENDPOINTS = ("AWS_ENDPOINT_URL", *(f"AWS_ENDPOINT_URL_{service}" for service in SERVICES))
# URLs that the variables had before each current use.
_replaced: List[List[str]] = []


def publish(endpoint: str, space: Space) -> None:
    """Remembers what the variables have from now on."""
    place = place_of(endpoint)
    _places.add(place)
    if accepts_any_key(space):
        _open_places.add(place)
    _keys.add(space.access_key)
    _spaces[place, space.access_key] = space


def accepts_any_key(space: Space) -> bool:
    return getattr(space, "_accepts_any_key", None) is not None


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


def replace(environment: Mapping[str, str]) -> List[str]:
    """Remembers the endpoints of an environment that a use replaces, until restore(). Published ones depend on the key."""
    named = [url for name in VARIABLES_OF_ENDPOINTS if (url := environment.get(name))]
    urls = [url for url in named if place_of(url) not in _places]
    _replaced.append(urls)
    return urls


def restore(urls: List[str]) -> None:
    _replaced[:] = [each for each in _replaced if each is not urls]


def path_at_replaced(url: str) -> Optional[str]:
    """The path of S3 of a URL at an endpoint that a current use has replaced, with the bucket in the path."""
    parts = urlsplit(url)
    for endpoint in {each for urls in _replaced for each in urls}:
        path = path_at(urlsplit(endpoint), parts)
        if path is not None:
            return path
    return None


def path_at(endpoint: SplitResult, parts: SplitResult) -> Optional[str]:
    base, place, host = endpoint.path.rstrip("/"), endpoint.netloc.lower(), parts.netloc.lower()
    if not place or not f"{parts.path}/".startswith(f"{base}/"):
        return None
    path = parts.path[len(base):] or "/"
    if host == place:
        return path
    return f"/{host[: -len(place) - 1]}{path}" if host.endswith(f".{place}") else None


def place_of(url: str) -> str:
    """Host and port."""
    return urlsplit(url).netloc
