"""All papers, in the order of their years and of docs/figures.md."""

from __future__ import annotations

from tests.benchmarks.figures import flexbfs, merrill2012, moschou, pan2018

PAPERS = (merrill2012.PAPER, flexbfs.PAPER, pan2018.PAPER, moschou.PAPER)
