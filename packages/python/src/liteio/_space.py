"""A space: its own buckets, vector buckets and users, selected by its credentials."""

from __future__ import annotations

import importlib
import os
import urllib.parse
from types import TracebackType
from typing import Any, Dict, List, Optional, Type, TypeVar, Union

from ._arrived import last_of, matched
from ._clock import Clock
from ._control import Control, LiteIOError, TestApiError, WaitTimeout, segment
from ._faults import Fault
from ._filesystems import forget_filesystems
from ._names import check_numbers, check_seconds, with_known_names
from ._records import Event, RecordedRequest
from ._refusals import refusal_of, respond

Self = TypeVar("Self", bound="Space")
# Socket timeout in addition to the waiting time of the server.
WAIT_MARGIN_SECONDS = 10.0
# Attribute of requests of the clients that a space makes: they go to its server, wherever the variables point.
NAMES_ITS_SERVER = "_liteio_names_its_server"
SERVICES = ("S3", "S3VECTORS", "IAM", "STS")


class Space:
    """A space of a server. As a context manager it deletes itself at the end."""

    def __init__(
        self,
        control: Optional[Control],
        *,
        name: Optional[str],
        endpoint: str,
        access_key: str,
        secret_key: str,
        region: str,
    ) -> None:
        self._control_of_server = control
        self._is_closed = False
        #: Name of the space; None for the main space of a server.
        self.name = name
        self._endpoint = endpoint
        self.access_key = access_key
        self.secret_key = secret_key
        self.region = region

    @property
    def endpoint(self) -> str:
        """The URL of S3, S3 Vectors, IAM and STS, such as http://127.0.0.1:41529."""
        return self._endpoint

    @property
    def test_endpoint(self) -> str:
        """The URL of the test API."""
        return f"{self.endpoint}/_liteio/test"

    @property
    def _control(self) -> Control:
        if self._control_of_server is None:
            raise LiteIOError("the server is not running: use it in a `with`, or call start()")
        return self._control_of_server

    def env(self) -> Dict[str, str]:
        """Variables that point AWS SDKs and the AWS CLI at this space."""
        services = {f"AWS_ENDPOINT_URL_{service}": self.endpoint for service in SERVICES}
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            **services,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ALLOW_HTTP": "true",  # Of delta-rs and others with the crate object_store: they refuse plain HTTP without it.
            "LITEIO_ENDPOINT": self.endpoint,
            "LITEIO_TEST_ENDPOINT": self.test_endpoint,
            # Of the alias `local` of `liteio client` and mc, which is a server on port 9000 otherwise.
            "MC_HOST_local": self.endpoint.replace("://", f"://{self.access_key}:{self.secret_key}@", 1),
            **self._no_proxy(),
        }

    def _no_proxy(self) -> Dict[str, str]:
        """Variables that exclude the server from proxies, in addition to the existing exclusions."""
        host = urllib.parse.urlsplit(self.endpoint).hostname or ""
        before = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
        hosts = [it.strip() for it in before.split(",") if it.strip()]
        direct = ",".join(hosts if host in hosts else [*hosts, host])
        return {"NO_PROXY": direct, "no_proxy": direct}

    def session(self) -> Any:
        """A boto3 session with the credentials of this space. It ignores the profile of the environment."""
        try:
            boto3: Any = importlib.import_module("boto3")  # boto3 and botocore have no types.
        except ImportError as error:
            raise LiteIOError("boto3 is not installed: pip install boto3") from error
        botocore: Any = importlib.import_module("botocore.session")
        # A missing profile would be an error, although it is not used.
        without_profile = botocore.Session(session_vars={"profile": (None, None, None, None)})
        without_profile.register("before-send", self._name_its_server)
        return boto3.Session(
            botocore_session=without_profile,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name=self.region,
        )

    def _name_its_server(self, request: Any, **_: Any) -> Any:
        """A handler of botocore, which sends the request if it returns None."""
        setattr(request, NAMES_ITS_SERVER, True)
        refusal = refusal_of(request, self._endpoint, checks_location=False)
        return None if refusal is None else respond(refusal, request.url)

    def client(self, service: str = "s3", **options: Any) -> Any:
        """A boto3 client: "s3", "s3vectors", "iam" or "sts". It uses no proxy, unless its `config` names one."""
        return self.session().client(service, endpoint_url=self.endpoint, **direct(options))

    def resource(self, service: str = "s3", **options: Any) -> Any:
        """A boto3 resource. It uses no proxy, unless its `config` names one."""
        return self.session().resource(service, endpoint_url=self.endpoint, **direct(options))

    @with_known_names("reset()")
    def reset(self, *, bucket: Optional[str] = None) -> None:
        """Restores the initial state of this space: the buckets and the seed of the server, without users, faults,
        clock changes, requests and events. Snapshots stay.

        With `bucket` only that bucket is as it was created, with the seed: all versions and settings are gone."""
        body = None if bucket is None else {"bucket": bucket}
        self._control.call("POST", "/reset", query={"space": self.name}, body=body)
        forget_filesystems()

    def snapshot(self, name: str) -> None:
        """Saves the complete state under a name, in memory. It replaces a snapshot of that name."""
        self._control.call("PUT", f"/snapshots/{segment(name)}", query={"space": self.name})

    def restore(self, name: str) -> None:
        """Restores the complete state of a snapshot."""
        self._control.call("POST", f"/snapshots/{segment(name)}/restore", query={"space": self.name})
        forget_filesystems()

    def snapshots(self) -> List[str]:
        """Names of the snapshots."""
        answer = self._control.call("GET", "/snapshots", query={"space": self.name})
        return [snapshot["name"] for snapshot in answer["snapshots"]]

    def delete_snapshot(self, name: str) -> None:
        self._control.call("DELETE", f"/snapshots/{segment(name)}", query={"space": self.name})

    @with_known_names("fault()")
    def fault(
        self,
        *,
        operation: Optional[str] = None,
        bucket: Optional[str] = None,
        key: Optional[str] = None,
        status: Optional[int] = None,
        code: Optional[str] = None,
        message: Optional[str] = None,
        latency_ms: Optional[int] = None,
        cut_after_bytes: Optional[int] = None,
        bandwidth: Optional[int] = None,
        times: Optional[int] = None,
        probability: Optional[float] = None,
    ) -> Fault:
        """Makes matching requests fail (`status`, `code`, `message`), slows them down (`latency_ms`, `bandwidth` in
        bytes per second), or cuts them off (`cut_after_bytes` of the answer's body).

        `operation`, `bucket` and `key` (of S3 Vectors: vector bucket and index) are patterns with * and ?; `times` and
        `probability` limit the rule. It is active until `remove()`, `clear_faults()` or `reset()`, or the end of a
        `with`."""
        check_numbers(
            status=status, latency_ms=latency_ms, cut_after_bytes=cut_after_bytes, bandwidth=bandwidth, times=times
        )
        given = dict(
            operation=operation, bucket=bucket, key=key, status=status, code=code, message=message,
            latency_ms=latency_ms, cut_after_bytes=cut_after_bytes, bandwidth=bandwidth, times=times,
            probability=probability, space=self.name,
        )
        rule = {name: value for name, value in given.items() if value is not None}
        for name, value in rule.items():
            if isinstance(value, (int, float)) and value < 0:
                raise ValueError(f"{name} is not negative, but {value}")
        answer = self._control.call("POST", "/faults", body=rule)
        return Fault(self._control, self.name, answer["id"], rule)

    def faults(self) -> List[Fault]:
        """The active rules."""
        answer = self._control.call("GET", "/faults", query={"space": self.name})
        return [Fault(self._control, self.name, fault["id"], fault) for fault in answer["faults"]]

    def clear_faults(self) -> None:
        self._control.call("DELETE", "/faults", query={"space": self.name})

    @property
    def clock(self) -> Clock:
        return Clock(self._control, self.name)

    @with_known_names("requests()")
    def requests(
        self,
        *,
        operation: Optional[str] = None,
        bucket: Optional[str] = None,
        key: Optional[str] = None,
        method: Optional[str] = None,
        status: Optional[Union[int, str]] = None,
        user: Optional[str] = None,
        since: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> List[RecordedRequest]:
        """The recorded requests that match, oldest first. A request is recorded shortly after its answer:
        use wait_for_request() right after a request. The filters are patterns with * and ?, such as
        operation="Put*" or status="5??"; `since` is a sequence number. `user` is the access key of the owner of the
        space, or an ARN: arn:aws:iam::000000000000:user/bob, arn:aws:sts::000000000000:assumed-role/ROLE/SESSION."""
        query = dict(
            operation=operation, bucket=bucket, key=key, method=method, status=status, user=user, since=since,
            limit=limit, space=self.name,
        )
        answer = self._control.call("GET", "/requests", query=query)
        return [RecordedRequest.read(record) for record in answer["requests"]]

    def clear_requests(self) -> None:
        self._control.call("DELETE", "/requests", query={"space": self.name})

    @with_known_names("wait_for_request()")
    def wait_for_request(
        self,
        *,
        operation: Optional[str] = None,
        bucket: Optional[str] = None,
        key: Optional[str] = None,
        method: Optional[str] = None,
        status: Optional[Union[int, str]] = None,
        user: Optional[str] = None,
        since: Optional[int] = None,
        count: int = 1,
        timeout: float = 10.0,
    ) -> List[RecordedRequest]:
        """Waits for `count` matching requests, including earlier ones, and returns them.

        Raises WaitTimeout after `timeout` seconds."""
        filters = dict(
            operation=operation, bucket=bucket, key=key, method=method, status=status, user=user, since=since
        )
        answer = self._wait("requests", filters, count, timeout)
        return [RecordedRequest.read(record) for record in answer["requests"]]

    @with_known_names("wait_for_event()")
    def wait_for_event(
        self,
        *,
        bucket: Optional[str] = None,
        key: Optional[str] = None,
        name: Optional[str] = None,
        since: Optional[int] = None,
        count: int = 1,
        timeout: float = 10.0,
    ) -> List[Event]:
        """Waits for `count` matching events, including earlier ones, without a notification configuration, and returns
        them. The filters are patterns, such as name="s3:ObjectCreated:*".

        Raises WaitTimeout after `timeout` seconds."""
        filters = dict(bucket=bucket, key=key, name=name, since=since)
        answer = self._wait("events", filters, count, timeout)
        return [Event.read(record) for record in answer["events"]]

    def _wait(self, what: str, filters: Dict[str, Any], count: int, timeout: float) -> Any:
        check_numbers(count=count)
        check_seconds(timeout)
        query = {**filters, "count": count, "space": self.name}
        try:
            return self._control.call(
                "GET",
                f"/{what}/wait",
                query={**query, "timeout_ms": max(1, round(timeout * 1000))},
                seconds_max=timeout + WAIT_MARGIN_SECONDS,
            )
        except TestApiError as error:
            if error.status != 408:
                raise
            seen = matched(error.message, count, what)
            given = ", ".join(f"{name}={value!r}" for name, value in filters.items() if value is not None)
            last = last_of(self._control, what, self.name, with_users=filters.get("user") is not None)
            raise WaitTimeout(f"{' '.join(filter(None, (seen, given)))} within {timeout} s; {last}") from None

    def close(self) -> None:
        """Deletes the space and its contents. One that is deleted already stays so."""
        if self.name is not None:
            self._control.delete(f"/spaces/{segment(self.name)}")
            self._is_closed = True

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._endpoint or 'not running'}, access_key={self.access_key!r})"


def inherited_environment(given: Optional[Dict[str, str]]) -> Dict[str, str]:
    """Variables of this process without server settings, plus the given ones."""
    foreign = ("LITEIO_", "MINIO_", "AWS_", "COM_ADOBE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, **(given or {})}


def direct(options: Dict[str, Any]) -> Dict[str, Any]:
    """Client options that ignore proxies of the environment."""
    botocore: Any = importlib.import_module("botocore.config")  # boto3 and botocore have no types.
    config = botocore.Config(proxies={})
    given = options.get("config")
    return {**options, "config": config if given is None else config.merge(given)}
