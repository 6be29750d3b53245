"""Flags and variables of the server that are options of `Server`.

Beside the option they would contradict it, and the clients of the object would not know of them.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, Mapping, Optional

ADDRESS = "use port=…; the server always listens on 127.0.0.1"
DATA = "use data_dir=…; without it the data are in memory"
FLAGS: Dict[str, str] = {
    "--port": "use port=…",
    "-p": "use port=…",
    "--address": ADDRESS,
    "--host": ADDRESS,
    "--access-key": "use access_key=…",
    "--secret-key": "use secret_key=…",
    "--region": "use region=…",
    "--memory": DATA,
    "--data-dir": DATA,
    "-d": DATA,
}
VARIABLES: Dict[str, str] = {
    "LITEIO_PORT": "use port=…",
    "LITEIO_ADDRESS": ADDRESS,
    "LITEIO_HOST": ADDRESS,
    "MINIO_ADDRESS": ADDRESS,
    "LITEIO_ACCESS_KEY": "use access_key=…",
    "LITEIO_ACCESS_KEY_FILE": "use access_key=…",
    "MINIO_ROOT_USER": "use access_key=…",
    "LITEIO_SECRET_KEY": "use secret_key=…",
    "LITEIO_SECRET_KEY_FILE": "use secret_key=…",
    "MINIO_ROOT_PASSWORD": "use secret_key=…",
    "LITEIO_REGION": "use region=…",
    "LITEIO_MEMORY": DATA,
    "LITEIO_IN_MEMORY": DATA,
    "LITEIO_DATA_DIR": DATA,
}

# Variables that have no effect beside the flag of an option, and this flag.
OPTIONS: Dict[str, str] = {"--bucket": "buckets=…", "--seed": "seed=…", "--profile": "profile=…"}
FLAG_BESIDE: Dict[str, str] = {
    "LITEIO_BUCKET": "--bucket",
    "LITEIO_BUCKET_FILE": "--bucket",
    "MINIO_DEFAULT_BUCKETS": "--bucket",
    "initialBuckets": "--bucket",
    "COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS": "--bucket",
    "COM_ADOBE_TESTING_S3MOCK_DOMAIN_INITIAL_BUCKETS": "--bucket",
    "LITEIO_SEED": "--seed",
    "LITEIO_PROFILE": "--profile",
}

# Profiles whose servers check no signature.
OPEN_PROFILES = ("localstack", "s3mock")
TRUE = ("1", "true", "t", "yes", "y", "on")


def check_settings(arguments: Iterable[str], environment: Optional[Mapping[str, str]]) -> None:
    """Raises TypeError for a flag or a variable that is an option of its own."""
    for argument in arguments:
        instead = FLAGS.get(flag_of(argument))
        if instead is not None:
            raise TypeError(f"arguments has {flag_of(argument)}: {instead}")
    for name in environment or {}:
        if name in VARIABLES:
            raise TypeError(f"environment has {name}: {VARIABLES[name]}")


def check_effect(command: Iterable[str], environment: Mapping[str, str]) -> None:
    """Raises TypeError for a variable beside the option that takes its place."""
    flags = {flag_of(argument) for argument in command}
    for name in environment:
        flag = FLAG_BESIDE.get(name)
        if flag is not None and flag in flags:
            raise TypeError(f"environment has {name}, which has no effect beside {OPTIONS[flag]} ({flag}): give one of them")


def check_known(environment: Mapping[str, str], log: str) -> None:
    """Raises TypeError for a variable that the server does not know. It tells so in its log, which nobody reads while
    tests pass."""
    # In the log as text the message ends with the line, in the one as JSON with a quotation mark.
    for told in re.finditer(r'(\w+) is unknown and has no effect[^"\n]*', log):
        if told[1] in environment:
            raise TypeError(f"environment: {told[0]}")


def accepts_any_key(profile: Optional[str], arguments: Iterable[str], environment: Mapping[str, str]) -> Optional[str]:
    """The setting by which a server checks no signature, if it has one."""
    if profile in OPEN_PROFILES:
        return f"profile={profile!r}"
    if any(flag_of(argument) == "--no-auth" for argument in arguments):
        return "--no-auth"
    return "LITEIO_NO_AUTH" if environment.get("LITEIO_NO_AUTH", "").lower() in TRUE else None


def flag_of(argument: str) -> str:
    """The name of a flag without its value: `--port=1` and `-p1` have one."""
    return argument.partition("=")[0] if argument.startswith("--") else argument[:2]
