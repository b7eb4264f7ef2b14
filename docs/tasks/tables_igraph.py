"""The same in igraph, not verified: `python tables_igraph.py graphs/*.txt`."""

import sys
from pathlib import Path

import igraph
import pandas

for file in map(Path, sys.argv[1:]):
    graph = igraph.Graph.Read_Ncol(str(file), directed=False)
    parts = graph.connected_components().membership
    table = pandas.DataFrame({"vertex": map(int, graph.vs["name"]), "component": parts})
    table["component"] = table.groupby("component")["vertex"].transform("min")
    out = Path("out") / f"{file.stem}.parts.parquet"
    out.parent.mkdir(exist_ok=True)
    table.sort_values("vertex").to_parquet(out, index=False)
