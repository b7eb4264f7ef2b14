"""CUDA kernels compile without a GPU; `.ci/run` compiles all with `python -m gravel.kernels.cuda.compile`."""

import pytest

from gravel.kernels.cuda.compile import allowed_spills, main
from gravel.kernels.cuda.compiled import compile_variant, kernels_of
from gravel.kernels.cuda.source import (
    compiler_options,
    covering_variants,
    declared_variants,
    each_variant,
    kernel_files,
    read_source,
)
from tests.parameters import slow_among


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("path", kernel_files())
def test_the_first_variant_compiles(path: str, architecture: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    text = read_source(path)
    kernels = compile_variant(path, next(each_variant(text)), architecture)
    assert kernels
    assert all(kernel.spilled <= allowed_spills(text, 96) for kernel in kernels)


MAX_INSTRUCTIONS = 16_000
"""Of a kernel that searches: NVRTC 13.5 takes 1.1 to 1.4 s for 12,000, in proportion to them."""

BLOCKS = {"LAYOUT": "blocks", "VERTEX": "u32"}


SEARCHES = {
    "direction_optimizing": {"VERTEX": "u32", "TREE": "32", "DEFER_ROWS": "1"},
    "direction_optimizing_encoded": {**BLOCKS, "TREE": "32"},
    "persistent": {**BLOCKS, "TREE": "32", "WIDTH": "4"},
    "multi_source": {**BLOCKS, "TREE": "32"},
}


@pytest.mark.parametrize("name", slow_among(SEARCHES, SEARCHES.keys() - {"direction_optimizing"}))
def test_a_search_has_no_more_code_than_compiles_soon(name: str) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    most = max(
        kernel.instructions
        for kernel in compile_variant(f"kernels/bfs/cuda/{name}.cu", SEARCHES[name], "sm_90")
    )
    assert 1_000 < most < MAX_INSTRUCTIONS


def test_a_virtual_architecture_is_compiled_and_not_assembled(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    path = "kernels/cuda/wake.cu"
    assert main(["--first", "--arch", "compute_80", path]) == 0
    assert f"{path} compute_80: " in capsys.readouterr().out


@pytest.mark.parametrize(
    "fault",
    [
        "a[0] = nowhere;",
        "__cluster_barrier_arrive();",
        "#if __CUDA_ARCH__ < 900\na[0] = nowhere;\n#endif",
        'asm("mov.u32 %0, 1;" : "=l"(a[0]));',
    ],
)
def test_what_a_virtual_architecture_lacks_is_refused(fault: str, tmp_path, monkeypatch) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    (tmp_path / "kernels").mkdir()
    text = f'extern "C" __global__ void f(unsigned *a) {{\n{fault}\n}}\n'
    (tmp_path / "kernels" / "broken.cu").write_text(text)
    monkeypatch.setattr("gravel.kernels.cuda.source.ROOT", tmp_path)
    with pytest.raises(RuntimeError, match="does not compile"):
        compile_variant("kernels/broken.cu", {}, "compute_80")


def test_a_file_says_what_it_may_spill_and_why() -> None:
    assert allowed_spills("// spills 200: state between visits\n", 144) == 200
    assert allowed_spills("// spills 100: state between visits\n", 144) == 144
    assert allowed_spills("// spills 200:\n", 144) == 144


def test_what_the_assembler_says_of_kernels_is_read() -> None:
    log = """\
ptxas info    : Compiling entry function 'first' for 'sm_90'
    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 400 bytes smem
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Used 8 registers
"""
    first, second = kernels_of(log, {"first": bytes(48), "second": bytes(range(16))})
    assert (first.name, first.registers, first.spilled, first.instructions) == ("first", 64, 8, 3)
    assert (second.registers, second.spilled, second.instructions) == (8, 0, 1)
    assert str(first) == "first 64 registers, 8 bytes spilled"
    assert first.code != second.code


def test_what_fails_or_spills_is_said(capsys) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    assert main(["kernels/cuda/wake.cu"]) == 0
    assert "registers" in capsys.readouterr().out
    assert main(["--most-spilled", "-1", "kernels/cuda/wake.cu"]) == 1
    assert "may be spilled" in capsys.readouterr().err
    assert main(["--arch", "sm_1", "kernels/cuda/wake.cu"]) == 1
    assert "does not compile" in capsys.readouterr().err


def test_a_broken_kernel_is_refused(tmp_path, monkeypatch) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="compiling without a GPU needs cuda-bindings")
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "broken.cu").write_text('extern "C" __global__ void f() { return 1 }\n')
    monkeypatch.setattr("gravel.kernels.cuda.source.ROOT", tmp_path)
    with pytest.raises(RuntimeError, match="does not compile"):
        compile_variant("kernels/broken.cu", {}, "sm_90")


def test_few_variants_have_every_value() -> None:
    text = "// variants A: 1 2 3\n// variants B: x y\n"
    assert list(covering_variants(text)) == [{"A": "1", "B": "x"}, {"A": "2", "B": "y"}, {"A": "3", "B": "x"}]
    assert list(covering_variants("int x;\n")) == [{}]


def test_headers_are_inlined_once(tmp_path, monkeypatch) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "a.cuh").write_text("int a;\n")
    (tmp_path / "kernels" / "b.cuh").write_text('#include "kernels/a.cuh"\nint b;\n')
    (tmp_path / "kernels" / "c.cu").write_text(
        '// variants T: int char\n#include "kernels/a.cuh"\n#include "kernels/b.cuh"\n#include <new>\n'
    )
    monkeypatch.setattr("gravel.kernels.cuda.source.ROOT", tmp_path)
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
