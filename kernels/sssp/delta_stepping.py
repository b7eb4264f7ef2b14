"""Delta-stepping: vertices of the nearest bucket are relaxed until none is left, the rest wait in a pile."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="delta_stepping",
    about="Relaxes the nearest bucket in rounds; what is farther waits in one pile, split when it is empty.",
    source="Meyer, Sanders, J. Algorithms 2003; near-far: Davidson, Baxter, Garland, Owens, IPDPS 2014",
    cpu="gravel.kernels.sssp.cpu.delta_stepping:prepare",
    cuda="gravel.kernels.sssp.cuda.delta_stepping:prepare",
    outputs=("distance", "both"),
)
