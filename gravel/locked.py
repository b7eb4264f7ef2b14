"""Methods of a graph that one thread runs at a time."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


def one_at_a_time(method: Method) -> Method:
    """Let a method of a graph wait for those that other threads run; its own may call each other."""

    @functools.wraps(method)
    def run(graph: Any, /, *given: Any, **asked: Any) -> Any:
        with graph._lock:
            try:
                return method(graph, *given, **asked)
            except KeyboardInterrupt as stopped:
                forget(stopped)
                raise

    return cast(Method, run)


def forget(stopped: KeyboardInterrupt) -> None:
    """Let go of what was cut off: a notebook keeps the traceback, and its frames memory."""
    traceback.clear_frames(stopped.__traceback__)
