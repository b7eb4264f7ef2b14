"""gravel as a backend of NetworkX: `nx.bfs_edges(G, source, backend="gravel")`.

NetworkX finds it by two entry points. `networkx.backend_info` is `info.py`, which imports nothing heavy, and
`networkx.backends` is `backend.py`. Each family of functions has a module; `docs/networkx.md` lists them.
"""
