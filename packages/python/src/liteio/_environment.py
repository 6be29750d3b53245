"""Temporarily sets the variables of this process that AWS SDKs read."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import Any, Iterator

from ._space import Space

# These would select other credentials or another endpoint, or conflict with the new values.
REMOVED = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN",
           "AWS_CREDENTIAL_EXPIRATION", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_ROLE_ARN",
           "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")


@contextmanager
def environment(space: Space) -> Iterator[None]:
    """Points the variables AWS_… of the whole process at a space, and restores them at the end.

    It also replaces boto3's default session meanwhile, because that session caches credentials."""
    values = space.env()
    before = {name: os.environ.get(name) for name in (*values, *REMOVED)}
    os.environ.update(values)
    for name in REMOVED:
        os.environ.pop(name, None)
    boto3: Any = sys.modules.get("boto3")
    session = getattr(boto3, "DEFAULT_SESSION", None)
    if boto3 is not None:
        boto3.DEFAULT_SESSION = None
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        # boto3 may have been imported meanwhile.
        boto3 = sys.modules.get("boto3")
        if boto3 is not None:
            boto3.DEFAULT_SESSION = session
