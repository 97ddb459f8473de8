"""What the verdict calls safe is freed: when all promises have come and windows have passed, nothing is held.

At the end every stream has one tuple of a much later time that joins nothing: it moves the watermark.
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from seine.engine import read_script
from seine.operators.sorted_run import START
from seine.safety.verdict import verdict
from tests.unit.live_runs import Pipeline, read_story

DOMAIN = range(3)
LATE = 1000
ROWS = ("left", "right", *(f"rows{port}" for port in range(6)))


def seeds() -> range:
    """SEINE_SEEDS is a number of seeds, or a range such as 500-600."""
    first, dash, last = os.environ.get("SEINE_SEEDS", "8").rpartition("-")
    return range(int(first) if dash else 0, int(last))


def random_query(rng: Random) -> tuple[dict[str, list[tuple[str, ...]]], dict[str, int | None], str]:
    """The schemes and windows of some streams, and a query over them."""
    names = list("wxyz"[: rng.choice([2, 3, 3, 4])])
    schemes = {
        name: sorted(
            {tuple(sorted(rng.sample("abc", rng.choice([1, 1, 2])))) for _ in range(rng.randint(1, 3))}
        )
        for name in names
    }
    windows = {name: rng.choice([None, None, None, 5]) for name in names}
    equal = []
    for i, name in enumerate(names[1:]):
        for _ in range(rng.choice([1, 1, 2])):
            equal.append(f"{name}.{rng.choice('abc')} = {names[i]}.{rng.choice('abc')}")
    if rng.random() < 0.3:
        one, other = rng.sample(names, 2)
        equal.append(f"{one}.ts <= {other}.ts + {rng.randrange(4)}")
    if rng.random() < 0.3:
        one = rng.choice(names)
        equal.append(f"{one}.{rng.choice('ab')} = {one}.c")
    tables = list(names)
    if rng.random() < 0.4:
        tables.append("f")
        one, other = rng.sample(names, 2)
        equal = [
            *equal[: len(names) - 2],
            f"{one}.{rng.choice('abc')} = f.a",
            f"{other}.{rng.choice('abc')} = f.b",
        ]
    chosen = ", ".join(f"{name}.ts AS {name}_ts" for name in names)
    return schemes, windows, f"SELECT {chosen} FROM {', '.join(tables)} WHERE {' AND '.join(equal)}"


def write_script(rng: Random, folder: Path) -> Path:
    schemes, windows, query = random_query(rng)
    text = ["CREATE RELATION f (a BIGINT, b BIGINT) FROM 'f.jsonl';"]
    facts = [{"a": rng.choice(DOMAIN), "b": rng.choice(DOMAIN)} for _ in range(4)]
    write_lines(folder / "f.jsonl", facts)
    for number, (name, own) in enumerate(schemes.items()):
        window = f" WINDOW {windows[name]}" if windows[name] else ""
        clauses = "".join(f" PUNCTUATED ON ({', '.join(columns)})" for columns in own)
        text.append(
            f"CREATE STREAM {name} (a BIGINT, b BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts{window}{clauses}"
            f" FROM '{name}.jsonl';"
        )
        write_lines(folder / f"{name}.jsonl", lines(rng, own, number))
    text.append(f"CREATE QUERY q WITH (unbounded = true) AS {query};")
    (folder / "script.sql").write_text("\n".join(text), encoding="utf-8")
    return folder / "script.sql"


def lines(rng: Random, schemes: list[tuple[str, ...]], number: int) -> list[dict[str, Any]]:
    """Tuples, then every promise about their values, in some order; then the tuple that joins nothing."""
    rows: list[dict[str, Any]] = [
        {**{name: rng.choice(DOMAIN) for name in "abc"}, "ts": time} for time in range(20) for _ in range(2)
    ]
    promises: list[dict[str, Any]] = [
        {"@punctuate": dict(zip(scheme, values, strict=True)), "ts": 20}
        for scheme in schemes
        for values in itertools.product(DOMAIN, repeat=len(scheme))
    ]
    rng.shuffle(promises)
    stranger = {**{name: 100 + 10 * number + i for i, name in enumerate("abc")}, "ts": LATE}
    return [*rows, *promises, stranger]


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def starts_held(pipeline: Pipeline) -> list[int]:
    """When the rows begin that joins hold."""
    found: list[int] = []
    for store in pipeline.stores():
        for name in ROWS:
            for entry in store.head.get(name, []):
                starts = store.get(entry["run"])[START].to_numpy()
                gone = np.zeros(len(starts), bool)
                if "mask" in entry:
                    packed = store.get(entry["mask"])["gone"].to_numpy()
                    gone = np.unpackbits(packed, count=len(starts)).astype(bool)
                found += starts[~gone].tolist()
    return found


@pytest.mark.parametrize("seed", seeds())
def test_a_safe_query_ends_with_nothing_held(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    path = write_script(rng, tmp_path)
    (query,) = read_script(str(path)).declarations.queries.values()
    story = read_story(path, tmp_path / "journal", rng.choice([7, 20, 100]))
    (tmp_path / "run").mkdir()
    pipeline = Pipeline(tmp_path / "run", story, live=False)
    pipeline.network.add(query)
    for input_ in story.inputs:
        if not input_.end:
            pipeline.feed(input_)
    if verdict(query).safe:
        assert set(starts_held(pipeline)) <= {LATE}, query.text


def test_some_of_them_are_safe_and_some_are_not(tmp_path: Path) -> None:
    safe = 0
    for seed in range(40):
        (tmp_path / str(seed)).mkdir()
        path = write_script(Random(seed), tmp_path / str(seed))
        (query,) = read_script(str(path)).declarations.queries.values()
        safe += verdict(query).safe
    assert 8 < safe < 40
