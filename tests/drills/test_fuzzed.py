"""Thousands of fuzzed inputs of every kind: a clean error or the right result."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.drills.conftest import share
from tests.drills.fuzzing import YAML_TOKENS, dump, mutate, mutate_json, odd_server
from tests.drills.gravel import QUICKSTART, call_inside
from tests.drills.harm import seal
from tests.drills.outcomes import Tally
from tests.drills.small import STAGES, WORKFLOW, Small, Trial, copies, edges

pytestmark = [pytest.mark.slow, pytest.mark.timeout(0)]

SHARES = {"files": 0.40, "workflows": 0.20, "runs": 0.10, "records": 0.08}
SHARES |= {"schedules": 0.07, "remotes": 0.07, "urls": 0.08}
"""Of all inputs; `files` are in two tests."""

READ = """\
workflow: read
parameters: {file: "", format: auto}
stages:
  edges: {stage: ingest, file: "${file}", format: "${format}"}
  graph: {stage: symmetrize, input: edges}
  parts: {stage: traverse, input: graph, algorithm: components}
"""

PAIRS = [(dice.randrange(1, 31), dice.randrange(1, 31)) for dice in [random.Random(5)] for _ in range(50)]


def count(tries: Callable[[str], int], kind: str) -> int:
    return round(tries("fuzz") * SHARES[kind])


def files() -> dict[str, bytes]:
    """Return one small graph in each text format, and as Parquet and NumPy arrays."""
    import numpy
    import pyarrow
    from pyarrow import parquet

    lines = [f"{one} {other}" for one, other in PAIRS]
    neighbours: dict[int, set[int]] = {vertex: set() for vertex in range(1, 31)}
    for one, other in PAIRS:
        if one != other:
            neighbours[one].add(other)
            neighbours[other].add(one)
    half = sum(map(len, neighbours.values())) // 2
    metis = [f"30 {half}", *(" ".join(map(str, sorted(each))) for each in neighbours.values())]
    market = ["%%MatrixMarket matrix coordinate pattern general", f"30 30 {len(PAIRS)}", *lines]
    weighted = ["%%MatrixMarket matrix coordinate real general", f"30 30 {len(PAIRS)}"]
    snap = [f"# Nodes: 30 Edges: {len(PAIRS)}", "# FromNodeId\tToNodeId"]
    texts = {
        "snap.txt": [*snap, *(line.replace(" ", "\t") for line in lines)],
        "plain.el": lines,
        "weights.wel": [f"{line} 2.5" for line in lines],
        "table.csv": [line.replace(" ", ",") for line in lines],
        "pattern.mtx": market,
        "real.mtx": [*weighted, *(f"{line} 0.5" for line in lines)],
        "metis.graph": metis,
        "road.gr": [f"p sp 30 {len(PAIRS)}", *(f"a {line} 7" for line in lines)],
        "pace.gr": [f"p tw 30 {len(PAIRS)}", *lines],
    }
    found = {name: "".join(f"{line}\n" for line in each).encode() for name, each in texts.items()}
    source, target = numpy.array(PAIRS, numpy.int64).T
    table, arrays = io.BytesIO(), io.BytesIO()
    parquet.write_table(pyarrow.table({"source": source, "target": target}), table)
    numpy.savez(arrays, source=source, target=target)
    found |= {"table.parquet": table.getvalue(), "arrays.npz": arrays.getvalue()}
    if shared := os.environ.get("GRAVEL_TINY_GRAPHS"):
        found |= {path.name: path.read_bytes() for path in Path(shared).iterdir() if path.is_file()}
    return found


def read(trial: Trial, path: Path, form: str = "auto") -> bytes | None:
    """Run on a file and return the components, or None where it was refused."""
    file, target = str(trial.small.folder / "read.yaml"), trial.cache.parent / "parts.csv"
    target.unlink(missing_ok=True)
    words = ["--set", f"file={path}", "--set", f"format={form}", "--to", str(target), "--cluster", "inline"]
    return target.read_bytes() if trial.ask("export", file, "parts", *words) else None


@pytest.mark.parametrize("part", range(2))
def test_files(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int, part: int) -> None:
    """Of the files three in four are changed at random and one is only written in another way."""
    (small.folder / "read.yaml").write_text(READ)
    dice, tally = random.Random(f"files {seed} {part}"), Tally()
    whole, answers = files(), {}
    (tmp_path / "whole").mkdir()
    for name, data in whole.items():
        path = tmp_path / "whole" / name
        path.write_bytes(data)
        answers[name] = read(Trial(small, tmp_path / "cache", tally, f"whole {name}"), path)
        # One of the files that come from elsewhere is no graph.
        assert answers[name] is not None or "GRAVEL_TINY_GRAPHS" in os.environ, (name, tally.refusals)
    for number in range(share(count(tries, "files"), part, 2)):
        if number % 200 == 0:
            shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        name = dice.choice(sorted(whole))
        neutral = dice.random() < 0.25
        data = rewrite(dice, name, whole[name]) if neutral else mutate(dice, whole[name])
        suffix = dice.choice(["", "", ".gz", ".bz2"])
        data = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[suffix](data)
        if suffix and not neutral and dice.random() < 0.3:
            data = mutate(dice, data)
        path = tmp_path / (name + suffix)
        path.write_bytes(data)
        harm = f"{'rewritten' if neutral else 'fuzzed'} {name}: {data[:2000]!r}"
        trial = Trial(small, tmp_path / "cache", tally, harm)
        found = read(trial, path)
        tally.counts["inputs"] += 1
        tally.counts["inputs read"] += found is not None
        if neutral and found != answers[name]:
            tally.fail("a file written in another way was read differently", trial.harm)
        path.unlink()
    tally.tell(f"files, part {part}")


def rewrite(dice: random.Random, name: str, data: bytes) -> bytes:
    """Write the same graph in another way: other ends of lines, other order, some spaces."""
    if name.endswith((".parquet", ".npz")):
        return data
    lines = data.decode().splitlines()
    if name.endswith((".txt", ".el", ".csv")):
        head = [line for line in lines if line.startswith("#")]
        rest = [line for line in lines if not line.startswith("#")]
        dice.shuffle(rest)
        lines = head + rest
    end = dice.choice(["\n", "\r\n"])
    return (end.join(lines) + dice.choice([end, end, ""])).encode()


def test_workflows(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """They are planned: what is still a workflow may ask for a graph of any size."""
    dice, tally = random.Random(f"workflows {seed}"), Tally()
    texts = [WORKFLOW.encode()]
    texts += [
        t for path in sorted(QUICKSTART.parent.rglob("*.yaml")) if b"://" not in (t := path.read_bytes())
    ]
    folder = tmp_path / "workflows"
    shutil.copytree(QUICKSTART.parent, folder)  # what they include and read
    for name in ("edges.txt", "second.txt"):
        shutil.copy(small.folder / name, folder)
    for _ in range(count(tries, "workflows")):
        text = mutate(dice, dice.choice(texts), YAML_TOKENS)
        (folder / "fuzz.yaml").write_bytes(text)
        trial = Trial(small, tmp_path / "cache", tally, f"workflow {text!r}")
        trial.ask(dice.choice(["plan", "plan", "dag"]), str(folder / "fuzz.yaml"))
        tally.counts["inputs"] += 1
    tally.tell("workflows")


def rounds(small: Small, folder: Path, times: int) -> Iterator[Path]:
    """Yield a copy of the finished cache, a fresh one every ten times."""
    caches = copies(small, folder)
    for number in range(times):
        if number % 10 == 0:
            cache = next(caches)
        yield cache


def test_records_of_runs(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    dice, tally = random.Random(f"runs {seed}"), Tally()
    file = str(small.folder / "small.yaml")
    for cache in rounds(small, tmp_path, count(tries, "runs")):
        records = sorted(cache.glob("runs/*/run.json"))
        path = dice.choice(records[:2] + records[-1:])
        whole = path.read_bytes()
        text = dump(mutate_json(dice, json.loads(whole))) if dice.random() < 0.8 else mutate(dice, whole)
        path.write_bytes(text)
        trial = Trial(small, cache, tally, f"run record {text!r}")
        run = path.parent.name
        words = [("runs",), ("runs", "--json"), ("status",), ("logs", run, dice.choice(STAGES))]
        words += [("diff", run, "last"), ("show", dice.choice(STAGES)), ("report", run), ("cache", "gc")]
        words += [("run", file, "--failed", "--cluster", "inline"), ("plan", file), ("cache", "ls")]
        for each in dice.sample(words, 3):
            trial.ask(*each)
        path.write_bytes(whole)
        tally.counts["inputs"] += 1
    tally.tell("records of runs")


def test_records_of_results(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """Manifests and recipes of changed values, under a seal that fits; `cache verify` comes first."""
    dice, tally = random.Random(f"records {seed}"), Tally()
    caches = copies(small, tmp_path)
    for _ in range(count(tries, "records")):
        cache = next(caches)
        path = dice.choice(sorted(cache.glob(dice.choice(["artifacts", "recipes"]) + "/*.json")))
        body = mutate_json(dice, json.loads(path.read_bytes()))
        text = seal(body) if isinstance(body, dict) and body else dump(body)
        path.write_bytes(text)
        trial = Trial(small, cache, tally, f"record {path.parent.name}/{path.name} {text!r}")
        trial.ask("cache", "verify")
        trial.ask(*dice.choice([("cache", "ls"), ("cache", "gc"), ("show", dice.choice(STAGES))]))
        if trial.run():
            trial.compare()
        tally.counts["inputs"] += 1
    tally.tell("records of results")


def test_schedules(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    dice, tally = random.Random(f"schedules {seed}"), Tally()
    cache = tmp_path / "cache"
    trial = Trial(small, cache, tally, "whole")
    file = str(small.folder / "small.yaml")
    cron = ("--cron", "* * * * *", "--zone", "UTC")
    assert trial.ask("schedule", "add", file, "--name", "yearly", *cron)
    assert trial.ask("schedule", "tick")
    folder = cache / "schedules" / "yearly"
    claims = folder / "claims"
    claims.mkdir(exist_ok=True)
    whole = {path: path.read_bytes() for path in folder.rglob("*.json")}
    assert whole
    for _ in range(count(tries, "schedules")):
        path = dice.choice(sorted(whole))
        old = whole[path]
        text = dump(mutate_json(dice, json.loads(old))) if dice.random() < 0.7 else mutate(dice, old)
        path.write_bytes(text)
        trial = Trial(small, cache, tally, f"{path.name} {text!r}")
        for words in dice.sample([("list",), ("list", "yearly"), ("list", "--json"), ("unit",)], 2):
            trial.ask("schedule", *words)
        path.write_bytes(old)
        tally.counts["inputs"] += 1
    tally.tell("schedules")


def test_remotes(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int) -> None:
    """What another pushed, changed: pulled or refused, and the next run answers as ever."""
    dice, tally = random.Random(f"remotes {seed}"), Tally()
    trial = Trial(small, small.cache, tally, "whole")
    remote = tmp_path / "remote"
    assert trial.ask("cache", "push", str(remote))
    for _ in range(count(tries, "remotes")):
        place, cache = tmp_path / "changed", tmp_path / "pulled" / "cache"
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(cache.parent, ignore_errors=True)
        cache.parent.mkdir()
        shutil.copytree(remote, place)
        path = dice.choice(sorted(each for each in place.rglob("*") if each.is_file()))
        old = path.read_bytes()
        if path.suffix == ".json" and dice.random() < 0.7:
            body = mutate_json(dice, json.loads(old))
            text = seal(body) if isinstance(body, dict) and body else dump(body)
        else:
            text = mutate(dice, old)
        path.write_bytes(text)
        trial = Trial(small, cache, tally, f"remote {path.relative_to(place)} {text[:3000]!r}")
        trial.ask("cache", "pull", str(place))
        trial.ask("cache", "verify")
        if trial.run():
            trial.compare()
        tally.counts["inputs"] += 1
    tally.tell("remotes")


def test_urls(small: Small, tmp_path: Path, tries: Callable[[str], int], seed: int, monkeypatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    (small.folder / "read.yaml").write_text(READ)
    dice, tally = random.Random(f"urls {seed}"), Tally()
    body = edges(1).encode()
    with odd_server() as (answers, address):
        for number in range(count(tries, "urls")):
            if number % 50 == 0:
                shutil.rmtree(tmp_path / "cache", ignore_errors=True)
            answers.choose(dice, body)
            trial = Trial(small, tmp_path / "cache", tally, f"answer {answers.answer[:1500]!r}")
            found = read_url(trial, f"{address}/{number}.txt")
            tally.counts["inputs"] += 1
            tally.counts["inputs read"] += found
    tally.tell("urls")


def read_url(trial: Trial, url: str) -> bool:
    file = str(trial.small.folder / "read.yaml")
    return trial.ask("run", file, "--only", "graph", "--set", f"file={url}", "--cluster", "inline")


def test_command_lines(small: Small, tmp_path: Path) -> None:
    """Odd arguments of every verb end in an error of use."""
    tally = Tally()
    odd = ["", "-", "--", "\udcff", "a" * 5000, "/dev/null", "/", "..", "-1", "é", "x=y", "last"]
    for verb in ("run", "plan", "dag", "show", "logs", "export", "diff", "status", "runs"):
        for word in odd:
            done = call_inside(["", "", "", verb, word, "--cache", str(tmp_path / "cache")])
            tally.check(done, verb, f"{verb} {word[:50]!r}")
    tally.tell("command lines")
