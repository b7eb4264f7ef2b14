"""A device that is host memory: the stages' CUDA paths, run where there is no GPU.

Only what the stages themselves ask of CuPy exists; kernels are replaced by their CPU twins.
"""

import importlib
import sys
import types

import numpy
import pytest

from gravel.kernels.csr import rows
from gravel.kernels.order import METHODS, locality, renumber
from gravel.stages.ordering.placing import COMMUNITY


class DeviceArray(numpy.ndarray):
    """Refuses what CuPy refuses: to be read as a host array without being asked."""

    def set(self, values):
        assert type(values) is numpy.ndarray
        assert values.dtype == self.dtype
        self.view(numpy.ndarray)[...] = values

    def get(self, out=None):
        if out is None:
            return self.view(numpy.ndarray).copy()
        out[...] = self.view(numpy.ndarray)
        return out


DeviceArray.__module__ = "cupy._core.core"


def on_device(array):
    return numpy.asarray(array).view(DeviceArray)


@pytest.fixture
def fake_device(monkeypatch):
    """Put the device in place; yields the calls of kernels that were made on it."""
    calls = []
    cupy = types.ModuleType("cupy")
    cupy.empty = lambda count, dtype: on_device(numpy.empty(count, dtype))
    cupy.asarray = on_device
    cupy.asnumpy = lambda array: array.get()
    cupy.get_default_memory_pool = lambda: types.SimpleNamespace(free_all_blocks=lambda: None)
    monkeypatch.setitem(sys.modules, "cupy", cupy)

    def host(array):
        assert isinstance(array, DeviceArray)
        return array.get()

    def build(source, target, vertex_count, choice):
        calls.append("build")
        made = rows.build(host(source), host(target), vertex_count, choice)
        return made._replace(
            row_offsets=on_device(made.row_offsets), column_indices=on_device(made.column_indices)
        )

    class Renumbering:
        def __init__(self, row_offsets, column_indices, permutation):
            calls.append("apply")
            self._host = renumber.Renumbering(host(row_offsets), host(column_indices), host(permutation))
            self.row_offsets = on_device(self._host.row_offsets)

        def ranges(self, arcs_at_once):
            offsets, first = self._host.row_offsets, 0
            while first < len(offsets) - 1:
                fitting = int(numpy.searchsorted(offsets, offsets[first] + arcs_at_once, side="right")) - 1
                assert fitting > first
                yield first, fitting
                first = fitting

        def rows(self, first, last):
            return on_device(self._host.rows(first, last))

    def measure(row_offsets, column_indices, first):
        return locality.statistics(host(row_offsets), host(column_indices), first)

    def order_on_device(method):
        module, function = method.cpu.split(":")
        compute = getattr(importlib.import_module(module), function)

        def find(*arrays, room=None):
            # What is pinned need not fit the device, but communities are told what does.
            assert (room is not None) == (method.name in COMMUNITY and "pin" in calls)
            calls.append(method.name)
            return on_device(compute(*map(host, arrays)))

        return find

    class Pinned:
        def __init__(self, array):
            calls.append("pin")
            self.array = array

        def view(self):
            return on_device(self.array)

    for method in METHODS.values():
        if method.cuda:
            monkeypatch.setattr(method.cuda.replace(":", "."), order_on_device(method))
    monkeypatch.setattr("gravel.kernels.placement.pinned.pin", Pinned)
    monkeypatch.setattr("gravel.kernels.csr.cuda.build", build)
    monkeypatch.setattr("gravel.kernels.order.renumber_cuda.Renumbering", Renumbering)
    monkeypatch.setattr("gravel.kernels.order.locality_cuda.statistics", measure)
    return calls
