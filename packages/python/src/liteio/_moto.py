"""moto's mock beside mock_aws: neither works inside the other."""

from __future__ import annotations

import sys
from typing import Any

from ._control import LiteIOError


def refuse_active_moto() -> None:
    """Raises LiteIOError while a mock of moto is active. moto is not imported for it."""
    models: Any = sys.modules.get("moto.core.models")
    if getattr(getattr(models, "botocore_stubber", None), "enabled", False):
        raise LiteIOError(
            "mock_aws of moto is active, and that of liteio does not work together with it: keep moto's alone, and let "
            "AWS_ENDPOINT_URL_S3 point at a liteio.Server(arguments=['--no-auth'])"
        )
