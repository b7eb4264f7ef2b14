"""A plan as a picture: a tree for the terminal, SVG, and DOT for Graphviz."""

from pipeline.plan.drawing.dot import draw_dot
from pipeline.plan.drawing.graph import Box, boxes_of_entries, boxes_of_runs
from pipeline.plan.drawing.svg import draw_svg
from pipeline.plan.drawing.tree import draw_tree

__all__ = ["Box", "boxes_of_entries", "boxes_of_runs", "draw_dot", "draw_svg", "draw_tree"]
