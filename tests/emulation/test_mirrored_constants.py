"""What Python and CUDA both say is the same: values, the order of names, and the fields of structs.

The compiler compares: each kernel file is read by it with an assertion for each constant.
"""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from gravel.kernels.cuda.source import compiler_options, covering_variants, declared_variants, read_source
from tests.emulation import build, grid_kernels

BFS, PARTITION = "kernels/bfs/cuda", "kernels/partition/cuda"


def same(module: str, names: str) -> list[tuple[str, str, str]]:
    """Give constants that have the same name on both sides."""
    return [(name, module, name) for name in names.split()]


CONSTANTS: dict[str, list[tuple[str, str, str]]] = {
    f"{BFS}/direction_optimizing.cu": [
        *same("bfs.buffers", "CHUNK TRACE TRACED_WORDS MAX_TRACED MAX_IN_TEAM IN_PLANE"),
        ("UNEVEN", "bfs.cuda.row_sources", "UNEVEN"),
        ("SIDES * CONTROL_WORDS", "bfs.buffers", "LEVEL_LOOP_CONTROL"),
        ("ALONE", "bfs.cuda.deferred_rows", "ALONE"),
        ("WHOLE_BLOCK", "bfs.cuda.deferred_rows", "WHOLE_BLOCK"),
        ("DONE + 1", "bfs.cuda.search", "len(STEPS)"),
        ("sizeof(Progress) <= 2048", "bfs.cuda.search", "STATIC_SHARED == 2048"),
        *(
            (name.upper(), "bfs.cuda.search", f"STEPS.index('{name}')")
            for name in ("push", "team", "redistribute", "push_unqueued", "pull", "enqueue")
        ),
    ],
    f"{BFS}/by_degree.cu": [
        ("CLASSES", "bfs.cuda.by_degree", "CLASSES"),
        ("IN_PLANE", "bfs.buffers", "IN_PLANE"),
    ],
    f"{BFS}/direction_optimizing_encoded.cu": [
        *same("bfs.buffers", "TRACE TRACED_WORDS MAX_TRACED MAX_IN_TEAM IN_PLANE"),
        ("SIDES * CONTROL_WORDS", "bfs.buffers", "LEVEL_LOOP_CONTROL"),
        ("WAITING + UNANSWERED", "bfs.cuda.search", "WAITING"),
        ("STAGE", "bfs.cuda.search", "STAGED"),
        ("LISTED - MAX_IN_UNIT", "bfs.cuda.kernel_rows", "LISTED_BEFORE"),
    ],
    f"{BFS}/measure_rows.cu": [("IN_PLANE", "bfs.buffers", "IN_PLANE")],
    f"{BFS}/persistent.cu": [
        ("SIDES * CONTROL_WORDS", "bfs.buffers", "PERSISTENT_CONTROL"),
        *same("bfs.buffers", "NOTICE_WORDS LONG_ROW HUGE_ROW"),
        ("MAX_HOPS", "bfs.cuda.persistent", "MAX_HOPS"),
    ],
    "kernels/papers/baselines/linear_queue.cu": same("papers.buffers", "ROUNDS COUNTER_WORDS"),
    f"{BFS}/expand_contract.cu": [
        ("STAGE", "bfs.cuda.frontier_queues", "STAGE"),
        ("MAX_THREADS", "bfs.cuda.frontier_queues", "MAX_THREADS"),
        ("CONTROL_WORDS", "bfs.buffers", "QUEUES_CONTROL"),
        ("GATHER_SERIAL", "bfs.cuda.parts", "GATHERS['serial']"),
        ("GATHER_WARP", "bfs.cuda.parts", "GATHERS['warp']"),
        ("GATHER_SCAN", "bfs.cuda.parts", "GATHERS['scan']"),
        ("GATHER_SCAN_WARP_CTA", "bfs.cuda.parts", "GATHERS['scan_warp_cta']"),
        *(
            (f"LOOK_{name}", "bfs.cuda.parts", name)
            for name in ("BITMASK", "LABEL", "WARP", "HISTORY", "ATOMIC")
        ),
        ("HISTORY", "bfs.cuda.parts", "REMEMBERED"),
        ("SPREAD", "bfs.cuda.parts", "SPREAD"),
        ("WARP_HASH", "bfs.cuda.parts", "WARP_CELLS"),
        ("LISTED", "bfs.cuda.parts", "LISTED"),
    ],
    f"{BFS}/multi_source.cu": [
        ("CHUNK", "bfs.buffers", "CHUNK"),
        ("SIDES * CONTROL_WORDS", "bfs.buffers", "BATCH_CONTROL"),
        ("MAX_BLOCK", "bfs.cuda.multi_source", "BLOCKS[-1]"),
        ("LOG_FIRST + MAX_CHANGES <= 256", "bfs.buffers", "BATCH_LOG == 256"),
    ],
    f"{BFS}/host_rows.cu": [
        ("HEAD_GROUP", "bfs.cuda.host_sources", "HEAD_GROUP"),
        ("SIDES * CONTROL_WORDS", "bfs.buffers", "HOST_ROWS_CONTROL"),
        ("LOG_FIRST", "bfs.buffers", "LOG_FIRST"),
        ("LINE", "bfs.cuda.kept_lines", "LINE"),
        ("LINES", "bfs.cuda.kept_lines", "LINES"),
        ("SPAN", "bfs.cuda.streamed_parts", "SPAN"),
        ("SPAN", "bfs.buffers", "WORD_COLUMNS"),
        ("CONTROL_WORDS", "bfs.cuda.streamed", "CONTROL_WORDS"),
        ("FOUND", "bfs.cuda.streamed", "FOUND"),
    ],
    f"{BFS}/shape.cu": [
        ("BINS", "bfs.shape", "BINS"),
        ("HUB_SHIFT", "bfs.cuda.shape", "HUB_SHIFT"),
    ],
    "kernels/components/cuda/afforest.cu": [
        ("HUB", "components.buffers", "HUB"),
        ("MAX_TRACED", "components.cuda.afforest", "MAX_TRACED"),
    ],
    "kernels/components/cuda/afforest_tiles.cu": [
        *same("components.cuda.afforest_tiles", "MAX_TRACED ROUNDS"),
        *same("components.buffers", "HUB TILE COUNTERS"),
        ("SAMPLED", "components.cuda.afforest_tiles", "GIANTS['sampled']"),
        ("FIRST", "components.cuda.afforest_tiles", "GIANTS['first']"),
    ],
    "kernels/components/cuda/streamed.cu": [("CHUNK", "components.cuda.streamed", "CHUNK")],
    "kernels/layouts/blocks/write.cu": [
        ("UNIT_ARCS", "layouts.blocks.cpu", "BLOCK_ARCS"),
        ("UNIT_ARCS", "layouts.streams_cuda", "UNIT_ARCS"),
        ("OFFSET_BITS", "layouts.blocks.cpu", "OFFSET_BITS"),
        *same("layouts.bits", "CLASS_BITS LAST_EXACT WIDE_BITS WIDE_BASE LAST_BASE"),
    ],
    "kernels/layouts/elias_fano/write.cu": [
        ("UNIT_ARCS", "layouts.streams_cuda", "UNIT_ARCS"),
        ("SAMPLE_BITS", "layouts.elias_fano.cpu", "SAMPLE_BITS"),
    ],
    "kernels/layouts/varint/bytes.cu": [*same("layouts.varint.cuda", "TRUNCATED TOO_LARGE OUT_OF_RANGE")],
    "kernels/csr/build.cu": [("ROUNDS", "csr.cuda", "ROUNDS")],
    "kernels/generate/communities.cu": [
        *same("generate.communities_tables", "BUNDLE HEADER PER_LEVEL DRAWS"),
        ("STEP", "generate.counter", "STEP"),
    ],
    "kernels/text/pairs.cu": [
        ("TILE", "text.pairs_cuda", "TILE"),
        *same("text.kinds", "OTHER BLANK NEWLINE DELIMITER COMMENT"),
    ],
    f"{PARTITION}/ranks.cu": [
        ("MAX_DEVICES", "partition.cuda.launching", "MAX_DEVICES"),
        *same("partition.cuda.launch", "LINK_SECTORS BEGAN ENDED FIRST_LEVEL LEVEL_WORDS"),
        *same("partition.buffers", "SMALLEST ANY PLANES COUNTS SIDES"),
        *same("partition.cuda.memory", "FIRST"),
        ("MERGE_ARCS + 1", "partition.cuda.memory", "MAX_ARCS"),
        ("sizeof(Rank)", "partition.cuda.memory", "8 * len(FIELDS)"),
    ],
    f"{PARTITION}/ranks_placed.cu": [
        ("FIRST", "partition.cuda.memory", "FAR_FIRST"),
        ("SECTOR", "partition.cuda.launch", "SECTOR"),
    ],
    f"{PARTITION}/components.cu": [
        ("COUNTS", "partition.buffers", "COMPONENT_COUNTS"),
        ("sizeof(Part)", "partition.cuda.components_memory", "8 * len(FIELDS)"),
        *(
            (name.upper(), "partition.cuda.components_launch", f"2 + (*JOINING, *EXCHANGING).index('{name}')")
            for name in (
                *("link", "probe", "shorten", "choose", "join", "flatten"),
                *("publish", "pull", "shortcut", "hook"),
            )
        ),
    ],
    "kernels/partition/distributor/distributor.cu": [
        *same("partition.distributor.cuda", "MAX_RANKS NN ND HALF")
    ],
    "kernels/partition/split.cu": [("ROUNDS", "partition.chunks_cuda", "ROUNDS")],
    "kernels/partition/nccl/level.cu": [
        ("CHUNK_WORDS", "partition.nccl.layout", "CHUNK_WORDS"),
        *same("partition.nccl.vertices", "ROW_NORMALS ROW_DELEGATES ROW_BACKWARD ROW_SENT"),
    ],
    f"{PARTITION}/ranks_culled.cu": [
        *same("partition.cuda.launch", "PREFIX_SUM UNIQUIFY BEST_EFFORT LOCAL_DUPLICATES"),
        ("LEVEL_WORDS", "partition.cuda.launch", "CULLED_WORDS"),
        ("LEVEL_WORDS - GATHERED_COUNTS", "partition.cuda.launch", "LEVEL_WORDS - 2"),
        ("GATHERED_COUNTS", "partition.culled", "len(Gathered.__dataclass_fields__)"),
        ("MAX_WARPS * WARP", "partition.cuda.launch", "BLOCK"),
    ],
    "kernels/papers/pan2018/links/links.cu": [
        (name.upper(), "papers.pan2018.links.peer", f"NUMBERS['{name}']")
        for name in ("meet", "pair", "exchange", "reduce")
    ],
    "kernels/verify/cuda/components.cu": [
        (name.upper(), "verify.cuda.components", f"RULES.index('{name}')")
        for name in ("ranges", "smallest", "edges_agree", "connected", "not_merged", "whole")
    ],
    "kernels/verify/cuda/strong_components.cu": [
        ("LONG", "verify.cuda.memory", "LONG"),
        *(
            (name.upper(), "verify.strong_components", f"list(RULES).index('{name}')")
            for name in ("ranges", "smallest", "from_label", "to_label", "acyclic")
        ),
    ],
    "kernels/verify/cuda/rows.cu": [
        ("LONG", "verify.cuda.memory", "LONG"),
        ("CHUNK", "verify.cuda.memory", "CHUNK"),
        ("TILE", "verify.cuda.table", "TILE"),
        ("RULES", "verify.cuda.tree", "RULES"),
        *same("verify.ranks.checker", "JUMPS LEAVES FOUND"),
    ],
    "kernels/verify/cuda/paths.cu": [
        ("LONG", "verify.cuda.memory", "LONG"),
        *same("verify.cuda.sssp", "RANGES TREE TREE_ARCS RELAXED COMPONENT"),
    ],
    "kernels/sssp/cuda/delta_stepping.cu": [
        *same("sssp.buffers", "HUB STATE ROUND WIDE"),
        ("ROOM", "sssp.buffers", "room_of(4, 4)"),
    ],
    "kernels/sssp/cuda/by_weight.cu": [
        *same("sssp.buffers", "STATE ROUND"),
        *same("sssp.cuda.by_weight", "CLASSES ORDERING NEARER"),
    ],
    "kernels/distances/bounds.cu": [
        *same("distances.bounds_cuda", "FARTHEST SHORTEST UNDECIDED BEST CHOSEN BOUNDED OPEN"),
        ("CHOSEN + 1", "distances.bounds_cuda", "PLACES"),
        ("NEVER", "distances.bounds", "NEVER"),
        *(
            (goal.upper(), "distances.bounds", f"GOALS.index('{goal}')")
            for goal in ("all", "diameter", "periphery", "radius", "center")
        ),
    ],
    "kernels/point_to_point/search.cu": [*same("point_to_point.cuda", "NEXT TOTAL STATE")],
    "kernels/verify/ranks/components.cu": [*same("verify.ranks.components_cuda", "NN ND DN DD")],
    "kernels/ids/bitmap.cu": [("32 * GROUP", "ids.cuda", "GROUP_BITS")],
    "kernels/order/rcm_wide.cu": [("CHUNK", "order.rcm_levels_cuda", "CHUNK")],
    "kernels/order/rcm.cu": [("SIDES", "order.rcm_levels_cuda", "SIDES")],
    "kernels/order/community_bisection.cu": [
        ("WARP * WARPS", "order.community_bisection_cuda", "PIECE_BLOCK")
    ],
    "kernels/level_statistics.cu": [("NEAR", "level_statistics_cuda", "ROOM")],
}

STRUCTS = {
    f"{PARTITION}/ranks.cu": ("Rank", "partition.cuda.memory"),
    f"{PARTITION}/components.cu": ("Part", "partition.cuda.components_memory"),
}
"""Structs whose `FIELDS` Python lists, 8 bytes each."""


def said_by_python(module: str, expression: str) -> Any:
    return eval(expression, dict(vars(importlib.import_module(f"gravel.kernels.{module}"))))


def refusals(kernel: str, assertions: Sequence[str]) -> str:
    """Give what the compiler says against some assertions behind a kernel's text."""
    macros = next(iter(covering_variants(read_source(kernel))))
    if "csr" in declared_variants(read_source(kernel)).get("LAYOUT", ()):
        macros["LAYOUT"] = "csr"
    text = read_source(kernel, macros)
    defined = [option for option in compiler_options(text, macros) if option.startswith("-D")]
    asserted = "".join(f'static_assert({each}, "");\n' for each in assertions)
    command = [
        "g++",
        *build._FLAGS,
        *defined,
        "-fsyntax-only",
        "-include",
        str(build.header()),
        "-x",
        "c++",
        "-",
    ]
    text = grid_kernels.without_cuda_alone(text)
    source = f"#include <cstddef>\n{text}\n{asserted}"
    ended = subprocess.run(command, input=source, capture_output=True, text=True)
    return "\n".join(
        line for line in ended.stderr.splitlines() if "asser" in line or "error" in line or "reduces" in line
    )


@pytest.mark.parametrize("kernel", CONSTANTS)
def test_python_and_cuda_say_the_same(kernel: str) -> None:
    asserted = [
        f"u64({said}) == {int(said_by_python(module, meant))}ull" for said, module, meant in CONSTANTS[kernel]
    ]
    assert refusals(kernel, asserted) == ""


@pytest.mark.parametrize("kernel", STRUCTS)
def test_every_field_is_where_python_puts_it(kernel: str) -> None:
    struct, module = STRUCTS[kernel]
    fields = said_by_python(module, "FIELDS")
    assert len(set(fields)) == len(fields)
    asserted = [f"offsetof({struct}, {field}) == {8 * place}" for place, field in enumerate(fields)]
    assert refusals(kernel, asserted) == ""


def test_a_value_that_differs_is_refused() -> None:
    kernel = f"{PARTITION}/ranks.cu"
    assert "static assertion failed" in refusals(kernel, ["COUNTS == 17"])
    fields = list(said_by_python("partition.cuda.memory", "FIELDS"))
    swapped = fields.index("seen"), fields.index("reached")
    assert "static assertion failed" in refusals(kernel, [f"offsetof(Rank, reached) == {8 * swapped[0]}"])
