"""gravel as a backend of NetworkX: `nx.bfs_edges(G, source, backend="gravel")`, or for all calls by one setting.

NetworkX finds it by two entry points: `networkx.backend_info` is `info.py`, which imports nothing heavy, and
`networkx.backends` is `backend.py`. The functions are in one module per family; `docs/networkx.md` lists them.
"""
