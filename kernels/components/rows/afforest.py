"""Afforest on encoded rows: rows inside the largest component are not even decoded."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="afforest",
    about="Joins first neighbours or sampled rows, and decodes rows outside the largest component alone.",
    source="Sutton, Ben-Nun, Barak, IPDPS 2018",
    cpu="gravel.kernels.components.rows.cpu:prepare",
    cuda="gravel.kernels.components.rows.cuda:prepare",
)
