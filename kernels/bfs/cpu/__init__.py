"""Breadth-first search on the CPU: one compiled loop over levels, shared by a team of threads.

`push.py` and `pull.py` hold the two directions, `levels.py` decides between them and leads the team,
`search.py` holds the workspace, times a search and has both strategies that are made of these.
"""
