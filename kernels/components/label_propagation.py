"""Label propagation: every vertex takes the smallest label around it until none changes."""

from gravel.kernels.strategy import Strategy

STRATEGY = Strategy(
    name="label_propagation",
    about="Lowers each label to the smallest among the neighbours until none changes; the plain reference.",
    source="gravel",
    cpu="gravel.kernels.components.cpu.label_propagation:components",
)
