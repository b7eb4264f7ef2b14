"""The same in igraph, not verified."""

import igraph
import pandas

payments = pandas.read_parquet("payments.parquet")
graph = igraph.Graph.DataFrame(payments, use_vids=False)
graph.simplify(combine_edges="sum")
ranks = graph.pagerank(weights="amount")
for account, rank in sorted(zip(graph.vs["name"], ranks, strict=True), key=lambda each: -each[1])[:10]:
    print(account, f"{rank:.6g}")
