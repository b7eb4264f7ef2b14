"""The same in igraph."""

import igraph
import pandas

payments = pandas.read_parquet("payments.parquet")
graph = igraph.Graph.DataFrame(payments, directed=False, use_vids=False)
graph.simplify(combine_edges="sum")
near = graph.induced_subgraph(graph.neighborhood("account-0000007", order=3))
table = near.get_edge_dataframe()
for end in ("source", "target"):
    table[end] = table[end].map(pandas.Series(near.vs["name"]))
table.to_csv("near.csv", index=False)
print(near.vcount(), "accounts")
