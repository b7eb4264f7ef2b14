"""`import gravel` is quick, and brings in what is heavy only when it is needed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

HEAVY = ("cupy", "dask", "numba", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "zarr", "networkx")


def _loaded(code: str) -> list[str]:
    printed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json\nprint(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    return sorted(set(json.loads(printed)) & set(HEAVY))


def test_import_loads_nothing_heavy():
    assert _loaded("import gravel; dir(gravel); gravel.graph; gravel.Graph; gravel.UnknownVertex") == []


def test_a_graph_of_arrays_loads_neither_dask_nor_zarr():
    assert set(_loaded("import gravel; gravel.graph(([1], [2])).bfs(1).levels")) & {"dask", "zarr"} == set()


def test_import_is_quick():
    """Processor time beside that of a module of Python: a busy machine slows both alike."""

    def seconds(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    codes = ("pass", "import asyncio", "import gravel; gravel.graph")
    bare, known, own = (
        min(times) for times in zip(*([seconds(c) for c in codes] for _ in range(5)), strict=True)
    )
    assert own - bare <= 2.2 * (known - bare)


def test_every_name_is_there():
    import gravel

    for name in gravel.__all__:
        assert getattr(gravel, name) is not None
    assert set(gravel.__all__) <= set(dir(gravel))
