"""Gravel's own stages pass the suite that authors of other stages run."""

from __future__ import annotations

from gravel.conformance import StageConformance


class TestIngest(StageConformance):
    stage_name = "ingest"
    parameters = ({"source": {"rmat": {"scale": 5}}},)


class TestSymmetrize(StageConformance):
    stage_name = "symmetrize"
    parameters = ({}, {"self_loops": "keep", "duplicates": "keep", "direction": "as_given"})


class TestReorder(StageConformance):
    stage_name = "reorder"
    parameters = ({"method": "rcm"}, {"method": "random", "seed": 3})


class TestPartition(StageConformance):
    stage_name = "partition"
    parameters = ({"ranks": 2, "threshold": 4},)


class TestDistribute(StageConformance):
    stage_name = "distribute"
    parameters = (
        {"source": {"rmat": {"scale": 5}}, "ranks": 3},
        {"source": {"grid": {"dimensions": [5, 6]}}, "threshold": 2},
    )


class TestCompress(StageConformance):
    stage_name = "compress"
    parameters = ({}, {"codec": "csr"})


class TestTraverse(StageConformance):
    stage_name = "traverse"
    parameters = ({"sources": {"random": 2, "seed": 1}}, {"algorithm": "components"})


class TestVerify(StageConformance):
    stage_name = "verify"


class TestReport(StageConformance):
    stage_name = "report"
