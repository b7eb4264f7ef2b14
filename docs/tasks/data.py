"""Writes the data of the five tasks into the current folder: `python data.py [PAYMENTS] [EDGES_OF_A_FILE]`.

`payments.parquet` has the columns `payer`, `payee` and `amount`. Accounts pay others with near numbers, so
that three hops do not lead everywhere. `graphs/` has sixty edge lists, and `edges.txt` is one with as many
edges as there are payments.
"""

import sys
from pathlib import Path

import numpy
import pandas

payments = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
edges = int(sys.argv[2]) if len(sys.argv) > 2 else 200
random = numpy.random.default_rng(20)


def pairs(count: int, vertices: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the ends of edges, whose numbers differ by about 40."""
    first = random.integers(0, vertices, count)
    return first, (first + random.geometric(1 / 40, count)) % vertices


def write_edges(path: Path, count: int) -> None:
    """Write a graph of many components."""
    pandas.DataFrame(pairs(count, 2 * count)).T.to_csv(path, sep=" ", header=False, index=False)


payer, payee = pairs(payments, payments // 2)
names = numpy.array([f"account-{number:07d}" for number in range(payments // 2)])
amount = random.integers(1, 1_000, payments)
pandas.DataFrame({"payer": names[payer], "payee": names[payee], "amount": amount}).to_parquet(
    "payments.parquet"
)

Path("graphs").mkdir(exist_ok=True)
for number in range(60):
    write_edges(Path(f"graphs/region-{number:02d}.txt"), edges)
write_edges(Path("edges.txt"), payments)
