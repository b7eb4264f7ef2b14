"""What a report says of each kind of artifact: functions from labelled artifacts.

A section is plain data: `{"kind": "table", "title", "about", "columns", "rows"}`,
`{"kind": "figure", "title", "about", "chart", "data"}` whose chart is one of `gravel.stages.charts` as JSON,
or once in a report, as its first, `{"kind": "answer", "title", "about", "verdict", "facts"}`, whose title is
the answer and whose facts are pairs of a name and a sentence. `part` says where a page shows it; see
`arrangement`. A cell is a string, a number, None, or `{"vertex": i}`, which whoever shows it replaces by the
id that the input file uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gravel.stages.sections.centralities import centrality_sections
from gravel.stages.sections.components import component_sections
from gravel.stages.sections.counters import counter_sections
from gravel.stages.sections.dealt import dealt_sections
from gravel.stages.sections.graph500 import graph500_sections
from gravel.stages.sections.graphs import (
    edge_list_sections,
    graph_sections,
    matrix_sections,
    ordering_sections,
)
from gravel.stages.sections.layouts import compressed_sections, partition_sections
from gravel.stages.sections.probe_repetitions import probe_with_repetitions
from gravel.stages.sections.ranks import rank_sections
from gravel.stages.sections.repetitions import measurement_with_repetitions
from gravel.stages.sections.striped import striped_sections
from gravel.stages.sections.study import study_sections
from gravel.stages.sections.verification import verification_sections

Section = dict[str, Any]

SECTIONS: tuple[tuple[tuple[str, ...], Callable[[Sequence[tuple[str, Any]]], list[Section]]], ...] = (
    (("Ordering", "CompressedGraph", "Measurement", "Verification"), study_sections),
    (("Measurement",), graph500_sections),
    (("EdgeList",), edge_list_sections),
    (("Graph",), graph_sections),
    (("Ordering",), ordering_sections),
    (("Graph", "Ordering"), matrix_sections),
    (("Partition", "DistributedGraph"), partition_sections),
    (("EdgeList", "Partition", "Measurement", "Links"), rank_sections),
    (("Measurement",), striped_sections),
    (("CompressedGraph",), compressed_sections),
    (("Measurement",), measurement_with_repetitions),
    (("Measurement",), dealt_sections),
    (("Probe",), probe_with_repetitions),
    (("Counters",), counter_sections),
    (("Traversal",), component_sections),
    (("Centrality", "Batches"), centrality_sections),
    (("Verification",), verification_sections),
)
"""Kinds of artifact and what is said of all artifacts of these kinds together, in the order of a report."""
