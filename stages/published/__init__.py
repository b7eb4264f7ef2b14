"""Figures that papers print, read from a file such as `workflows/published.yaml`, for a report."""

from gravel.stages.published.model import CONVENTIONS as CONVENTIONS
from gravel.stages.published.model import Claim as Claim
from gravel.stages.published.model import Published as Published
from gravel.stages.published.model import Row as Row
from gravel.stages.published.model import Table as Table
from gravel.stages.published.reading import read_published as read_published
