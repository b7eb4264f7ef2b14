"""Every CUDA kernel compiles, in every variant, without a GPU."""

import re

import pytest

from kernels.cuda.compile import compile_variant, kernel_usage
from kernels.cuda.source import (
    compiler_options,
    declared_variants,
    each_variant,
    kernel_files,
    read_source,
)

VARIANTS = [(path, macros) for path in kernel_files() for macros in each_variant(read_source(path))]


def _name(value: object) -> str:
    return ",".join(value.values()) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(("path", "macros"), VARIANTS, ids=_name)
def test_compiles_for_hopper(path: str, macros: dict[str, str]) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    usage = kernel_usage(compile_variant(path, macros, "sm_90"))
    assert usage
    # A few spilled words lie outside the inner loops; many mean that a kernel outgrew its block size.
    spilled = [int(found[1]) for use in usage.values() if (found := re.search(r"(\d+) bytes spilled", use))]
    assert max(spilled, default=0) <= 96


@pytest.mark.parametrize("path", kernel_files())
def test_compiles_for_ampere(path: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    compile_variant(path, next(iter(each_variant(read_source(path)))), "sm_80")


def test_a_broken_kernel_is_refused(tmp_path, monkeypatch) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "broken.cu").write_text('extern "C" __global__ void f() { return 1 }\n')
    monkeypatch.setattr("kernels.cuda.source.ROOT", tmp_path)
    with pytest.raises(RuntimeError, match="does not compile"):
        compile_variant("kernels/broken.cu", {}, "sm_90")


def test_headers_are_inlined_once(tmp_path, monkeypatch) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.cuh").write_text("int a;\n")
    (tmp_path / "kernels" / "b.cuh").write_text('#include "kernels/a.cuh"\nint b;\n')
    (tmp_path / "kernels" / "c.cu").write_text(
        '// variants T: int char\n#include "kernels/a.cuh"\n#include "kernels/b.cuh"\n#include <new>\n'
    )
    monkeypatch.setattr("kernels.cuda.source.ROOT", tmp_path)
    text = read_source("kernels/c.cu")
    assert text.count("int a;") == 1
    assert "int b;" in text
    assert "#include <new>" in text
    assert '#include "' not in text
    assert declared_variants(text) == {"T": ["int", "char"]}
    assert list(each_variant(text)) == [{"T": "int"}, {"T": "char"}]
    assert compiler_options(text, {"T": "int"}) == ("--std=c++17", "-DT=int")
    with pytest.raises(ValueError, match="macros"):
        compiler_options(text, {"U": "int"})
