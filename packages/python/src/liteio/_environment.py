"""Temporarily sets the variables of this process that AWS SDKs read."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import Any, ContextManager, Dict, Iterator, Optional, Tuple, TypeVar

from ._filesystems import forget_filesystems
from ._published import replace, restore
from ._redirect import Target, redirect
from ._space import Space

SpaceType = TypeVar("SpaceType", bound=Space)
# These would redirect to another endpoint, or conflict with the new values.
REMOVED_OF_ENDPOINT = ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT")
# These would select other credentials.
REMOVED_OF_CREDENTIALS = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN",
                          "AWS_CREDENTIAL_EXPIRATION", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE")
CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")


@contextmanager
def environment(space: SpaceType) -> Iterator[SpaceType]:
    """Points the variables AWS_… of the whole process at a space, and restores them at the end. Returns the space.

    It also replaces boto3's default session meanwhile, because that session caches credentials, and empties the cache of
    s3fs. What clients of botocore and aiobotocore that were made before send to AWS, or to where the variables pointed then,
    goes to the space, with its keys. So does what any client sends to an endpoint that the variables have before the use."""
    if not isinstance(space, Space):
        raise TypeError(f"environment takes a Server that runs, or a space of it, not {space!r}")
    values, removed = space.env(), (*REMOVED_OF_ENDPOINT, *REMOVED_OF_CREDENTIALS)
    with set_meanwhile(values, removed, True), redirect(Target(space.endpoint, space)):
        yield space


def environment_of_mock(
    space: Space, *, region: Optional[str], mock_credentials: bool, reset_boto3_session: bool
) -> ContextManager[None]:
    """The same for mock_aws: a region of the environment stays unless one is given, and so do the credentials if
    mock_credentials is false."""
    values = space.env()
    if region is None:
        values.update(region_of_environment())
    removed = REMOVED_OF_ENDPOINT + (REMOVED_OF_CREDENTIALS if mock_credentials else ())
    if not mock_credentials:
        values = {name: value for name, value in values.items() if name not in CREDENTIALS}
    return set_meanwhile(values, removed, reset_boto3_session)


def region_of_environment() -> Dict[str, str]:
    """Both variables, if the process has one: botocore reads AWS_DEFAULT_REGION alone, and others AWS_REGION first."""
    found = {name: value for name in REGION if (value := os.environ.get(name))}
    return {**dict.fromkeys(REGION, next(iter(found.values()))), **found} if found else {}


@contextmanager
def set_meanwhile(values: Dict[str, str], removed: Tuple[str, ...], new_default_session: bool) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (*values, *removed)}
    replaced = replace(os.environ)
    os.environ.update(values)
    for name in removed:
        os.environ.pop(name, None)
    boto3: Any = sys.modules.get("boto3")
    session = getattr(boto3, "DEFAULT_SESSION", None)
    if boto3 is not None and new_default_session:
        boto3.DEFAULT_SESSION = None
    forget_filesystems()
    try:
        yield
    finally:
        restore(replaced)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        # boto3 may have been imported meanwhile.
        boto3 = sys.modules.get("boto3")
        if boto3 is not None and new_default_session:
            boto3.DEFAULT_SESSION = session
        forget_filesystems()
