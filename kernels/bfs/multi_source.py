"""Up to 64 searches at once, with one bit for each in a word per vertex."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="multi_source",
    about="Searches from up to 64 vertices at once, with one bit each, sharing every arc they read.",
    source="Then et al., The More the Merrier, PVLDB 8(4), 2014, sections 3 and 4",
    cpu="gravel.kernels.bfs.cpu.multi_source:prepare",
    cuda="gravel.kernels.bfs.cuda.multi_source:prepare",
)
