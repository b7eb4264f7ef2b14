"""Presets of papers: what they fill in, what they refuse, and which settings a page calls whose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from gravel.kernels.partition import SearchOptions
from gravel.kernels.strategy import GIVEN, strategies_in
from gravel.stages.compress import CompressParameters
from gravel.stages.papers.settings import preset_sections
from gravel.stages.partition import PartitionParameters
from gravel.stages.presets import TUNING, all_presets
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traversal.records import asked_of, options_read
from tests.stages.measured import searched


def test_a_paper_fills_in_its_own_settings() -> None:
    merrill = TraverseParameters(paper="merrill2012")
    assert merrill.strategy == "hybrid"
    assert merrill.tuning == {
        "claim": "racing",
        "warp_culling": True,
        "history_culling": True,
        "gather": "scan_warp_cta",
        "tiles": "runs",
        "crowd": 1.0,
    }
    assert merrill.sources.random == 100
    pan = TraverseParameters(paper="pan2018", sources={"random": 3})
    assert pan.sources.random == 3
    options = SearchOptions(**pan.tuning)
    assert (options.nn_directed, options.dd_forward) == (False, 0.0)
    assert options.dd_backward == SearchOptions().dd_backward  # our text lost the paper's
    assert (options.changed_only, options.reduction) == (False, "blocking")
    assert (options.reduction_algorithm, options.message_bytes) == ("tree", 4 << 20)
    assert TraverseParameters(paper="pan2018").sources.random == 140
    over_nccl = TraverseParameters(paper="pan2018", backend="cuda", transport="nccl")
    assert "reduction_algorithm" not in over_nccl.tuning  # NCCL has ways of its own
    assert TraverseParameters(paper="flexbfs").tuning == {"configuration": "config3"}
    assert PartitionParameters(paper="pan2018", ranks=2).threshold == 64
    assert CompressParameters(paper="moschou").codec == "varint"


def test_one_of_several_ways_of_a_paper_may_be_chosen() -> None:
    two_phase = TraverseParameters(paper="merrill2012", strategy="two_phase", tuning={"tiles": "stealing"})
    assert two_phase.strategy == "two_phase"
    assert two_phase.tuning["tiles"] == "stealing"
    assert "crowd" not in two_phase.tuning  # which hybrid alone has
    flex = TraverseParameters(paper="flexbfs", tuning={"configuration": "fixed", "fixed_threads": 256})
    assert flex.tuning == {"configuration": "fixed", "fixed_threads": 256}
    multi = TraverseParameters(
        paper="moschou",
        algorithm="components",
        strategy="afforest_multi_pass",
        tuning={"prune": False},
    )
    assert multi.tuning == {"prune": False, "giant": "first"}
    packed = TraverseParameters(paper="moschou", strategy="top_down")
    assert (packed.tuning, packed.backend) == ({"decoder": "one_lane"}, "cuda")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"paper": "merrill2012", "tuning": {"claim": "atomic"}},
            "paper merrill2012 has tuning.claim racing .*, and atomic is asked for; leave tuning.claim out",
        ),
        (
            {"paper": "merrill2012", "strategy": "persistent"},
            "has strategy hybrid or two_phase or .* persistent is asked for; leave strategy out",
        ),
        (
            {"paper": "pan2018", "tuning": {"nn_directed": True}},
            "has tuning.nn_directed false .* true is asked",
        ),
        (
            {"paper": "pan2018", "tuning": {"dd_forward": 0.001}},
            "has tuning.dd_forward 0.0 .* 0.001 is asked",
        ),
        ({"paper": "moschou", "strategy": "hybrid"}, "has strategy adaptive or top_down"),
        (
            {"paper": "pan2018", "tuning": {"changed_only": True}},
            "has tuning.changed_only false .section V-A.* true is asked for",
        ),
        ({"paper": "merill2012"}, "no preset 'merill2012' of a paper .did you mean 'merrill2012'"),
    ],
)
def test_what_contradicts_a_paper_is_refused_naming_both(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        TraverseParameters(**given)


def test_a_codec_that_contradicts_a_paper_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"has codec varint .* blocks is asked for"):
        CompressParameters(paper="moschou", codec="blocks")


@pytest.mark.parametrize(
    "chosen", [each for each in all_presets() if each.stage == "traverse"], ids=lambda p: p.name
)
def test_every_setting_is_one_that_a_strategy_has(chosen: Any) -> None:
    names = {each.name.removeprefix(TUNING) for each in chosen.settings if each.name.startswith(TUNING)}
    if chosen.name in ("pan2018", "merrill2012_striped"):
        assert names <= set(vars(SearchOptions()))
        return
    strategies = [value for each in chosen.settings if each.name == "strategy" for value in each.values]
    known: set[str] = set()
    for package in ("gravel.kernels.bfs", "gravel.kernels.components"):
        for name, strategy in strategies_in(package).items():
            if name in strategies and strategy.cuda:
                known |= set(strategy.ran("cuda", {}).options)
    assert names <= known - set(GIVEN)


def test_without_a_paper_parameters_stay_as_they_are() -> None:
    assert TraverseParameters(tuning={"claim": "atomic"}).tuning == {"claim": "atomic"}
    again = TraverseParameters.model_validate_json(TraverseParameters(paper="pan2018").model_dump_json())
    assert again == TraverseParameters(paper="pan2018")


def test_a_page_says_whose_each_setting_is() -> None:
    parameters = TraverseParameters(paper="merrill2012", strategy="two_phase", sources={"random": 2})
    options = {**parameters.tuning, "block": 256, "blocks": 1056, "tile_min_items": 256}
    one = searched("two_phase", 1.0, asked=asked_of(parameters))
    one = replace(one, ran={"function": "f", "backend": "cuda", "options": options})
    (table,) = preset_sections([("bfs", one), ("other", searched("serial", 1.0))])
    rows = {row[1]: row[2:] for row in table["rows"]}
    assert rows["tuning.claim"] == [
        "racing (section 4.2: no atomics; with predecessors an atomicMin, since gravel's are the smallest)",
        "racing",
        "the paper's",
        "bfs",
    ]
    assert rows["tuning.block"] == ["not stated", "256", "gravel's", "bfs"]
    assert rows["sources"] == ["random 100 (section 5.5)", "random 2, seed 1", "gravel's", "bfs"]
    assert "tuning.crowd" not in rows


def test_a_page_shows_settings_without_effect_as_not_used() -> None:
    parameters = TraverseParameters(paper="pan2018", tuning={"groups": 2}, sources={"random": 2})
    one = searched("partition", 1.0, asked=asked_of(parameters))
    read = options_read(SearchOptions(**parameters.tuning), "peer")
    one = replace(one, ran={"function": "f", "backend": "cuda", "options": read})
    (table,) = preset_sections([("bfs", one)])
    rows = {row[1]: row[2:5] for row in table["rows"]}
    for name in ("reduction", "changed_only", "message_bytes"):
        assert rows[f"tuning.{name}"][1:] == ["not used", ""]
    assert rows["tuning.nn_directed"][1:] == ["false", "the paper's"]
    assert rows["tuning.groups"][0].startswith("not stated (section V-A: ")
    assert rows["tuning.dd_backward"] == [
        "not stated (section VI-B, whose range is lost in our text)",
        "0.01",
        "gravel's",
    ]
