"""Settings of the server of mock_aws, and of one beside moto: what moto allows without a setting is on, unless the test
says otherwise."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any, Dict, Mapping

from ._options import Options, check_environment, strings_of
from ._published import KEYS_OF_MOCKS

if TYPE_CHECKING:
    from typing_extensions import Unpack  # Type checkers have it without the package.

# Variables, since flags of the test go before them.
ALWAYS = {"LITEIO_ALLOW_INSECURE_SSE_C": "true"}
# A profile has an object ownership of its own.
WITHOUT_PROFILE = {"LITEIO_OBJECT_OWNERSHIP": "object-writer"}
# Of data in memory only. Data in a directory is read by other servers, too, which do not have these keys.
MASTER_KEY = "cHVibGljIGtleSBvZiBtb2NrX2F3cyBmb3IgdGVzdHM="
KMS_KEY_FILE = pathlib.Path(__file__).parent / "mock_aws.kms.toml"
# A master key that is given in another way contradicts ours.
MASTER_KEY_FLAG = "--master-key"
MASTER_KEY_VARIABLES = ("LITEIO_MASTER_KEY", "LITEIO_MASTER_KEY_FILE", "MINIO_KMS_SECRET_KEY", "MINIO_KMS_SECRET_KEY_FILE")


def with_defaults(options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of a server that takes what moto takes, with these options of the test."""
    given = dict(options)
    check_environment(given.get("environment"))
    arguments, environment = strings_of("arguments", given.get("arguments", ())), dict(given.get("environment") or {})
    defaults = dict(ALWAYS)
    if given.get("profile") is None:
        defaults.update(WITHOUT_PROFILE)
    if given.get("data_dir") is None:
        defaults["LITEIO_KMS_KEY_FILE"] = str(KMS_KEY_FILE)
        if not any(it.startswith(MASTER_KEY_FLAG) for it in arguments) and not environment.keys() & set(MASTER_KEY_VARIABLES):
            defaults["LITEIO_MASTER_KEY"] = MASTER_KEY
    if checks_no_credentials(given):
        arguments.append("--no-auth")
        # Those of moto. Not the default ones of Server: a session that keeps them would reach the main space of another server.
        given["access_key"], given["secret_key"] = KEYS_OF_MOCKS
    return {**given, "arguments": arguments, "environment": {**defaults, **environment}}


def checks_no_credentials(options: Mapping[str, Any]) -> bool:
    return "access_key" not in options and "secret_key" not in options and options.get("profile") is None


def like_moto(**options: Unpack[Options]) -> Dict[str, Any]:
    """Options of a `Server` that takes what moto takes: any credentials, ACLs, and encryption without a key of the test.
    `Server(**like_moto())` is the one of mock_aws. `options` are further ones of `Server`."""
    return with_defaults(options)
