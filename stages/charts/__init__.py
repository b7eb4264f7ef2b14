"""Charts as data: what a report draws, for a page that draws it in the browser and for Matplotlib.

A chart has panels, each of one of three kinds: curves over numbers, rows of named things, cells of a grid.
It says what is shown, never how many pixels or inches it takes: that is a drawer's.
"""

from gravel.stages.charts.figure import MAX_POINTS as MAX_POINTS
from gravel.stages.charts.figure import MAX_SINGLE_LEVELS as MAX_SINGLE_LEVELS
from gravel.stages.charts.figure import bands as bands
from gravel.stages.charts.figure import figure as figure
from gravel.stages.charts.figure import map_panel as map_panel
from gravel.stages.charts.figure import shade_digits as shade_digits
from gravel.stages.charts.figure import thinned as thinned
from gravel.stages.charts.model import COLORS as COLORS
from gravel.stages.charts.model import Axis as Axis
from gravel.stages.charts.model import Cells as Cells
from gravel.stages.charts.model import Chart as Chart
from gravel.stages.charts.model import Curves as Curves
from gravel.stages.charts.model import Line as Line
from gravel.stages.charts.model import Panel as Panel
from gravel.stages.charts.model import Rows as Rows
from gravel.stages.charts.model import RowSeries as RowSeries
from gravel.stages.charts.model import Rule as Rule
from gravel.stages.charts.model import Span as Span
