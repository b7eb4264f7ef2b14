"""CuPy keeps compiled kernels under text, options, architecture and NVRTC: nothing else goes in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gravel.kernels.cuda.source import compiler_options, each_variant, kernel_files, read_source
from tests.kernels.tree_copy import TreeCopy

FAKE = """\
from types import SimpleNamespace

class Device:
    id, compute_capability = 0, "90"

    def __init__(self, number=0):
        pass

cuda = SimpleNamespace(Device=Device, runtime=SimpleNamespace(deviceGetAttribute=lambda *_: 1))

class RawModule(dict):
    def compile(self):
        pass
"""

LOAD = """\
import json
from gravel.kernels.cuda import load
print(json.dumps(load("kernels/bfs/cuda/hybrid.cu", **{macros})))
"""


@pytest.mark.parametrize("path", kernel_files())
def test_the_text_of_a_kernel_is_all_that_is_compiled(path: str):
    """No header that the compiler would look for, no place from which it would, nothing of the clock."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", read_source(path), flags=re.DOTALL)
    assert not re.search(r"#\s*include|__has_include|__DATE__|__TIME__|__TIMESTAMP__", text)
    for macros in each_variant(read_source(path)):
        options = compiler_options(read_source(path), macros)
        assert all(re.fullmatch(r"--std=c\+\+17|-D\w+=\S+", option) for option in options)
        assert len(options) == 1 + len(macros)


def test_what_cupy_is_given_follows_every_edit(tmp_path: Path):
    tree = TreeCopy(tmp_path, ["kernels"])
    (tree.folder / "cupy.py").write_text(FAKE)
    first, second, *_ = each_variant(read_source("kernels/bfs/cuda/hybrid.cu"))

    def given(macros: dict[str, str]) -> dict[str, object]:
        found: dict[str, object] = json.loads(tree.python("-c", LOAD.format(macros=macros)))
        return found

    before = given(first)
    assert given(first) == before
    other = given(second)
    assert (other["code"], other["options"] != before["options"]) == (before["code"], True)
    for name in ("bfs/cuda/hybrid.cu", "bfs/cuda/frontier_queues.cuh", "cuda/types.cuh"):
        path = tree.folder / "kernels" / name
        path.write_text(path.read_text() + f"// {name} edited\n")
        after = given(first)
        assert f"// {name} edited" in str(after["code"])
        assert after["code"] != before["code"]
        before = after
