"""Random queries of which some are safe: joins with their streams, and groups and sets over x, y and z."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.generators import spellings
from tests.support.freed_runs import COLUMNS, Stream, random_schemes, write_script

NAMES = "xyz"
ENDS = ["", "", "", " WINDOW 5", " WINDOW 5 RETRACTABLE", " RETRACTABLE"]


def random_join_script(rng: Random, folder: Path) -> Path:
    """Some streams with schemes and windows, and a query that joins them."""
    names = list("wxyz"[: rng.choice([2, 3, 3, 4])])
    streams = {
        name: Stream(
            random_schemes(rng), rng.choice(["", "", "", " WINDOW 5"]), {"c": rng.choice(["BIGINT", "INT"])}
        )
        for name in names
    }
    ways = spellings.EQUAL if rng.random() < 0.8 else (*spellings.EQUAL, *spellings.UNTOLD)
    equal = []
    for i, name in enumerate(names[1:]):
        for _ in range(rng.choice([1, 1, 2])):
            sides = f"{name}.{rng.choice(COLUMNS)}", f"{names[i]}.{rng.choice(COLUMNS)}"
            equal.append(spellings.equal(rng, *sides, ways))
    if rng.random() < 0.3:
        one, other = rng.sample(names, 2)
        late = f"{rng.choice([one, other])}.{rng.choice(['a', 'b + 10'])}"
        by = rng.choice([f"{other}.ts", f"{other}.ts", late, f"{other}.ts + {other}.b"])
        equal.append(spellings.at_most(rng, f"{one}.ts", f"({by})", rng.randrange(4)))
    if rng.random() < 0.3:
        one = rng.choice(names)
        equal.append(spellings.equal(rng, f"{one}.{rng.choice('ab')}", f"{one}.c", ways))
    tables = list(names)
    if rng.random() < 0.4:
        tables.append("f")
        one, other = rng.sample(names, 2)
        pairs = [(f"{one}.{rng.choice(COLUMNS)}", "f.a"), (f"{other}.{rng.choice(COLUMNS)}", "f.b")]
        facts = [spellings.equal(rng, *pair, ways) for pair in pairs]
        equal = [*equal[: len(names) - 2], *facts]
    chosen = ", ".join(f"{name}.ts AS {name}_ts" for name in names)
    query = f"SELECT {chosen} FROM {', '.join(tables)} WHERE {' AND '.join(equal)}"
    return write_script(rng, folder, streams, query)


def random_group_query(rng: Random) -> str:
    one, other = rng.sample(NAMES, 2)
    keys = rng.sample(["a", "b", "c", "ts", "ts - ts % 5"], rng.choice([1, 2, 2, 3]))
    named = ", ".join(f"{key} AS k{i}" for i, key in enumerate(keys))
    made = rng.choice(["COUNT(*)", "SUM(c)", "MAX(c)", "COUNT(DISTINCT b)"])
    grouped = f"SELECT {named}, {made} AS n FROM {one} GROUP BY {', '.join(keys)}"
    union = rng.choice(["UNION", "UNION ALL", "EXCEPT"])
    equal = rng.choice(["a = {o}.a", "b = {o}.b", "a = {o}.a AND {s}.b = {o}.b", "ts = {o}.ts"])
    joined = f"FROM {one}, {other} WHERE {one}.{equal.format(s=one, o=other)}"
    key = rng.choice(["a", "b", "ts"])
    like = "ts" if keys[0].startswith("ts") else key  # values that are punctuated are none of times
    return rng.choice(
        [
            grouped,
            f"SELECT {one}.{key} AS k, {rng.choice(['COUNT(*)', f'MAX({other}.c)'])} AS n {joined}"
            f" GROUP BY {one}.{key}",
            f"SELECT DISTINCT {named} FROM {one}",
            f"SELECT DISTINCT {one}.{key} AS k, {other}.c AS c {joined}",
            f"SELECT {named} FROM {one} {union} SELECT {named} FROM {other}",
            f"SELECT {named} FROM {one} {union} SELECT {named} FROM {other} {union} SELECT {named} FROM z w",
            f"{grouped} UNION ALL SELECT {named}, c FROM {other}",
            f"SELECT g.k0, {other}.c FROM ({grouped}) g, {other} WHERE g.k0 = {other}.{like}",
            f"SELECT n, COUNT(*) AS m FROM ({grouped}) g GROUP BY n",
            f"SELECT {one}.c AS c, {other}.c AS d {joined}",
        ]
    )
