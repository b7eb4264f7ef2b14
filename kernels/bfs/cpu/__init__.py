"""Breadth-first search on the CPU: one compiled loop over levels, shared by a team of threads.

`push.py` and `pull.py` hold the two directions, `levels.py` decides between them and leads the team,
`search.py` holds the workspace and times a search; the other modules are the strategies' entries.
"""
