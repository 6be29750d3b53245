"""moto's mock beside mock_aws and the fixtures: neither works inside the other."""

from __future__ import annotations

import os
import sys
from typing import Any, Optional

from ._control import LiteIOError


# Of docs/python.md.
RECIPE = "keep moto's alone, and let AWS_ENDPOINT_URL_S3 point at a liteio.Server(**liteio.like_moto())"


def is_moto_active() -> bool:
    """Whether a mock of moto is active. moto is not imported for it."""
    models: Any = sys.modules.get("moto.core.models")
    return bool(getattr(getattr(models, "botocore_stubber", None), "enabled", False))


def refuse_active_moto() -> None:
    """Raises LiteIOError while a mock of moto is active."""
    if is_moto_active():
        raise LiteIOError(f"mock_aws of moto is active, and that of liteio does not work together with it: {RECIPE}")


def refuse_keys_of_moto(key: Optional[str], of_space: str) -> None:
    """Raises LiteIOError for a key that an active mock of moto has put into the variables, in the place of the space's."""
    if key != of_space and key == os.environ.get("AWS_ACCESS_KEY_ID") and is_moto_active():
        raise LiteIOError(
            f"mock_aws of moto is active, and the variables AWS_… have its keys, not those of the space: {RECIPE}"
        )
