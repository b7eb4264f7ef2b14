"""A run whose report has every kind of picture, made up without running anything."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy

from gravel.pipeline.report.page import write_run_report
from gravel.pipeline.report.server import ReportServer
from gravel.pipeline.store.cache import Cache
from gravel.stages.artifact import Artifact
from gravel.stages.artifacts import CompressedGraph, Graph, Measurement, Ordering, Traversal
from gravel.stages.context import PlainContext
from gravel.stages.report import ReportParameters, report
from tests.pipeline.run_records import STAGE, whole
from tests.stages.measured import searched
from tests.zoo import zoo

ORDERS = {"original": 9.5, "rcm": 9.0, "degree": 8.6}


def _graphs() -> dict[str, Artifact]:
    one = next(graph for graph in zoo() if graph.name == "skewed_random")
    offsets, columns = one.csr()
    n = one.vertex_count
    size = {"vertex_count": n, "arc_count": len(columns), "symmetric": True, "deduplicated": True}
    common: dict[str, Any] = {**size, "row_offsets": offsets, "column_indices": columns}
    found: dict[str, Artifact] = {"graph": Graph(**common)}
    for order, bits in ORDERS.items():
        found[f"ordered[order={order}]"] = Ordering(
            **common, permutation=numpy.arange(n), method=order, statistics={"mean_gap": 10 * bits}
        )
        for layout, each in (("csr", 32.0), ("varint", bits)):
            found[f"packed[order={order},layout={layout}]"] = CompressedGraph(
                byte_offsets=offsets, stream=columns, codec=layout, statistics={"bits_per_arc": each}, **size
            )
    return found


def study() -> dict[str, Artifact]:
    """Orders by layouts, with the bits and times of each."""
    found = _graphs()
    for place, order in enumerate(ORDERS):
        for layout in ("csr", "varint"):
            found[f"bfs[order={order},layout={layout}]"] = searched(
                "two_phase", 1.0 + place, times=(0.8, 1.0, 1.3), levels=5
            )
    n = 300
    found["parts"] = Traversal(
        algorithm="components", component=numpy.sqrt(numpy.arange(n) // 3).astype(numpy.int64), vertex_count=n
    )
    return found


def suite() -> dict[str, Measurement]:
    """Strategies on two graphs, counted."""
    return {
        f"bfs[graph={graph},strategy={strategy}]": searched(
            strategy, 1.0 + place + at, graph=graph, counted=strategy != "serial", levels=6 + at
        )
        for at, graph in enumerate(("grid", "kron"))
        for place, strategy in enumerate(("serial", "two_phase", "hybrid"))
    }


def scaling() -> dict[str, Measurement]:
    """Strong scaling over ranks, weak scaling over sizes that name their workers, and times along a scale."""
    strong = {f"bfs[ranks={ranks}]": searched("two_phase", 8 / ranks**0.8) for ranks in (1, 2, 4, 8)}
    weak = {
        f"grown[size={name},workers={count}]": searched(
            "hybrid", 1 + count / 10, graph=name, arcs=900 * count
        )
        for name, count in (("small", 1), ("middle", 2), ("large", 4))
    }
    return strong | weak


def along() -> dict[str, Measurement]:
    """Times along a scale, some of them measured again."""
    found = {
        f"bfs[scale={scale},strategy={strategy}]": searched(
            strategy, 2.0 ** (scale - 10) * factor, graph=str(scale), arcs=2**scale
        )
        for scale in (10, 12, 14)
        for strategy, factor in (("serial", 2.0), ("two_phase", 0.5))
    }
    again = {f"{label[:-1]},repeat=2]": searched(one.strategy, 1.1) for label, one in found.items()}
    return found | again


def sections(inputs: dict[str, Any]) -> list[dict[str, Any]]:
    """Make the sections of a report on labelled artifacts."""
    parameters = ReportParameters(title="Findings", labels=tuple(inputs))
    return report(PlainContext(), parameters, inputs=tuple(inputs.values())).sections


def stage_run(key: str, **values: Any) -> dict[str, Any]:
    """One stage run of a record."""
    name = key.partition("[")[0]
    own = {"key": key, "entry": name, "stage": name, "seconds": 1.25, "bytes": 2048, "peak_host_bytes": 4096}
    return STAGE | own | {"why": ["not computed before"], **values}


def record(run: str, stages: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
    """The record of a run of these stage runs."""
    workflow = {
        "name": "sample",
        "about": "Every kind of picture.",
        "path": "sample.yaml",
        "parameters": {"source": {"rmat": {"scale": 10, "edge_factor": 16}}, "files": {}},
        "matrix": {"order": list(ORDERS), "layout": ["csr", "varint"]},
    }
    started = {"started": "2026-11-20T10:00:00", "seconds": 3.5, "machine": {"cores": 2}}
    return {"run": run, "state": "done", "workflow": workflow, "stages": stages, **started, **values}


def write_sample(folder: Path, *, static: bool = False) -> tuple[Path, list[str]]:
    """Write the report of a run with all of it; returns the page and the titles of its figures on it.

    A `static` page has drawings in the place of charts.
    """
    parts = {make.__name__: make() for make in (study, suite, scaling, along)}
    made = {name: sections(inputs) for name, inputs in parts.items()}
    titles = [
        each["title"]
        for one in made.values()
        for each in one
        if each["kind"] == "figure" and each["part"] != "data"
    ]
    return write_made(folder, parts, made, static=static), titles


def write_report(folder: Path, parts: dict[str, dict[str, Any]]) -> Path:
    """Write the page of a run with these reports, each of these labelled artifacts."""
    return write_made(folder, parts, {name: sections(inputs) for name, inputs in parts.items()})


def write_made(
    folder: Path, parts: dict[str, Any], made: dict[str, list[dict[str, Any]]], *, static: bool = False
) -> Path:
    """Write the page of a run with reports that hold these sections."""
    keys = [key for inputs in parts.values() for key in inputs]
    runs = [stage_run(key) for key in dict.fromkeys(keys)]
    runs += [stage_run(name, stage="report", upstream=list(parts[name]), outputs=[name]) for name in parts]

    def describe(name: str) -> Any:
        return SimpleNamespace(kind="Report", attributes={"title": f"The {name}", "sections": made[name]})

    cache = cast("Cache", SimpleNamespace(describe=describe, look_up=lambda recipe: None))
    folder.mkdir(parents=True, exist_ok=True)
    return write_run_report(folder, record(folder.name, runs), cache, static=static)


@contextmanager
def running(server: ReportServer) -> Iterator[str]:
    """Serve in a thread; yields the address."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.address
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def write_record(root: Path, record: Mapping[str, Any]) -> Path:
    """Write `run.json` of a run that goes on in this process; returns its folder."""
    folder = root / "runs" / str(record["run"])
    folder.mkdir(parents=True, exist_ok=True)
    written = whole({**record, "pid": os.getpid(), "host": socket.gethostname()})
    (folder / "run.json").write_text(json.dumps(written))
    return folder
