"""mock_aws: a server for the duration of a test, as a decorator, a context manager, or between start() and stop()."""

from __future__ import annotations

import copy
import difflib
import functools
import inspect
import unittest
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Type, TypeVar, overload

from ._names import check_names, options_of
from ._options import Options, strings_of
from ._server import Server
from ._uses import SWITCHES, Use, current, start, stop

if TYPE_CHECKING:
    from typing_extensions import Unpack  # Type checkers have it without the package.

# Attribute of an instance of a decorated class: a subclass may skip its setup_method.
ENTERED = "_liteio_entered"
# Similarity to mock_aws of two letters that are swapped. Mocks of moto, such as mock_sqs and mock_acm, have less.
TYPING_ERROR = 0.85
# Services of mocks before moto 5.
NOW_NAMED = {"mock_dynamodb2": "dynamodb"}
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class MockAWS:
    """Points the AWS SDKs of this process at a server in memory for the duration of each use, in place of moto's
    decorators.

    There is one server in a process. It is reset at the start of each use, and a use inside another is the same one.
    It accepts any credentials, any region, ACLs, and encryption without a key of the test. The options are the same as of
    `Server`; a use with options has a server of its own, which is kept for later uses with the same options. With
    access_key, secret_key or profile, credentials are checked as `Server` does. `config` is moto's: {"core": {"mock_credentials": False, "reset_boto3_session": False}}.

    As a decorator, with or without options, it accepts functions, generators, async functions, and classes, each of
    whose tests is a use (with setUp and tearDown, or setup_method and teardown_method). Of a class without tests each public
    method is a use, which finds the data that another one left. As a context manager it returns the `Server`."""

    _continues = False

    def __init__(self, config: Optional[Mapping[str, Any]] = None, **options: Unpack[Options]) -> None:
        given: Dict[str, Any] = {**options}
        # A server is made of them again and again.
        for name in ("arguments", "buckets"):
            if name in given:
                given[name] = strings_of(name, given[name])
        check_options(given)
        self._options = given
        self._switches = None if config is None else switches_of(config)
        self._started: List[Use] = []

    @overload
    def __call__(self, decorated: Decorated) -> Decorated: ...

    @overload
    def __call__(self, *, config: Optional[Mapping[str, Any]] = None, **options: Unpack[Options]) -> MockAWS: ...

    def __call__(self, decorated: Any = None, *, config: Optional[Mapping[str, Any]] = None, **options: Any) -> Any:
        if decorated is not None and not callable(decorated):
            raise TypeError("mock_aws takes options by name, or a function or class to decorate")
        mock = self
        if decorated is None or options or config is not None:
            mock = MockAWS(config, **{**self._options, **options})
        if decorated is None:
            return mock
        if inspect.isclass(decorated):
            return decorate_class(mock, decorated)
        return decorate_function(mock, decorated)

    def start(self) -> Server:
        """Starts a use, which ends with stop()."""
        use = start(self._options, self._switches, continues=self._continues)
        self._started.append(use)
        return use.server

    def stop(self) -> None:
        """Ends the use. The server goes on, so that clients work in the next one.

        As with moto, another mock than the one that was started may stop it."""
        use = self._started.pop() if self._started else current()
        if use is None:
            raise RuntimeError("stop() was called before start()")
        stop(use)

    def reset(self) -> None:
        """Restores the initial state of the server; no effect outside of a use, since each starts with it."""
        use = self._started[-1] if self._started else current()
        if use is not None:
            use.server.reset()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.stop()


def check_options(options: Mapping[str, Any]) -> None:
    """Raises TypeError for what Server refuses: at the decorator, not in the first test."""
    check_names("mock_aws", options, options_of(Server))
    Server(**options)


def absent_mock(name: str) -> str:
    """What to do instead of importing a mock that is not there: a mistyped one, or of another service, such as
    mock_sqs."""
    if difflib.get_close_matches(name.lower(), ["mock_aws"], cutoff=TYPING_ERROR):
        return f"liteio has no {name}: did you mean mock_aws?"
    there = f"liteio has no {name}: its server has S3, S3 Vectors, S3 Tables, IAM and STS, all behind mock_aws"
    if name == "mock_all":
        return there
    service = NOW_NAMED.get(name, name[len("mock_"):])
    return (
        f"{there}. Keep moto for {service}, and let AWS_ENDPOINT_URL_S3 point at a liteio.Server(**liteio.like_moto()) where the "
        "test needs both"
    )


def switches_of(config: Mapping[str, Any]) -> Dict[str, bool]:
    """The part of moto's configuration that has a meaning here; raises TypeError for the rest."""
    core = config.get("core", {})
    others = [name for name in config if name != "core"] + [f"core.{name}" for name in core if name not in SWITCHES]
    if others:
        raise TypeError(f"mock_aws does not have the configuration {', '.join(others)}")
    return {**SWITCHES, **core}


def decorate_function(mock: MockAWS, function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        raise TypeError("mock_aws does not decorate asynchronous generators: use `with mock_aws():` inside")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def in_coroutine(*args: Any, **kwargs: Any) -> Any:
            with mock:
                return await function(*args, **kwargs)

        return in_coroutine
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def in_generator(*args: Any, **kwargs: Any) -> Any:
            with mock:
                return (yield from function(*args, **kwargs))

        return in_generator

    @functools.wraps(function)
    def in_function(*args: Any, **kwargs: Any) -> Any:
        with mock:
            return function(*args, **kwargs)

    return in_function


def decorate_class(mock: MockAWS, decorated: Type[Any]) -> Type[Any]:
    for name, inner in list(vars(decorated).items()):
        # Not classes from elsewhere that are only attributes.
        if inspect.isclass(inner) and inner.__qualname__ == f"{decorated.__qualname__}.{name}":
            decorate_class(mock, inner)
    if issubclass(decorated, unittest.TestCase):
        # run() calls setUp, the test and tearDown.
        decorated.run = decorate_function(mock, decorated.run)  # type: ignore[method-assign]
        return decorated
    if hasattr(decorated, "setup_method") or hasattr(decorated, "teardown_method"):
        surround_methods(mock, decorated)
        return decorated
    tests = [name for name in dir(decorated) if name.startswith("test")]
    if tests:
        decorate_methods(mock, decorated, tests)
    else:
        decorate_methods(continuing(mock), decorated, public_methods_of(decorated))
    return decorated


def public_methods_of(helper: Type[Any]) -> List[str]:
    # As with moto, without those that it inherits. Asynchronous generators cannot be decorated.
    return [name for name, it in vars(helper).items() if not name.startswith("_") and not inspect.isasyncgenfunction(it)]


def decorate_methods(mock: MockAWS, decorated: Type[Any], names: List[str]) -> None:
    for name in names:
        method = inspect.getattr_static(decorated, name)
        if inspect.isfunction(method):
            setattr(decorated, name, decorate_function(mock, method))
        elif isinstance(method, (staticmethod, classmethod)):
            setattr(decorated, name, type(method)(decorate_function(mock, method.__func__)))


def continuing(mock: MockAWS) -> MockAWS:
    """The mock for methods of a helper: as with moto, one finds what another has stored outside of a test."""
    mock = copy.copy(mock)
    mock._started = []
    mock._continues = True
    return mock


def surround_methods(mock: MockAWS, decorated: Type[Any]) -> None:
    """pytest calls setup_method and teardown_method around each test of a class."""
    setup = getattr(decorated, "setup_method", None)
    teardown = getattr(decorated, "teardown_method", None)

    def setup_method(self: Any, method: Any) -> None:
        with ExitStack() as stack:
            stack.enter_context(mock)
            call_with(setup, self, method)
            setattr(self, ENTERED, True)
            stack.pop_all()

    def teardown_method(self: Any, method: Any) -> None:
        with ExitStack() as stack:
            if getattr(self, ENTERED, False):
                setattr(self, ENTERED, False)
                stack.push(mock)
            call_with(teardown, self, method)

    decorated.setup_method = setup_method
    decorated.teardown_method = teardown_method


def call_with(function: Optional[Callable[..., Any]], self: Any, method: Any) -> None:
    """Calls it with or without the method, as pytest allows."""
    if function is None:
        return
    if len(inspect.signature(function).parameters) > 1:
        function(self, method)
    else:
        function(self)


mock_aws = MockAWS()
# Names of moto before its version 5. Each of them is the whole server.
mock_s3 = mock_iam = mock_sts = mock_aws
