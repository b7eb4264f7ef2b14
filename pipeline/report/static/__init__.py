"""Charts drawn by Matplotlib, for a page without scripts and for papers. Nothing else imports Matplotlib."""

from gravel.pipeline.report.static.drawing import inline_svg as inline_svg
from gravel.pipeline.report.static.files import write_figures as write_figures
