"""Trimming, one forward-backward search for the largest component, and colouring for the others."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="forward_backward",
    about="Trims, finds the largest component by a forward and a backward search, and the others by colours.",
    source="Slota, Rajamanickam, Madduri, IPDPS 2014",
    cpu="gravel.kernels.components.strong.forward_backward_cpu:components",
    cuda="gravel.kernels.components.strong.forward_backward_cuda:components",
)
