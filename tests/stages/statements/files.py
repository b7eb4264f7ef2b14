"""The files and saved graphs that cases read, of edges between neighbouring ids or ids from anywhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HIGHEST = 1 << 50
"""Above ids from anywhere."""


def write_files(parameters: Mapping[str, Any], scale: int) -> None:
    """Write what the parameters of a case name, if they name any file."""
    if "file" in parameters:
        write_file(Path(parameters["file"]), scale)
    if "folder" in parameters:
        save_graph(Path(parameters["folder"]), scale)


def save_graph(path: Path, scale: int) -> None:
    """Save a graph of such edges, unless it is there."""
    edges = path.with_suffix(".npy")
    write_file(edges, scale)
    if not path.exists():
        command = "import gravel, numpy, sys; gravel.graph(numpy.load(sys.argv[1])).save(sys.argv[2])"
        subprocess.run([sys.executable, "-c", command, str(edges), str(path)], check=True)


def write_file(path: Path, scale: int) -> None:
    """Write a file in the format that its name says, if there is none: 8 edges for each of 2^scale ids.

    Those of a text whose name says so have weights from 1 to 255.
    """
    import numpy

    if path.exists():
        return
    rng = numpy.random.default_rng(scale)
    pairs = rng.integers(0, 1 << scale, (8 << scale, 2))
    if "anywhere" in path.stem:
        pairs = rng.integers(0, HIGHEST, 1 << scale)[pairs]
    if "weights" in path.stem:
        pairs = numpy.column_stack([pairs, rng.integers(1, 256, len(pairs))])
    whole = path.with_name(f"{path.name}.new")
    with whole.open("wb") as file:
        _write(file, path.suffix, pairs, 1 << scale)
    whole.rename(path)


def _write(file: Any, suffix: str, pairs: Any, vertices: int) -> None:
    import numpy

    if suffix == ".npy":
        numpy.save(file, pairs)
    elif suffix == ".npz":
        numpy.savez(file, source=pairs[:, 0], target=pairs[:, 1])
    elif suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"source": pairs[:, 0], "target": pairs[:, 1]}), file)
    else:
        if suffix == ".mtx":
            file.write(b"%%MatrixMarket matrix coordinate pattern general\n")
            file.write(b"%d %d %d\n" % (vertices, vertices, len(pairs)))
            pairs = pairs + 1
        line = b" ".join([b"%d"] * pairs.shape[1]) + b"\n"
        for first in range(0, len(pairs), 1 << 16):
            file.write(b"".join(line % tuple(each) for each in pairs[first : first + (1 << 16)].tolist()))
