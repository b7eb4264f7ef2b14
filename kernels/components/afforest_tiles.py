"""Afforest by tiles: neighbouring vertices are joined in shared memory first."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="afforest_tiles",
    about="Joins tiles of neighbouring vertices in shared memory first; its parts can be chosen.",
    source="gravel, after Sutton, Ben-Nun, Barak, IPDPS 2018",
    cuda="gravel.kernels.components.cuda.afforest_tiles:components",
)
