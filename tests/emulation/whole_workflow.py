"""A whole workflow on an emulated GPU in this process, with what it asks of CuPy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy
import pytest

from gravel.pipeline.core.hardware import FAKE
from gravel.pipeline.plan.builder import build_plan
from gravel.pipeline.plan.model import Plan
from gravel.pipeline.scheduler import placement
from gravel.pipeline.scheduler.execution import execute
from gravel.pipeline.scheduler.machine import RunOptions
from gravel.pipeline.workflow.loader import load_workflow
from tests.emulation import grid_kernels, strict_cupy

WORKFLOWS = Path(__file__).parents[2] / "workflows"
FREE = 1 << 40
COMES_COMPILED = {
    "sort",
    "max",
    "min",
    "sum",
    "copy",
    "get",
    "set",
    "item",
    "tolist",
    "reshape",
    "ravel",
    "view",
}
"""Methods without a kernel that CuPy compiles; those that reduce do so for whole arrays."""
COPIES = {"array", "asarray", "ascontiguousarray", "zeros", "zeros_like"}

LoadedKernel = tuple[str, tuple[str, ...]]


class Emulated:
    """CuPy for a while, and the operations that it would compile."""

    def __init__(self) -> None:
        self.asked: set[LoadedKernel] = set()

    def load(self, path: str, **macros: object) -> Any:
        """Stand for `gravel.kernels.cuda.load`."""
        if path == "kernels/cuda/wake.cu":  # reads a clock that only a GPU has
            return SimpleNamespace(get_function=lambda name: lambda *given: None)
        return strict_cupy.load(path, **macros)

    def note(self, name: str, *given: Any) -> None:
        """Take note of an operation on arrays."""
        words = [word for each in given for word in _words(each)]
        if name == "diff":  # two slices of the array
            name, words = "subtract", 2 * words
        self.asked.add((name, tuple(words)))


def _words(given: Any) -> Iterator[str]:
    if isinstance(given, strict_cupy.Array):
        yield f"{given.dtype}{'' if given.ndim else ' number'}"
    elif isinstance(given, list | tuple):
        yield from sorted({word for each in given for word in _words(each)})
    elif given is not None:
        yield "number"


def install(patch: pytest.MonkeyPatch) -> Emulated:
    """Let whole runs think that there is a GPU; raises nothing that CuPy would not."""
    found = Emulated()
    patch.setenv(FAKE, "1x80GiB")
    patch.setattr(placement, "MIN_BYTES", 1)
    # Some kernels count on the threads of a block that they are launched with.
    patch.setattr(grid_kernels, "THREADS", 512)
    patch.setattr(grid_kernels.GridKernel, "max_threads_per_block", 512)
    strict_cupy.install(patch)
    for name, module in list(sys.modules.items()):
        if name.startswith("gravel.kernels.") and vars(module).get("load") is strict_cupy.load:
            patch.setattr(module, "load", found.load)
    fake: Any = sys.modules["cupy"]
    fake.cuda.is_available = lambda: False
    fake.cuda.runtime.memGetInfo = lambda: (FREE, FREE)
    fake.cuda.runtime.getDeviceProperties = lambda device: {"name": b"emulated"}
    fake.get_default_pinned_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)
    _note_functions(fake, found)
    _note_methods(patch, found)
    return found


def _note_functions(fake: ModuleType, found: Emulated) -> None:
    def noted(name: str, function: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            found.note(name, *(each for each in given if isinstance(each, strict_cupy.Array | list | tuple)))
            return function(*given, **named)

        return call

    for name in {*strict_cupy.LIKE_NUMPY, "searchsorted"} - COPIES - {"full"}:
        setattr(fake, name, noted(name, getattr(fake, name)))
    full = fake.full

    def filled(*given: Any, **named: Any) -> Any:
        made = full(*given, **named)
        found.note("full", made)
        return made

    fake.full = filled


def _note_methods(patch: pytest.MonkeyPatch, found: Emulated) -> None:
    array = strict_cupy.Array
    ufunc, attribute, item = array.__array_ufunc__, array.__getattr__, array.__getitem__
    assign, get = array.__setitem__, array.get

    def on_ufunc(self: Any, function: Any, method: str, *given: Any, **named: Any) -> Any:
        found.note(function.__name__, *given)
        return ufunc(self, function, method, *given, **named)

    def on_attribute(self: Any, name: str) -> Any:
        value = attribute(self, name)
        if name == "copy" and not self.flags.c_contiguous:
            found.note("gather", self)
        if not callable(value) or name in COMES_COMPILED:
            return value

        def call(*given: Any, **named: Any) -> Any:
            kind = numpy.dtype(given[0]).name if name == "astype" else ""
            if kind != self.dtype.name:
                found.note(f"{name} {kind}".strip(), self)
            return value(*given, **named)

        return call

    def on_item(self: Any, key: Any) -> Any:
        if isinstance(key, list) or (isinstance(key, strict_cupy.Array) and key.ndim):
            found.note("take", self, key if isinstance(key, strict_cupy.Array) else None)
        return item(self, key)

    def on_assignment(self: Any, key: Any, value: Any) -> None:
        if isinstance(value, strict_cupy.Array) and len(self[key]):
            found.note("copy", self, value)
        assign(self, key, value)

    def on_get(self: Any, *given: Any, **named: Any) -> Any:
        if not self.flags.c_contiguous:
            found.note("gather", self)
        return get(self, *given, **named)

    for name, function in (
        ("get", on_get),
        ("__setitem__", on_assignment),
        ("__array_ufunc__", on_ufunc),
        ("__getattr__", on_attribute),
        ("__getitem__", on_item),
    ):
        patch.setattr(array, name, function)


def run(name: str, folder: Path, **parameters: str) -> Plan:
    """Run a workflow of the repository to its end, and return its plan."""
    plan = build_plan(load_workflow(WORKFLOWS / f"{name}.yaml", parameters))
    outcome = execute(plan, RunOptions(folder))
    assert outcome.state == "done", [stage["error"] for stage in outcome.record["stages"]]
    assert outcome.record["cluster"] == "inline, in this process on pretended GPU"
    return plan
