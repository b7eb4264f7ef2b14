"""Who is within three hops of an account, and the payments among them as a table."""

import pandas

import gravel

payments = pandas.read_parquet("payments.parquet")
graph = gravel.graph(payments, source="payer", target="payee", weights="amount", duplicates="sum")
near = graph.bfs("account-0000007").within(3)
near.edges().to_pandas().to_csv("near.csv", index=False)
print(len(near), "accounts")
