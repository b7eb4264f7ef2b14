"""The cases: every stage, in each variant with a statement of its own, on graphs of three sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCALES = (16, 18, 20)
"""Of R-MAT graphs with 16 edges for each vertex: up to 16 M edges, whose arrays outweigh what is fixed."""

SMALL = 10
"""Where nothing counts but what is fixed."""

LARGE = 32
"""Whose indices take 64 bits, and which fits neither ranges nor devices: for statements alone."""


@dataclass(frozen=True)
class Case:
    """A stage with parameters and inputs by the names of other cases.

    In parameters are filled in: `{folder}`, `{scale}`, `{edges}`, `{sparse}` and `{dense}`, vertices of a
    graph with two edges or a thousand for each, and `{bytes}`, of a message. `gpu` says that the stage is
    measured on a GPU, too, and `cpu` that it is on the CPU; of one that is not `measured`, such as one that
    takes several GPUs, only what is stated is recorded. `machine` has what differs from the usual one, and
    `reserved` the workers that ranks have for themselves.
    """

    stage: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    gpu: bool = False
    cpu: bool = True
    measured: bool = True
    machine: Mapping[str, Any] = field(default_factory=dict)
    reserved: int = 0


GRAPH = {"input": "graph"}
TWO = {"sources": {"random": 2}}
STRONG = {"algorithm": "strong_components"}


def _bfs(graph: str, **parameters: Any) -> Case:
    on_gpu = not graph.startswith(("partition", "dense", "distribute"))
    return Case("traverse", {**TWO, **parameters}, {"input": graph}, gpu=on_gpu)


def _components(graph: str, **parameters: Any) -> Case:
    on_gpu = not graph.startswith(("partition", "dense", "distribute"))
    return Case("traverse", {"algorithm": "components", **parameters}, {"input": graph}, gpu=on_gpu)


def _uniform(vertices: str) -> Case:
    return Case("ingest", {"source": {"uniform": {"vertices": vertices, "edges": "{edges}"}}})


def _file(suffix: str, **parameters: Any) -> Case:
    text = suffix.endswith("txt")
    return Case("ingest", {"file": f"{{folder}}/{{scale}}{suffix}", **parameters}, gpu=text)


def _strategy(strategy: str, graph: str) -> Case:
    """Search on a GPU by one of the strategies that `auto` may stand for there, and one beside."""
    return Case("traverse", {**TWO, "strategy": strategy}, {"input": graph}, gpu=True, cpu=False)


ON_GPU = ("direction_optimizing", "expand_contract", "hybrid", "persistent", "adaptive")

ORDERS = ("original", "random", "degree", "hub_sort", "rcm", "community", "auto")
CODECS = ("csr", "varint", "blocks", "elias_fano", "auto")

CASES: dict[str, Case] = {
    "edges": Case("ingest", {"source": {"rmat": {"scale": "{scale}"}}}, gpu=True),
    "sparse edges": _uniform("{sparse}"),
    "dense edges": _uniform("{dense}"),
    "text": _file(".txt"),
    "text anywhere": _file("-anywhere.txt"),
    "text weights": _file("-weights.txt"),
    "numpy": _file(".npy"),
    "numpy archive": _file(".npz"),
    "matrix market": _file(".mtx"),
    "parquet": _file(".parquet"),
    "saved": Case("saved", {"folder": "{folder}/{scale}.graph"}),
    "graph": Case("symmetrize", {}, {"input": "edges"}, gpu=True),
    "arcs": Case("symmetrize", {"direction": "as_given"}, {"input": "numpy"}, gpu=True),
    "weighted": Case("symmetrize", {"weights": "minimum"}, {"input": "text weights"}),
    "weighted directed": Case(
        "symmetrize",
        {"direction": "as_given", "weights": "minimum"},
        {"input": "text weights"},
        measured=False,
    ),
    "sparse": Case("symmetrize", {}, {"input": "sparse edges"}, gpu=True),
    "dense": Case("symmetrize", {}, {"input": "dense edges"}),
    **{f"reorder {method}": Case("reorder", {"method": method}, GRAPH, gpu=True) for method in ORDERS},
    "reorder directed": Case("reorder", {"method": "rcm"}, {"input": "arcs"}, gpu=True),
    "reorder weighted": Case("reorder", {"method": "degree"}, {"input": "weighted"}),
    "reorder sparse": Case("reorder", {"method": "degree"}, {"input": "sparse"}, gpu=True),
    **{f"compress {codec}": Case("compress", {"codec": codec}, GRAPH, gpu=True) for codec in CODECS},
    "compress sparse": Case("compress", {}, {"input": "sparse"}, gpu=True),
    "subgraph core": Case("subgraph", {"core": 0}, {"input": "sparse"}),
    "subgraph weighted": Case("subgraph", {"core": 0}, {"input": "weighted"}),
    "subgraph hops": Case("subgraph", {"hops": 100}, {"input": "graph", "within": "bfs"}),
    "subgraph ordered": Case("subgraph", {"hops": 100}, {"input": "reorder degree", "within": "bfs"}),
    "subgraph encoded": Case("subgraph", {"hops": 100}, {"input": "compress varint", "within": "bfs"}),
    "partition": Case("partition", {"ranks": 4}, GRAPH, gpu=True),
    "partition sparse": Case("partition", {"ranks": 4, "threshold": 1}, {"input": "sparse"}, gpu=True),
    "partition striped": Case("partition", {"ranks": 4, "scheme": "striped"}, GRAPH, gpu=True),
    "dense partition": Case("partition", {"ranks": 4, "threshold": 65535}, {"input": "dense"}),
    "dense striped": Case("partition", {"ranks": 4, "scheme": "striped"}, {"input": "dense"}),
    "partition directed": Case("partition", {"ranks": 4, "threshold": 256}, {"input": "arcs"}, gpu=True),
    "distribute": Case("distribute", {"source": {"rmat": {"scale": "{scale}"}}, "ranks": 2}),
    "dense distribute": Case(
        "distribute",
        {
            "source": {"uniform": {"vertices": "{dense}", "edges": "{edges}"}},
            "ranks": 2,
            "threshold": 65535,
        },
    ),
    "distribute file": Case("distribute", {"file": "{folder}/{scale}.txt", "ranks": 2}, measured=False),
    "distribute weights": Case(
        "distribute",
        {"file": "{folder}/{scale}-weights.txt", "ranks": 2, "weights": "minimum"},
        measured=False,
    ),
    "bfs": _bfs("graph"),
    "bfs sparse": _bfs("sparse"),
    "bfs streamed": _bfs("graph", strategy="streamed"),
    **{f"bfs {strategy}": _strategy(strategy, "graph") for strategy in ON_GPU},
    **{f"bfs sparse {strategy}": _strategy(strategy, "sparse") for strategy in ON_GPU},
    "bfs together": Case(
        "traverse", {"sources": {"random": 16}, "strategy": "multi_source"}, GRAPH, gpu=True
    ),
    "bfs in": _bfs("arcs", direction="in"),
    "bfs both": _bfs("arcs", direction="both"),
    "sssp": _bfs("weighted directed", algorithm="shortest_paths"),
    "sssp in": _bfs("weighted directed", algorithm="shortest_paths", direction="in"),
    "sssp both": _bfs("weighted directed", algorithm="shortest_paths", direction="both"),
    "bfs statistics": _bfs("reorder degree", statistics=True),
    "bfs varint": _bfs("compress varint"),
    "bfs varint statistics": _bfs("compress varint", statistics=True),
    "bfs partition": _bfs("partition"),
    "bfs partition ranks": Case("traverse", TWO, {"input": "partition"}, reserved=4),
    "bfs dense partition": _bfs("dense partition"),
    "bfs striped": _bfs("partition striped", paper="merrill2012_striped"),
    "bfs distributed": _bfs("distribute"),
    "bfs dense distributed": _bfs("dense distribute"),
    "components": _components("graph"),
    "components sparse": _components("sparse"),
    "components varint": _components("compress varint"),
    "components partition": _components("partition"),
    "components dense partition": _components("dense partition"),
    "components directed partition": _components("partition directed"),
    "components distributed": _components("distribute"),
    "components dense distributed": _components("dense distribute"),
    "strong components": Case("traverse", STRONG, {"input": "arcs"}, gpu=True),
    "strong components forward_backward": Case(
        "traverse", {**STRONG, "strategy": "forward_backward"}, {"input": "arcs"}
    ),
    "packed arcs": Case("compress", {"codec": "varint"}, {"input": "arcs"}, measured=False),
    "strong components varint": Case("traverse", STRONG, {"input": "packed arcs"}, gpu=True),
    "verify bfs": Case("verify", {}, {"graph": "graph", "traversal": "bfs"}, gpu=True),
    "verify bfs in": Case("verify", {}, {"graph": "arcs", "traversal": "bfs in"}, gpu=True),
    "verify sssp both": Case("verify", {}, {"graph": "weighted directed", "traversal": "sssp both"}),
    "verify strong components": Case(
        "verify", {}, {"graph": "arcs", "traversal": "strong components"}, gpu=True
    ),
    "verify sparse": Case("verify", {}, {"graph": "sparse", "traversal": "bfs sparse"}, gpu=True),
    "verify components": Case("verify", {}, {"graph": "sparse", "traversal": "components sparse"}, gpu=True),
    "verify pagerank": Case("verify", {}, {"graph": "graph", "traversal": "pagerank"}),
    "verify distributed": Case("verify", {}, {"graph": "distribute", "traversal": "bfs distributed"}),
    "report": Case("report", {}, {"inputs": ("sparse", "components sparse")}),
    "report ranks": Case("report", {}, {"inputs": ("partition", "bfs partition")}),
    "probe": Case("probe", {}, GRAPH, gpu=True),
    "centrality": Case("centrality", {"measure": "harmonic", "vertices": {"random": 1024}}, GRAPH, gpu=True),
    "centrality in": Case(
        "centrality",
        {"measure": "harmonic", "vertices": {"random": 1024}, "direction": "in"},
        {"input": "arcs"},
        gpu=True,
    ),
    "paths": Case("paths", {"pairs": {"random": 64}}, GRAPH),
    "paths in": Case("paths", {"pairs": {"random": 64}, "direction": "in"}, {"input": "arcs"}),
    "paths weighted both": Case(
        "paths", {"pairs": {"random": 64}, "direction": "both"}, {"input": "weighted directed"}
    ),
    "betweenness in": Case(
        "centrality",
        {"measure": "betweenness", "sources": {"random": 128}, "direction": "in"},
        {"input": "arcs"},
        gpu=True,
    ),
    "betweenness": Case(
        "centrality", {"measure": "betweenness", "sources": {"random": 128}}, GRAPH, gpu=True
    ),
    "pagerank": Case("centrality", {"measure": "pagerank"}, GRAPH, gpu=True),
    "pagerank weighted in": Case(
        "centrality", {"measure": "pagerank", "direction": "in"}, {"input": "weighted directed"}
    ),
    "pagerank both": Case("centrality", {"measure": "pagerank", "direction": "both"}, {"input": "arcs"}),
    "pagerank varint": Case("centrality", {"measure": "pagerank"}, {"input": "compress varint"}, gpu=True),
    "pagerank ranks": Case(
        "centrality", {"measure": "pagerank", "workers": 4}, {"input": "partition"}, reserved=4
    ),
    "pagerank ordered": Case("centrality", {"measure": "pagerank"}, {"input": "reorder degree"}),
    "closeness sampled": Case("centrality", {"measure": "closeness", "sources": {"random": 256}}, GRAPH),
    "closeness weighted": Case(
        "centrality",
        {"measure": "closeness", "by": "weights", "sources": {"random": 8}},
        {"input": "weighted"},
    ),
    "betweenness weighted": Case(
        "centrality",
        {"measure": "betweenness", "by": "weights", "sources": {"random": 8}},
        {"input": "weighted"},
    ),
    "counters": Case("counters", {"tool": "none"}, GRAPH, gpu=True),
    "links": Case("links", {"largest": "{bytes}", "total": "{bytes}", "transports": ["wire"]}),
    "graph500": Case("graph500", {"scale": "{scale}", "searches": 2}, gpu=True),
}


def _on_gpus(stage: str, parameters: Mapping[str, Any], graph: str = "") -> Case:
    inputs = {"input": graph} if graph else {}
    return Case(stage, parameters, inputs, gpu=True, cpu=False, measured=False)


def _on_gpu(graph: str, **parameters: Any) -> Case:
    return Case("traverse", {**TWO, **parameters}, {"input": graph}, gpu=True, cpu=False)


def _small(stage: str, parameters: Mapping[str, Any], graph: str, **machine: Any) -> Case:
    inputs = {"input": graph} if graph else {}
    return Case(stage, parameters, inputs, gpu="device_memory" in machine, measured=False, machine=machine)


CUDA = {"backend": "cuda"}
RMAT = {"source": {"rmat": {"scale": "{scale}"}}, "ranks": 4}
LABELS = {"algorithm": "components"}
MEASURED = {"advice": {"measure": True}}

CASES |= {
    "bfs split": _on_gpu("graph", placement="split"),
    "bfs pinned": _on_gpu("graph", placement="pinned"),
    "bfs varint pinned": _on_gpu("compress varint", placement="pinned"),
    "bfs distance pinned": _on_gpu("graph", placement="pinned", output="distance"),
    "components split": Case("traverse", {**LABELS, "placement": "split"}, GRAPH, gpu=True, cpu=False),
    "components varint pinned": Case(
        "traverse", {**LABELS, "placement": "pinned"}, {"input": "compress varint"}, gpu=True, cpu=False
    ),
    "bfs dense on a GPU": _on_gpus("traverse", {**TWO, "strategy": "direction_optimizing"}, "dense"),
    "bfs on GPUs": _on_gpus("traverse", {**TWO, **CUDA}, "partition"),
    "bfs on GPUs by NCCL": _on_gpus("traverse", {**TWO, **CUDA, "transport": "nccl"}, "partition"),
    "bfs striped on GPUs": _on_gpus(
        "traverse", {**TWO, **CUDA, "paper": "merrill2012_striped"}, "partition striped"
    ),
    "bfs spread over GPUs": _on_gpus(
        "traverse", {"sources": {"random": 64}, "sources_over": "workers"}, "graph"
    ),
    "components on GPUs": _on_gpus("traverse", {**LABELS, **CUDA}, "partition"),
    "distribute on GPUs": _on_gpus("distribute", RMAT),
    "bfs distributed on GPUs": _on_gpus("traverse", {**TWO, "transport": "nccl"}, "distribute"),
    "components distributed on GPUs": _on_gpus("traverse", LABELS, "distribute"),
    "links on GPUs": _on_gpus("links", {"ranks": 3, "largest": "{bytes}", "total": "{bytes}"}),
    "counters with ncu": _on_gpus("counters", {"tool": "ncu"}, "graph"),
    "compress tried": Case("compress", {"codec": "auto", **MEASURED}, GRAPH, gpu=True, measured=False),
    "reorder tried": Case("reorder", {"method": "auto", **MEASURED}, GRAPH, gpu=True, measured=False),
    "reorder community_rcm pinned": _small(
        "reorder", {"method": "community_rcm"}, "graph", device_memory=512 << 20
    ),
    "reorder rcm pinned": _small("reorder", {"method": "rcm"}, "graph", device_memory=96 << 20),
    "reorder degree pinned": _small("reorder", {"method": "degree"}, "graph", device_memory=400 << 20),
    "edges on many threads": _small("ingest", {"source": {"rmat": {"scale": "{scale}"}}}, "", threads=16),
    "edges of communities": Case(
        "ingest",
        {"source": {"communities": {"vertices": "{sparse}", "edges": "{edges}"}}},
        gpu=True,
        measured=False,
    ),
    "text in little memory": _small(
        "ingest", {"file": "{folder}/{scale}.txt"}, "", host_memory=120 << 20, device_memory=64 << 20
    ),
    "graph in ranges": _small("symmetrize", {}, "edges", host_memory=1 << 20, device_memory=1 << 20),
    "partition on many threads": _small("partition", {"ranks": 64}, "graph", threads=16),
    "partition in ranges": _small("partition", {"ranks": 4}, "graph", device_memory=256 << 20),
    "compress in ranges": _small("compress", {}, "graph", device_memory=160 << 20),
    "verify in parts": Case(
        "verify",
        {},
        {"graph": "graph", "traversal": "bfs"},
        gpu=True,
        measured=False,
        machine={"device_memory": 256 << 20},
    ),
    "report with predictions": Case("report", {"predict": True}, {"inputs": ("graph",)}, measured=False),
    "probe coupled": Case("probe", {"measure": "gather_and_lookup"}, GRAPH, gpu=True, measured=False),
}


def filled(value: Any, scale: int, folder: str) -> Any:
    """Return parameters with the size and the folder of files in their places."""
    if isinstance(value, Mapping):
        return {key: filled(each, scale, folder) for key, each in value.items()}
    if isinstance(value, str):
        edges = 16 << scale
        whole = {
            "{scale}": scale,
            "{edges}": edges,
            "{sparse}": edges // 2,
            "{dense}": max(64, edges >> 10),
            "{bytes}": 1 << (scale + 4),
        }
        return whole.get(value, value.replace("{scale}", str(scale)).replace("{folder}", folder))
    return value
