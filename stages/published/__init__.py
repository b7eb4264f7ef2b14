"""Figures that papers print, read from a file such as `workflows/published.yaml`, for a report."""

from stages.published.model import CONVENTIONS as CONVENTIONS
from stages.published.model import Claim as Claim
from stages.published.model import Published as Published
from stages.published.model import Row as Row
from stages.published.model import Table as Table
from stages.published.reading import read_published as read_published
