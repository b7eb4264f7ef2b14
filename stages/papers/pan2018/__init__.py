"""Pan, Pearce, Owens, IPDPS 2018."""

from gravel.stages.presets import Preset, Setting

_FACTORS = tuple(
    setting
    for name in ("nd", "dn", "dd")
    for setting in (
        Setting(f"tuning.{name}_backward", where="section VI-B, whose range is lost in our text"),
        Setting(f"tuning.{name}_forward", (0.0,), "section VI-B: no way back on RMAT"),
    )
)

PRESETS = (
    Preset(
        "pan2018",
        "traverse",
        "Pan, Pearce, Owens, IPDPS 2018",
        (
            Setting("tuning.direction_optimized", (True, False), "DO, section VI-B"),
            Setting("tuning.local_all_to_all", (False, True), "L, section VI-B"),
            Setting("tuning.uniquify", (False, True), "U, section VI-B"),
            Setting("tuning.reduction", ("blocking", "overlapped"), "BR and IR, section VI-B"),
            Setting(
                "tuning.reduction_algorithm",
                ("tree", "recursive_doubling"),
                "section V-A: tree-like; or as MPI_Allreduce",
                {"transport": ("auto", "peer")},
            ),
            Setting("tuning.changed_only", (False,), "section V-A: whole masks are reduced"),
            Setting(
                "tuning.message_bytes",
                (4 << 20,),
                "section VI-A1: about 4 MB for data of more than 2 MB",
                strict=False,
            ),
            Setting("tuning.nn_directed", (False,), "section IV-B: nn is visited forward alone"),
            *_FACTORS,
            Setting("sources", ({"random": 140},), "section VI-A3", strict=False),
            Setting(
                "tuning.groups",
                where="section V-A: reduced within an MPI rank, then between; so as many as it has MPI ranks",
            ),
            Setting("tuning.predecessors"),
        ),
    ),
    Preset(
        "pan2018",
        "partition",
        "Pan, Pearce, Owens, IPDPS 2018",
        (
            Setting("scheme", ("delegates",), "section III-A"),
            Setting("threshold", (64,), "section VI-B; other graphs have others", strict=False),
        ),
    ),
)
