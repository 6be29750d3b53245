"""mock_s3: a server for the duration of a test, as a decorator or a context manager."""

from __future__ import annotations

import functools
import inspect
import unittest
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Callable, List, Optional, Type, TypeVar, overload

from ._environment import environment
from ._server import Server

# Attribute of an instance of a decorated class: a subclass may skip its setup_method.
ENTERED = "_liteio_entered"
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class MockS3:
    """Starts a server in memory for each use, and points the variables AWS_… of the process at it meanwhile.

    As a decorator, with or without options of `Server`, it accepts functions, generators, async functions, and
    classes, whose methods `test…` get a server each (with setUp and tearDown, or setup_method and
    teardown_method). As a context manager it returns the `Server`."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._entered: List[ExitStack] = []

    @overload
    def __call__(self, decorated: Decorated) -> Decorated: ...

    @overload
    def __call__(self, **options: Any) -> MockS3: ...

    def __call__(self, decorated: Any = None, **options: Any) -> Any:
        if decorated is None:
            return MockS3(**{**self._options, **options})
        if options or not callable(decorated):
            raise TypeError("mock_s3 takes options by name, or a function or class to decorate")
        if inspect.isclass(decorated):
            return decorate_class(self, decorated)
        return decorate_function(self, decorated)

    def __enter__(self) -> Server:
        with ExitStack() as stack:
            server = stack.enter_context(Server(**self._options))
            stack.enter_context(environment(server))
            self._entered.append(stack.pop_all())
        return server

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._entered.pop().close()


def decorate_function(mock: MockS3, function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):
        raise TypeError("mock_s3 does not decorate asynchronous generators: use `with mock_s3():` inside")
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


def decorate_class(mock: MockS3, decorated: Type[Any]) -> Type[Any]:
    if issubclass(decorated, unittest.TestCase):
        # run() calls setUp, the test and tearDown.
        decorated.run = decorate_function(mock, decorated.run)  # type: ignore[method-assign]
        return decorated
    if hasattr(decorated, "setup_method") or hasattr(decorated, "teardown_method"):
        surround_methods(mock, decorated)
        return decorated
    for name in dir(decorated):
        if name.startswith("test"):
            method = inspect.getattr_static(decorated, name)
            if inspect.isfunction(method):
                setattr(decorated, name, decorate_function(mock, method))
            elif isinstance(method, (staticmethod, classmethod)):
                setattr(decorated, name, type(method)(decorate_function(mock, method.__func__)))
    return decorated


def surround_methods(mock: MockS3, decorated: Type[Any]) -> None:
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


mock_s3 = MockS3()
