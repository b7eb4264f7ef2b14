"""A plan as a picture: a tree for the terminal, SVG, and DOT for Graphviz."""

from gravel.pipeline.plan.drawing.dot import draw_dot
from gravel.pipeline.plan.drawing.graph import Box, boxes_of_entries, boxes_of_runs
from gravel.pipeline.plan.drawing.svg import draw_svg
from gravel.pipeline.plan.drawing.tree import draw_tree

__all__ = ["Box", "boxes_of_entries", "boxes_of_runs", "draw_dot", "draw_svg", "draw_tree"]
