"""The real graphs beside a checkout, read the slow and obvious way, as an answer to compare with."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest
from scipy.sparse import csgraph, csr_array

from gravel.kernels.ids.distinct import distinct
from tests.zoo import DATA

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


DIRECTED = (".directed", "-directed-", "cnr-2000", "p2p-")
"""Parts of the names of directed graphs."""


@dataclass(frozen=True)
class RealGraph:
    """File ids, ascending, and edges between positions in that list; their weights where the file has any."""

    path: Path
    ids: numpy.ndarray
    source: numpy.ndarray
    target: numpy.ndarray
    weight: numpy.ndarray | None = None

    @property
    def directed(self) -> bool:
        """Whether the page about the files calls this one directed."""
        return any(word in self.path.name for word in DIRECTED)

    def matrix(self) -> csr_array:
        n = len(self.ids)
        ones = numpy.ones(len(self.source), numpy.int8)
        return csr_array((ones, (self.source, self.target)), (n, n))

    def distances(self, vertex_id: int) -> dict[int, int]:
        start = int(numpy.searchsorted(self.ids, vertex_id))
        hops = csgraph.dijkstra(self.matrix(), directed=False, unweighted=True, indices=start)
        found = numpy.where(numpy.isinf(hops), -1, hops).astype(int)
        return dict(zip(self.ids.tolist(), found.tolist(), strict=True))

    def components(self) -> dict[int, int]:
        _, labels = csgraph.connected_components(self.matrix(), directed=True, connection="weak")
        smallest = numpy.full(labels.max() + 1, numpy.iinfo(numpy.int64).max)
        numpy.minimum.at(smallest, labels, self.ids)
        return dict(zip(self.ids.tolist(), smallest[labels].tolist(), strict=True))


def graph_files() -> list[Path]:
    """Return every graph file that is a graph: not the page about them, not the malformed ones."""
    if not DATA.is_dir():
        return []
    files = [path for path in DATA.iterdir() if path.is_file() and path.suffix != ".md"]
    files += [path for path in (DATA / "tiny").iterdir() if path.name != "empty.mtx"]
    return sorted(files)


LARGE = 290_000
"""Bytes of a packed file from which on a test takes longer than CI has for each."""


def graph_cases(large: int = LARGE) -> list[object]:
    """Return the graph files as parameters of tests, those of more than `large` bytes as slow ones."""
    return [
        pytest.param(path, id=path.name, marks=pytest.mark.slow if path.stat().st_size > large else ())
        for path in graph_files()
    ]


def read(path: Path) -> RealGraph:
    """Read a file by what its name and its publisher say it is."""
    opener = OPENERS.get(path.suffix, open)
    with opener(path, "rb") as file:
        text = file.read().decode()
    name = path.name
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    if ".mtx" in name:
        return _matrix_market(path, lines)
    if ".graph-txt" in name:
        return _webgraph(path, lines)
    if ".graph" in name:
        return _metis(path, lines)
    if ".pace.gr" in name:
        n = int(lines[0].split()[2])
        return _numbered(path, _fields("\n".join(lines[1:])), n)
    if ".jlg" in name:
        n = int(lines[0].split(",")[0])
        return _numbered(path, _fields("\n".join(lines[1:]).replace(",", " ")), n)
    body = [line.replace(",", " ") for line in lines if line[:1].isdigit()]
    fields = _fields("\n".join(body))
    pairs = fields[:, :2].astype(numpy.int64)
    ids = distinct(pairs)
    source, target = numpy.searchsorted(ids, pairs).T
    return RealGraph(path, ids, source, target, fields[:, 2] if fields.shape[1] > 2 else None)


def _fields(text: str) -> numpy.ndarray:
    columns = len(text.split("\n", 1)[0].split())
    return numpy.array(text.split(), numpy.float64 if columns > 2 else numpy.int64).reshape(-1, columns)


def _numbered(path: Path, pairs: numpy.ndarray, n: int) -> RealGraph:
    return RealGraph(path, numpy.arange(1, n + 1), pairs[:, 0] - 1, pairs[:, 1] - 1)


def _matrix_market(path: Path, lines: list[str]) -> RealGraph:
    import scipy.io

    matrix = scipy.io.mmread(io.StringIO("\n".join(lines) + "\n")).tocoo()
    weight = None if " pattern " in lines[0] else matrix.data
    return RealGraph(path, numpy.arange(1, matrix.shape[0] + 1), matrix.row, matrix.col, weight)


def _webgraph(path: Path, lines: list[str]) -> RealGraph:
    n = int(lines[0])
    lists = [numpy.array(line.split(), numpy.int64) for line in lines[1 : n + 1]]
    source = numpy.repeat(numpy.arange(n), [len(row) for row in lists])
    return RealGraph(path, numpy.arange(n), source, numpy.concatenate(lists))


def _metis(path: Path, lines: list[str]) -> RealGraph:
    body = [line for line in lines if not line.startswith("%")]
    n = int(body[0].split()[0])
    rows = body[1 : n + 1] + [""] * (n + 1 - len(body))
    lists = [numpy.array(line.split(), numpy.int64) for line in rows]
    source = numpy.repeat(numpy.arange(n), [len(row) for row in lists])
    return RealGraph(path, numpy.arange(1, n + 1), source, numpy.concatenate(lists) - 1)
