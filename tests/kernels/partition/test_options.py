"""How long ranks wait for each other: a limit that is checked, and what is said when it was too short."""

import math

import pytest

from gravel.kernels.partition import SearchOptions
from gravel.kernels.partition.options import BARRIER_SECONDS, MAX_BARRIER_SECONDS, given_up
from gravel.stages.errors import StageError
from gravel.stages.traversal.parameters import TraverseParameters
from gravel.stages.traversal.strategy import barrier_limit, refusals, tuning_faults


def test_the_limit_is_an_option_and_is_checked() -> None:
    assert SearchOptions().barrier_seconds == BARRIER_SECONDS
    assert SearchOptions(barrier_seconds=MAX_BARRIER_SECONDS).barrier_seconds == MAX_BARRIER_SECONDS
    for seconds in (0, -1.0, MAX_BARRIER_SECONDS + 1, math.inf, math.nan):
        with pytest.raises(ValueError, match="it is above 0 and at most 3600, and 20 by default"):
            SearchOptions(barrier_seconds=seconds)


def test_the_error_says_the_limit_and_what_to_do() -> None:
    told = given_up(7.5)
    assert "for 7.5 s" in told
    assert "tuning: {barrier_seconds: SECONDS}" in told


def test_components_take_it_too_and_nothing_else() -> None:
    assert barrier_limit({}) == BARRIER_SECONDS
    assert barrier_limit({"barrier_seconds": 60}) == 60.0
    with pytest.raises(StageError, match="barrier_seconds is 0"):
        barrier_limit({"barrier_seconds": 0})
    for tuning, refused in (({"barrier_seconds": 60}, []), ({"barrier_seconds": 60, "alpha": 1}, ["tuning"])):
        asked = TraverseParameters(algorithm="components", tuning=tuning)
        assert [refusal.name for refusal in refusals(asked, "Partition")] == refused


@pytest.mark.parametrize("algorithm", ["bfs", "components"])
def test_a_workflow_may_state_it(algorithm: str) -> None:
    asked = {"barrier_seconds": 60.0}
    assert not [*tuning_faults(TraverseParameters(algorithm=algorithm, tuning=asked))]
    [fault] = tuning_faults(TraverseParameters(algorithm=algorithm, tuning={"barrier_secs": 60.0}))
    assert "did you mean 'barrier_seconds'?" in str(fault)
    [fault] = tuning_faults(TraverseParameters(algorithm=algorithm, tuning={"barrier_seconds": 0.0}))
    assert "it is above 0 and at most 3600" in str(fault)
