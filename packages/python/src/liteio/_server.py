"""A server in its own process."""

from __future__ import annotations

import atexit
import os
from typing import Dict, List, Mapping, Optional, TypeVar

from ._binary import find_binary
from ._control import Control, LiteIOError
from ._filesystems import forget_filesystems
from ._names import with_known_names
from ._options import Path, Strings, check_environment, check_strings, strings_of
from ._process import Process
from ._settings import accepts_any_key, check_effect, check_known, check_settings
from ._space import Space, inherited_environment

ServerType = TypeVar("ServerType", bound="Server")
PROFILES = {"minio": ("minioadmin", "minioadmin")}
CREDENTIALS = ("liteio", "liteio123")
OF_SERVER = "a space starts with the buckets and the seed of its server, Server("


class Server(Space):
    """A server on this machine, and its main space.

    It keeps everything in memory unless `data_dir` is given. `buckets` are created at start, each
    NAME[:public|download|upload][:versioned|locked]; `seed` is a directory or an archive whose directories become buckets;
    `profile` is "minio", "localstack" or "s3mock". `arguments` are additional flags of `liteio server`, `environment`
    additional variables, but none that is an option here; the server does not inherit variables of this process that
    would be settings of it. It listens on a free port of 127.0.0.1, or on `port`, and accepts every region, unless
    `region` is given.

    `with` or start() starts it. It stops at the end of the `with`, by stop(), or when this process ends for any reason.
    """

    @with_known_names("Server")
    def __init__(
        self,
        *,
        data_dir: Optional[Path] = None,
        buckets: Strings = (),
        seed: Optional[Path] = None,
        profile: Optional[str] = None,
        access_key: Optional[str] = None,
        secret_key: Optional[str] = None,
        region: Optional[str] = None,
        port: Optional[int] = None,
        binary: Optional[Path] = None,
        arguments: Strings = (),
        environment: Optional[Mapping[str, str]] = None,
    ) -> None:
        buckets, arguments = strings_of("buckets", buckets), strings_of("arguments", arguments)
        check_strings(profile=profile, access_key=access_key, secret_key=secret_key, region=region)
        check_environment(environment)
        for name, path in (("data_dir", data_dir), ("seed", seed), ("binary", binary)):
            if path is not None and not isinstance(path, (str, os.PathLike)):
                raise TypeError(f"{name} is one path, not {path!r}")
        check_settings(arguments, environment)
        default_access_key, default_secret_key = PROFILES.get(profile or "", CREDENTIALS)
        super().__init__(
            None,
            name=None,
            endpoint="",
            access_key=access_key or default_access_key,
            secret_key=secret_key or default_secret_key,
            region=region or "us-east-1",
        )
        self._process: Optional[Process] = None
        self._binary = binary
        self._is_in_memory = data_dir is None
        self._command: List[str] = ["--address", f"127.0.0.1:{port or 0}"]
        if region is not None:
            self._command += ["--region", region]
        self._command += ["--memory"] if data_dir is None else ["--data-dir", os.fspath(data_dir)]
        for bucket in buckets:
            self._command += ["--bucket", bucket]
        if seed is not None:
            self._command += ["--seed", os.fspath(seed)]
        if profile is not None:
            self._command += ["--profile", profile]
        self._command += arguments
        self._given_environment = dict(environment or {})
        check_effect(self._command, self._given_environment)
        self._accepts_any_key = accepts_any_key(profile, arguments, self._given_environment)
        self._environment = inherited_environment({
            "LITEIO_ACCESS_KEY": self.access_key,
            "LITEIO_SECRET_KEY": self.secret_key,
            "LITEIO_LOG": "warn",
            "LITEIO_TEST_API": "local",
            **self._given_environment,
        })

    @property
    def endpoint(self) -> str:
        if self._process is None:
            raise LiteIOError("the server is not running: use it in a `with`, or call start()")
        return self._endpoint

    @property
    def log(self) -> str:
        """Last lines of the server log: warnings, unless `environment` sets another LITEIO_LOG."""
        return self._process.log if self._process else ""

    def is_running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._process is not None

    def start(self: ServerType) -> ServerType:
        """Starts the server and waits until it is ready; no effect if it is running.

        Raises StartFailed with the output of the server, BinaryNotFound, and TypeError for a variable of `environment` that
        the server does not know."""
        if self._process is None:
            process = Process([find_binary(self._binary), "server", *self._command], self._environment)
            try:
                check_known(self._given_environment, process.log)
            except TypeError:
                process.stop()
                raise
            atexit.register(process.stop)
            self._process = process
            self._endpoint = process.endpoint
            self._control_of_server = Control(process.endpoint)
            forget_filesystems()
        return self

    def stop(self) -> None:
        """Shuts the server down; no effect if it is not running."""
        process, self._process = self._process, None
        if process is not None:
            atexit.unregister(process.stop)
            self._endpoint = ""
            self._control_of_server = None
            process.stop()

    def close(self) -> None:
        self.stop()

    @with_known_names(
        "space()",
        buckets=f"{OF_SERVER}buckets=…)",
        seed=f"{OF_SERVER}seed=…)",
    )
    def space(self, name: Optional[str] = None) -> Space:
        """Creates a space of this server, isolated from the others. A name is generated if none is given.

        Raises LiteIOError for a server that checks no signature."""
        if self._accepts_any_key is not None:
            raise LiteIOError(
                f"{self._accepts_any_key} accepts any key, and a space is found by its own: requests with other keys would "
                "reach the main space, which all tests share. Leave it out (like_moto(access_key=…, secret_key=…) does), or "
                "use mock_aws, or `with liteio.environment(server):` and server.reset() for each test"
            )
        if name is not None and not isinstance(name, str):
            raise TypeError(f"the name of a space is a text, not {name!r}")
        body: Dict[str, str] = {} if name is None else {"name": name}
        answer = self._control.call("POST", "/spaces", body=body)
        forget_filesystems()
        return Space(
            self._control,
            name=answer["name"],
            endpoint=self.endpoint,
            access_key=answer["access_key"],
            secret_key=answer["secret_key"],
            region=answer.get("region") or self.region,
        )

    def spaces(self) -> List[str]:
        """Names of all spaces except the main one."""
        return [space["name"] for space in self._control.call("GET", "/spaces")["spaces"]]

    def __enter__(self: ServerType) -> ServerType:
        return self.start()
