"""Who waits for a CUDA kernel that is compiled anew is told which; one of the cache on disk is not named."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.cuda.named import named, tell_if_compiled

PATH, NAME = "kernels/bfs/cuda/persistent.cu", "bfs/cuda/persistent.cu"


@pytest.fixture(params=["compile_using_nvrtc", "_compile_using_nvrtc_no_warning"])
def compile_text(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Compile as a version of CuPy does."""

    def compile_using_nvrtc(source: str, wait: Callable[[], Any] = lambda: None) -> str:
        wait()
        return source

    fake = SimpleNamespace(**{"compile_using_nvrtc": compile_using_nvrtc, request.param: compile_using_nvrtc})
    monkeypatch.setitem(sys.modules, "cupy.cuda.compiler", fake)
    return lambda *given: getattr(fake, request.param)(*given)


def test_a_kernel_is_named_while_it_is_compiled(compile_text: Callable[..., Any]) -> None:
    told: list[str | None] = []
    with COMPILE_TIME.listened(told.append) as kernels:
        for _ in range(2):
            with COMPILE_TIME.counted(), named(PATH):
                assert compile_text("text") == "text"
                assert told[-1] == NAME
    assert told == [NAME, None, NAME, None]
    assert kernels == [NAME]


def test_what_the_cache_has_and_what_is_cupys_own_is_not_named(compile_text: Callable[..., Any]) -> None:
    told: list[str | None] = []
    with COMPILE_TIME.listened(told.append):
        with COMPILE_TIME.counted(), named(PATH):
            pass
        compile_text("text")
    assert told == []


def test_a_kernel_that_another_thread_compiles_is_named_where_it_is_waited_for(
    compile_text: Callable[..., Any],
) -> None:
    begun, end = threading.Event(), threading.Event()

    def ahead() -> None:
        COMPILE_TIME.leave_out_this_thread()
        with named(PATH):
            compile_text("text", lambda: begun.set() or (end.wait() and None))

    told: list[str | None] = []
    thread = threading.Thread(target=ahead)
    with COMPILE_TIME.listened(told.append):
        thread.start()
        begun.wait()
        assert told == [], "nobody waits"
        with COMPILE_TIME.counted():
            tell_if_compiled("kernels/bfs/cuda/host_rows.cu")
            tell_if_compiled(PATH)
            end.set()
            thread.join()
            tell_if_compiled(PATH)
    assert told == [NAME, None]


@pytest.mark.parametrize("compiler", [None, SimpleNamespace()])
def test_another_cupy_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, compiler: Any) -> None:
    monkeypatch.setitem(sys.modules, "cupy.cuda.compiler", compiler)
    with named(PATH):
        pass


ANEW = """
from gravel.kernels.compile_time import COMPILE_TIME
from gravel.kernels.cuda import load

told = []
with COMPILE_TIME.listened(told.append):
    load("kernels/csr/build.cu", VERTEX="u32")
print(told)
"""


@pytest.mark.gpu
def test_a_kernel_is_named_the_first_time_on_a_machine(tmp_path: Path) -> None:
    there = {**os.environ, "CUPY_CACHE_DIR": str(tmp_path)}
    run = partial(subprocess.run, [sys.executable, "-c", ANEW], env=there, stdout=subprocess.PIPE, text=True)
    told = [run().stdout.strip() for _ in range(2)]
    assert told == ["['csr/build.cu', None]", "[]"]
