"""The keys of an entry of a workflow that no parameter of a stage can be called by."""

from __future__ import annotations

__all__ = ["RESERVED"]

RESERVED = {
    "stage": "the stage that this entry runs",
    "input": "the entry that feeds the stage's one slot, or its slot `input`",
    "inputs": "a list for a slot that takes several, or a mapping slot -> entry",
    "keep": "true: the result is stored; false: it stays in memory and is not stored; auto, the default: "
    "it is stored unless making it again is faster than reading it",
    "repeat": "how often a stage that measures does so; every repetition is kept",
    "time_limit": "how long a run may take, such as `10 min`; then it is stopped and counts as failed",
    "over": "`matrix`, or a list of axes: gather their combinations in one run; `none`: one run each",
    "about": "what the entry is for",
}
"""Keys of an entry that are not parameters of its stage."""
