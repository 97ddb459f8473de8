"""What the verdict calls safe is freed: all promises have come, windows have passed, and nothing is held."""

from __future__ import annotations

from pathlib import Path
from random import Random

from seine.network.plan.strategy import CONFIGURATIONS
from seine.safety.verdict import verdict
from tests.generators import spellings
from tests.support.freed_runs import (
    COLUMNS,
    Stream,
    count_outcomes,
    fed,
    joined_starts,
    query_of,
    random_schemes,
    write_script,
)
from tests.support.seeds import seeds


def random_script(rng: Random, folder: Path) -> Path:
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


def run(seed: int, folder: Path) -> tuple[bool, list[int], str]:
    """Whether a query is safe, what is left of tuples that are over, and its text."""
    rng = Random(seed)
    path = random_script(rng, folder)
    strategy = CONFIGURATIONS[rng.choice(["all", "two-by-two", "no-canonical", "match-plan", "off"])]
    query = query_of(path)
    left = joined_starts(fed(path, rng.choice([7, 20, 40]), strategy))
    return verdict(query).safe, left, query.text


@seeds(8)
def test_a_safe_query_ends_with_nothing_held(seed: int, tmp_path: Path) -> None:
    safe, left, text = run(seed, tmp_path)
    assert not (safe and left), text


def test_some_of_them_are_safe_and_others_keep_rows(tmp_path: Path) -> None:
    safe, keeping = count_outcomes(run, 20, tmp_path)
    assert safe > 4 and keeping > 4
