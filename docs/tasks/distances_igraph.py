"""The same in igraph."""

import igraph
import pandas

payments = pandas.read_parquet("payments.parquet")
graph = igraph.Graph.DataFrame(payments, directed=False, use_vids=False)
distances = pandas.Series(graph.distances("account-0000007")[0])
counts = distances.value_counts().sort_index()
counts.plot.bar(xlabel="distance", ylabel="accounts").figure.savefig("distances.svg")
