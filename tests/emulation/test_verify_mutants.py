"""The GPU's verifiers broken on purpose, one place at a time: the comparison with the CPU's finds each."""

from __future__ import annotations

from typing import Any

import pytest

from gravel.kernels.cuda import source
from gravel.kernels.verify.cuda.memory import Batch
from tests.emulation import (
    grid_kernels,
    test_verify_cuda,
    test_verify_cuda_components,
    test_verify_paths,
)
from tests.emulation.test_verify_cuda_components import check
from tests.emulation.verify_case import FORMS, SKEWED, TAIL, check_all, emulate
from tests.kernels.sssp_case import random_graph
from tests.kernels.verify import sssp_damage
from tests.kernels.verify.damage import HUBS, ZOO, csr_of, damaged, damaged_components
from tests.parameters import slow_among
from tests.zoo import scipy_components

PARTS = next(graph for graph in ZOO if graph.name == "two_parts")
DEEP = next(graph for graph in ZOO if graph.name == "path_1000")

VERTICES = (
    ("d < -1 || d > limit", "d < -2 || d > limit"),
    ("d < -1 || d > limit", "d < -1"),
    ("if (d != 0 || p != -1) rule = SOURCE;", "if (d != 0) rule = SOURCE;"),
    ("if (d != 0 || p != -1) rule = SOURCE;", "if (p != -1) rule = SOURCE;"),
    ("} else if (d == 0) {", "} else if (false) {"),
    ("(d == -1) != (p == -1)", "false"),
    ("if (above != d - 1) rule", "if (above > d - 1) rule"),
    ("above == -1 ? TREE : TREE_LEVELS", "TREE_LEVELS"),
    ("if (d > i64(deepest)) deepest = u32(d);", ""),
    ("outside || p < 0 ? NOBODY : u32(p), 1)", "outside || p < 0 ? NOBODY : u32(p), 2)"),
    ("u32(mine) + u32(next)", "u32(mine) + 1"),
    ("if (u32(up[v] >> 32) == source)", "if (true)"),
    ("if (level > limit) broken", "if (false) broken"),
    ("                broken = 1u << SOURCE;", "                broken = 0;"),
)

ROWS = (
    ("symmetric && label > 1 ? label - 1 : 1;", "1;"),
    ("asked.span[i] = label + 1 - asked.low[i];", "asked.span[i] = label + 2 - asked.low[i];"),
    ("(label ? JUMPS : LEAVES)", "JUMPS"),
    ("(label ? JUMPS : LEAVES)", "LEAVES"),
    ("(tree ? w : label) == asked.target[i]", "true"),
    ("(tree ? w : label) == asked.target[i]", "label == asked.low[i]"),
    ("step *= 2) seen |=", "step *= 4) seen |="),
    ("label - 1 < deepest", "label < deepest"),
    ("if (symmetric && label > 1 && !(flags & FOUND))", "if (symmetric && label > 0 && !(flags & FOUND))"),
    ("if (end - begin > LONG) continue;", "if (end - begin > LONG / 2) continue;"),
    ("u64(piece.number) * LONG;", "u64(piece.number) * (LONG + 1);"),
    ("begin + LONG < last ? begin + LONG : last", "begin + LONG < last ? begin + LONG - 1 : last"),
    ("d >= 0 && d < i64(LABEL_MASK)", "d > 0 && d < i64(LABEL_MASK)"),
    ("labels |= u32(d + 1)", "labels |= u32(d + (first > 3))"),
    ("arc + i * groups < end ?", "arc + i * groups + 1 < end ?"),
    ("if (label_of(table, words, v, search) < 2) continue;", "if (true) continue;"),
    ("if (low < end && columns[low] == v) continue;", "if (low < end) continue;"),
    ("== label_at(mine, i) + 1)", ">= label_at(mine, i))"),
    ("search * n + first + top + row;", "first + top + row;"),
)

COMPONENTS = (
    ("label < 0 || label >= i64(n)", "label < 0 || label > i64(n)"),
    ("a > b ? a : b, low = a > b ? b : a", "a < b ? a : b, low = a < b ? b : a"),
    ("(w < v || !half) &&", "(w > v && half) &&"),
    ("other |= labels[w] != label;", "other |= labels[w] > label;"),
    ("if (end - begin <= LONG) walk", "if (end - begin < 2) walk"),
    ("label > v || labels[label] != label", "label > v"),
    ("label > v || labels[label] != label", "labels[label] != label"),
    ("elsewhere = root != label;", "elsewhere = root > label;"),
    ("joined = parents[label] != root;", "joined = false;"),
    ("parents[label] != root", "label != root"),
)

PATHS = (
    ("{ return length < -1; }", "{ return length < -2; }"),
    ("is_reached(length) ? length < 0 : !(length > 0);", "is_reached(length) ? false : !(length > 0);"),
    ("is_reached(length) ? length < 0 : !(length > 0);", "length < 0;"),
    ("return length - length == 0;", "return length >= 0;"),
    ("p < -1 || p >= i64(n);", "p < -1 || p > i64(n);"),
    ("(lost[v] & lost_bit) ||", ""),
    ("(levels[v] >= 0) != is_reached(EXACT(distance[v]))", "false"),
    ("if (kind && length == there &&", "if (kind && length <= there &&"),
    ("if (kind && length == there &&", "if (kind &&"),
    ("&& u64(integer_at(predecessor, kind, v)) == u) has", ") has"),
    ("if (!is_reached(there)) broken", "if (false) broken"),
    ("else if (length < there) broken", "else if (length > there) broken"),
    ("if (!reached) continue;", ""),
    ("broken &= ~atomicOr(&faults[u], broken);", "atomicOr(&faults[u], broken);"),
    ("if (end - begin > LONG) continue;", "if (end - begin > LONG / 2) continue;"),
    ("u64(piece.number) * LONG;", "u64(piece.number) * (LONG + 1);"),
    ("begin + LONG < last ? begin + LONG : last", "begin + LONG < last ? begin + LONG - 1 : last"),
    ("integer_at(predecessor, kind, v) >= 0 && !has[v]", "integer_at(predecessor, kind, v) > 0 && !has[v]"),
)

FILES = {"vertices": VERTICES, "rows": ROWS, "components": COMPONENTS, "paths": PATHS}
MUTANTS = [(file, number) for file, changes in FILES.items() for number in range(len(changes))]
KEPT = {("rows", 0), ("components", 3), ("paths", 8)}


def _differs(file: str) -> None:
    """Hold what the kernels find against the CPU's verifier, until they differ."""
    if file == "paths":
        _paths_differ()
        return
    each_arc = test_verify_cuda_components if file == "components" else test_verify_cuda
    each_arc.test_each_arc_of_a_row_counts()
    for symmetric in (True, False):
        for graph in (PARTS, TAIL, SKEWED, HUBS, DEEP):
            csr = csr_of(graph, symmetric=symmetric)
            if file == "components":
                for seed in range(3):
                    for _, labels in damaged_components(scipy_components(*csr), seed):
                        check(csr, labels, symmetric)
                continue
            for max_depth in (None, 2):
                answers = [labels for _, labels in damaged(csr, 0, seed=3)]
                answers += [labels for _, labels in damaged(csr, 0, seed=7, max_depth=2)]
                for form in FORMS:
                    options: dict[str, Any] = {"symmetric": symmetric, "max_depth": max_depth}
                    check_all(csr, 0, answers, form, batch=Batch(4, None, 0), **options)


def _paths_differ() -> None:
    test_verify_paths.test_each_arc_of_a_long_row_counts()
    for graph in (*test_verify_paths.HUBS, random_graph(26), random_graph(27)):
        for start in (0, 3):
            answers = [
                labels for seed in (1, 40, 80) for _, labels in sssp_damage.damaged(graph, start, seed)
            ]
            test_verify_paths.check_all(graph, start, answers)
            test_verify_paths.check_all(graph, start, answers, tree=False)


@pytest.mark.parametrize("mutant", slow_among(MUTANTS, {*MUTANTS} - KEPT), ids=str)
def test_a_broken_verifier_is_found(monkeypatch: pytest.MonkeyPatch, mutant: tuple[str, int]) -> None:
    emulate(monkeypatch)
    file, number = mutant
    old, new = FILES[file][number]

    def broken(path: str, macros: Any) -> str:
        text = source.read_source(path, macros)
        if path != f"kernels/verify/cuda/{file}.cu":
            return text
        assert text.count(old) >= 1, old
        return text.replace(old, new)

    grid_kernels._compiled.cache_clear()
    monkeypatch.setattr(grid_kernels, "read_source", broken)
    try:
        with pytest.raises((AssertionError, IndexError)):
            _differs(file)
    finally:
        grid_kernels._compiled.cache_clear()
