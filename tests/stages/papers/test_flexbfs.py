"""The section on FlexBFS: launch sizes fed back against fixed ones, and what each step changes."""

from __future__ import annotations

from dataclasses import replace

from gravel.stages.artifacts import Measurement
from gravel.stages.papers.flexbfs import launch_sections
from tests.stages.measured import searched

SHARES = (1.0, 1.1, 0.9)


def flex(configuration: str, milliseconds: float, *, threads: int = 64, launches: int = 9) -> Measurement:
    one = searched("flex", milliseconds, times=SHARES, asked={"tuning": {"configuration": configuration}})
    for search in one.searches:
        sizes = {"least": threads, "most": 2 * threads, "sum": launches * threads}
        search |= {"launches": launches, "launch_threads": sizes}
    return replace(one, ran={"function": "f", "backend": "cuda", "options": {"configuration": configuration}})


def test_sizes_are_set_against_those_fed_back_and_steps_against_the_one_before() -> None:
    runs = {
        "bfs[search=fixed]": flex("fixed", 4.0, threads=256),
        "bfs[search=baseline]": flex("baseline", 2.0),
        "bfs[search=config1]": flex("config1", 1.5, launches=3),
        "bfs[search=config2]": flex("config2", 1.5, launches=3),
        "bfs[search=serial]": searched("serial", 9.0),
    }
    sizes, steps = launch_sections(list(runs.items()))
    assert [row[1:9] for row in sizes["rows"]] == [
        ["fixed", "fixed", 256, 512, 9, 2304, 4.0, 2.0],
        ["baseline", "fed back", 64, 128, 9, 576, 2.0, None],
        ["config1", "fed back", 64, 128, 3, 192, 1.5, 0.75],
        ["config2", "fed back", 64, 128, 3, 192, 1.5, 0.75],
    ]
    assert [row[1:] for row in steps["rows"]] == [
        ["config1", "baseline", -25.0, ""],
        ["config2", "config1", 0.0, "a tie"],
    ]


def test_other_searches_have_no_such_section() -> None:
    assert launch_sections([("bfs", searched("serial", 1.0))]) == []
