"""Moschou, Adaptive BFS & Afforest: its tables are in `published.yaml`."""

from gravel.stages.presets import Preset, Setting

_BFS, _COMPONENTS = {"algorithm": ("bfs",)}, {"algorithm": ("components",)}
_PLAIN, _PACKED = {"strategy": ("adaptive",)}, {"strategy": ("top_down",)}

PRESETS = (
    Preset(
        "moschou2024",
        "traverse",
        "Moschou, Adaptive BFS & Afforest",
        (
            Setting("strategy", ("adaptive", "top_down"), "sections 2.2 and 2.3", _BFS),
            Setting("strategy", ("afforest_single_pass", "afforest_multi_pass"), "section 2.4", _COMPONENTS),
            Setting("tuning.decoder", ("one_lane",), "section 2.3: compressed rows", _BFS | _PACKED),
            Setting("backend", ("cuda",), "section 2.3", _BFS | _PACKED),
            Setting("tuning.prune", (True, False), "section 2.4", _COMPONENTS),
            Setting("tuning.giant", ("first",), "section 2.4: that of vertex 0", _COMPONENTS),
            Setting("placement", ("pinned",), "section 3.1", {"backend": ("cuda",)}, strict=False),
            Setting("tuning.threshold", when=_BFS | _PLAIN),
            Setting("tuning.block", when=_BFS),
        ),
    ),
    Preset(
        "moschou2024",
        "compress",
        "Moschou, Adaptive BFS & Afforest",
        (Setting("codec", ("varint",), "section 2.1"),),
    ),
)
