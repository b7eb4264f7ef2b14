"""A picture of how many accounts are at each distance from one."""

import pandas

import gravel

payments = pandas.read_parquet("payments.parquet")
graph = gravel.graph(payments, source="payer", target="payee")
search = graph.bfs("account-0000007", output="distance")
counts = search.to_pandas()["distance"].value_counts().sort_index()
counts.plot.bar(xlabel="distance", ylabel="accounts").figure.savefig("distances.svg")
