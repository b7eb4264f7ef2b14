"""Merrill, Garland, Grimshaw: PPoPP 2012 and TOPC 2015."""

from gravel.stages.presets import Preset, Setting

PRESETS = (
    Preset(
        "merrill2012",
        "traverse",
        "Merrill, Garland, Grimshaw, PPoPP 2012",
        (
            Setting("strategy", ("hybrid", "two_phase", "contract_expand", "expand_contract"), "section 5"),
            Setting(
                "tuning.claim",
                ("racing",),
                "section 4.2: no atomics; with predecessors an atomicMin, since gravel's are the smallest",
            ),
            Setting("tuning.warp_culling", (True,), "section 4.2"),
            Setting("tuning.history_culling", (True,), "section 4.2"),
            Setting("tuning.gather", ("scan_warp_cta",), "section 4.1"),
            Setting("tuning.tiles", ("runs", "stealing"), "section 4.1: both ways of scheduling"),
            Setting("tuning.crowd", (1.0,), "section 5.4: resident threads", {"strategy": ("hybrid",)}),
            Setting("sources", ({"random": 100},), "section 5.5", strict=False),
            Setting("tuning.block"),
            Setting("tuning.blocks"),
            Setting("tuning.tile_min_items"),
        ),
    ),
    Preset(
        "merrill2012_striped",
        "traverse",
        "Merrill, Garland, Grimshaw, PPoPP 2012, section 6",
        (
            Setting("tuning.direction_optimized", (False,), "section 6.1"),
            Setting("tuning.nn_directed", (False,), "section 6.1"),
            Setting("tuning.uniquify", (True, False), "section 6.1"),
            Setting(
                "tuning.bitmask",
                ("best_effort",),
                "section 6.1: of all vertices",
                {"tuning.uniquify": (True,)},
            ),
            Setting("tuning.local_duplicates", (True, False), "section 6.1"),
            Setting("tuning.bins", ("prefix_sum",), "section 6.1: radix sort"),
            Setting("sources", ({"random": 100},), "section 5.5", strict=False),
            Setting("tuning.predecessors"),
        ),
    ),
    Preset(
        "merrill2012_striped",
        "partition",
        "Merrill, Garland, Grimshaw, PPoPP 2012, section 6",
        (Setting("scheme", ("striped",), "section 6.1"),),
    ),
    Preset(
        "topc2015",
        "traverse",
        "Merrill, Garland, Grimshaw, TOPC 2015",
        (
            Setting("strategy", ("quadratic", "linear_queue"), "algorithms 2 and 3"),
            Setting("tuning.mapping", ("thread",), "algorithm 2", {"strategy": ("quadratic",)}),
            Setting("sources", ({"random": 100},), "as PPoPP 2012", strict=False),
            Setting("tuning.block"),
        ),
    ),
)
