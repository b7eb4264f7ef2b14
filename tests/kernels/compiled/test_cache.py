"""Compiled kernels follow their source, and nobody else's code is loaded."""

from __future__ import annotations

import concurrent.futures
import csv
import json
import os
import stat
from pathlib import Path

import pytest

from gravel.kernels.compiled.folder import Folder, UnsafeFolder
from tests.kernels.tree_copy import TreeCopy
from tests.parameters import slow_among

WORKFLOW = """\
workflow: path
stages:
  edges: {stage: ingest, file: edges.txt}
  graph: {stage: symmetrize, input: edges}
  bfs:   {stage: traverse, input: graph, sources: [0], strategy: top_down, placement: auto}
"""

SMALL = """\
import json, time, numpy
from gravel.kernels.jit import serial
from gravel.kernels.compiled import cache
from gravel.kernels.{module} import outer
values = numpy.arange(4)
spent, key = [], cache.CompiledCache._key
def timed(*arguments):
    began = time.process_time()
    found = key(*arguments)
    spent.append(time.process_time() - began)
    return found
cache.CompiledCache._key = timed
answer = int(outer(values))
print(json.dumps([answer, list(outer.stats.cache_hits.values()), sum(spent)]))
"""

OUTER = """\
from typing import Any

import numpy

from gravel.kernels import constants
from gravel.kernels.inner import inner, options
from gravel.kernels.jit import serial

OWN = 1


@serial
def outer(values: Any) -> Any:
    return inner(values) + OWN + constants.SHARED + options.extra
"""

INNER = """\
from typing import Any, NamedTuple

from numba.extending import overload

from gravel.kernels.jit import serial
from gravel.kernels.leaf import leaf


class Options(NamedTuple):
    extra: int


options = Options(0)


def generated(values: Any) -> Any:
    raise NotImplementedError


@overload(generated)
def _generated(values):
    return lambda values: values[1] * 10


@serial
def inner(values: Any) -> Any:
    return leaf(values) + generated(values)
"""

LEAF = """\
from gravel.kernels.jit import serial


@serial
def leaf(values):
    return values.sum() * 100
"""


@pytest.fixture
def small(tmp_path: Path) -> TreeCopy:
    """Three kernels that call each other over three files."""
    tree = TreeCopy(tmp_path, ["kernels"])
    for name, text in (("outer", OUTER), ("inner", INNER), ("leaf", LEAF), ("constants", "SHARED = 2\n")):
        (tree.folder / "kernels" / f"{name}.py").write_text(text)
    return tree


def answer(tree: TreeCopy, **variables: str) -> tuple[int, bool]:
    """Run the small kernels; the answer, and whether it came from compiled code."""
    value, hits, _ = json.loads(tree.python("-c", SMALL.format(module="outer"), **variables))
    return value, bool(hits)


@pytest.mark.slow
def test_a_search_follows_an_edit_of_a_function_that_it_calls(tmp_path: Path):
    tree = TreeCopy(tmp_path)
    (tree.folder / "path.yaml").write_text(WORKFLOW)
    (tree.folder / "edges.txt").write_text("0 1\n1 2\n2 3\n")

    def distances(cache: str) -> list[int]:
        words = ["path.yaml", "--cache", str(tmp_path / cache), "--cluster", "inline", "--backend", "cpu"]
        program = ["-c", "from gravel.pipeline.cli import main; main()"]
        tree.python(*program, "run", *words, "--quiet")
        tree.python(*program, "export", words[0], "bfs", "--to", "bfs.csv", *words[1:])
        with (tree.folder / "bfs.csv").open() as file:
            return [int(row["distance"]) for row in csv.DictReader(file)]

    assert distances("before") == [0, 1, 2, 3]
    assert distances("again") == [0, 1, 2, 3]
    tree.replace("kernels/bfs/cpu/push.py", "distance[v] = depth\n", "distance[v] = depth + 5\n")
    assert distances("after") == [5, 6, 7, 8]


def test_whatever_was_compiled_in_counts(small: TreeCopy):
    assert answer(small) == (613, False)
    assert answer(small) == (613, True)
    for name, old, new, expected in (
        ("leaf", "* 100", "* 200", 1213),
        ("inner", "* 10", "* 20", 1223),
        ("inner", "Options(0)", "Options(4)", 1227),
        ("constants", "= 2", "= 5", 1230),
        ("outer", "OWN = 1", "OWN = 3", 1232),
    ):
        small.replace(f"kernels/{name}.py", old, new)
        assert answer(small) == (expected, False), name
        assert answer(small) == (expected, True), name
    small.replace("kernels/leaf.py", "* 200", "* 100")
    small.replace("kernels/inner.py", "* 20", "* 10")
    assert answer(small) == (622, False)


ROWS = """\
import numpy
from gravel.kernels.bfs import prepare_rows
from gravel.kernels.layouts import encode
offsets, columns = numpy.array([0, 1, 3, 4]), numpy.array([1, 0, 2, 1], numpy.uint32)
rows = encode("varint", offsets, columns)
search = prepare_rows(rows, strategy="direction_optimizing", symmetric=True, alpha=10**9, beta=10**9)
print(search.run(0).distance.tolist())
"""


@pytest.mark.slow
def test_what_an_overload_imports_for_its_types_counts(small: TreeCopy):
    """Searches of encoded rows are generated from a module that is imported while they are compiled."""
    assert small.python("-c", ROWS).strip() == "[0, 1, 2]"
    entries = small.entries().keys()
    assert small.python("-c", ROWS).strip() == "[0, 1, 2]"
    assert small.entries().keys() == entries
    small.replace("kernels/layouts/varint/cpu.py", "buffer[count] = value\n", "buffer[count] = 0\n")
    assert small.python("-c", ROWS).strip() == "[0, -1, -1]"


def test_what_an_overload_imports_counts(small: TreeCopy):
    (small.folder / "kernels" / "late.py").write_text(LEAF.replace("leaf", "late"))
    small.replace(
        "kernels/inner.py",
        "    return lambda values: values[1] * 10\n",
        "    from gravel.kernels.late import late\n\n    return lambda values: late(values) // 60\n",
    )
    assert answer(small) == (613, False)
    small.replace("kernels/late.py", "* 100", "* 200")
    assert answer(small) == (623, False)


def test_an_edit_leaves_what_does_not_depend_on_it(small: TreeCopy):
    leaf = SMALL.replace("import outer", "import leaf as outer")
    assert json.loads(small.python("-c", leaf.format(module="leaf")))[1] == []
    small.replace("kernels/inner.py", "* 10", "* 20")
    small.replace("kernels/constants.py", "2", "3")
    assert json.loads(small.python("-c", leaf.format(module="leaf")))[:2] == [600, [1]]


@pytest.mark.slow
def test_settings_of_the_compiler_count(small: TreeCopy):
    assert answer(small) == (613, False)
    assert answer(small, NUMBA_OPT="1") == (613, False)
    assert answer(small, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == (613, False)
    assert answer(small, NUMBA_NUM_THREADS="1") == (613, True)


def test_a_file_that_changed_after_it_was_loaded_spoils_nothing(small: TreeCopy):
    """The process compiles what it loaded, under a name that no other process asks for."""
    edit = (
        "import os, pathlib, gravel.kernels.outer\n"
        "path = pathlib.Path('kernels/leaf.py')\n"
        "path.write_text(path.read_text().replace('* 100', '* 300'))\n"
        "os.utime(path, (path.stat().st_mtime + 3600,) * 2)\n"  # Python trusts bytecode of the same second
    )
    assert json.loads(small.python("-c", edit + SMALL.format(module="outer")))[0] == 613
    assert answer(small) == (1813, False)
    small.replace("kernels/leaf.py", "* 300", "* 100")
    assert answer(small)[0] == 613


@pytest.mark.slow
def test_bytecode_older_than_its_file_spoils_nothing(small: TreeCopy):
    """Python trusts bytecode of a file of the same size and second."""
    assert answer(small) == (613, False)
    path = small.folder / "kernels" / "leaf.py"
    before = path.stat()
    small.replace("kernels/leaf.py", "* 100", "* 400")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert answer(small)[0] == 613, "Python runs the old bytecode"
    for cached in small.folder.rglob("__pycache__/leaf.*.pyc"):
        cached.unlink()
    assert answer(small) == (2413, False)


def test_a_constant_that_was_set_while_the_program_runs_counts(small: TreeCopy):
    text = SMALL.format(module="outer").replace(
        "answer = ", "import gravel.kernels.outer\ngravel.kernels.outer.OWN = 7\nanswer = "
    )
    assert answer(small) == (613, False)
    assert json.loads(small.python("-c", text))[:2] == [619, []]
    assert answer(small) == (613, True)


@pytest.mark.slow
def test_data_beside_a_kernel_costs_nothing(small: TreeCopy):
    """What no kernel names does not count, whatever its size."""
    path = small.folder / "kernels" / "leaf.py"
    text = path.read_text()
    path.write_text(text + "import numpy\nDATA = numpy.ones(100_000_000)\n")
    assert answer(small) == (613, False)
    value, hits, seconds = json.loads(small.python("-c", SMALL.format(module="outer")))
    assert (value, hits) == (613, [1])
    assert seconds < 0.5
    path.write_text(text + "DATA = list(range(1_000_000))\n")
    assert answer(small) == (613, False)
    assert answer(small) == (613, True)


@pytest.mark.slow
def test_the_check_takes_less_than_10_ms(small: TreeCopy):
    """Of a whole search with some 60 functions in a dozen modules, in the best of five processes."""
    text = (
        SMALL.format(module="bfs")
        .replace("import outer", "import bfs as search")
        .replace(
            "answer = int(outer(values))",
            "offsets, columns = numpy.array([0, 1, 3, 4]), numpy.array([1, 0, 2, 1], numpy.uint32)\n"
            "for strategy in ('serial', 'top_down', 'direction_optimizing'):\n"
            "    search(offsets, columns, 0, symmetric=True, strategy=strategy)\n"
            "answer = 0",
        )
        .replace("list(outer.stats.cache_hits.values())", "len(spent)")
    )
    cold = json.loads(small.python("-c", text))
    warm = [json.loads(small.python("-c", text)) for _ in range(5)]
    assert cold[1] > warm[0][1], "compiled at first, then loaded"
    assert min(seconds for _, _, seconds in warm) <= 0.010


def test_what_no_kernel_names_does_not_count(small: TreeCopy):
    """Tests replace functions of modules in a process, and kernels stay those of other processes."""
    text = SMALL.format(module="outer").replace(
        "answer = ", "import gravel.kernels.inner\ngravel.kernels.inner.serial = print\nanswer = "
    )
    assert answer(small) == (613, False)
    assert json.loads(small.python("-c", text))[:2] == [613, [1]]


def test_processes_that_compile_at_once_agree(small: TreeCopy):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: answer(small), range(4)))
    assert [value for value, _ in found] == [613] * 4
    assert answer(small) == (613, True)
    assert not [name for name in small.entries() if name.startswith(".")]


def test_a_damaged_entry_is_compiled_again(small: TreeCopy):
    answer(small)
    for name, content in small.entries().items():
        (small.compiled / name).write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    assert answer(small) == (613, False)
    assert answer(small) == (613, True)
    for name, content in small.entries().items():
        (small.compiled / name).write_bytes(content[: len(content) // 2])
    assert answer(small) == (613, False)
    for name in small.entries():
        (small.compiled / name).unlink()
        (small.compiled / name).mkdir()
    assert answer(small) == (613, False)


@pytest.mark.parametrize("mode", slow_among([0o770, 0o777, 0o2770], {0o777, 0o2770}))
def test_a_folder_that_others_may_write_is_not_used(small: TreeCopy, mode: int):
    assert answer(small) == (613, False)
    assert stat.S_IMODE(small.compiled.stat().st_mode) == 0o700
    small.compiled.chmod(mode)
    assert answer(small) == (613, False)
    with pytest.raises(UnsafeFolder, match="may be written by others"):
        Folder(small.compiled)
    small.compiled.chmod(0o700)
    assert answer(small) == (613, True)


@pytest.mark.parametrize("place", slow_among(["file", "below a file", "nowhere"], {"below a file"}))
def test_without_a_folder_kernels_are_compiled(small: TreeCopy, place: str):
    (small.folder / "file").write_text("")
    named = {"file": "file", "below a file": "file/compiled", "nowhere": "/proc/self/compiled"}[place]
    for _ in range(2):
        assert answer(small, GRAVEL_COMPILED=named) == (613, False)
