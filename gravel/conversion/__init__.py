"""Data of other libraries as edges or rows, with the ids of their vertices."""
