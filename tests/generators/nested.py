"""Aggregates of the same rows by sets of keys that are nested in one another, in any order."""

from __future__ import annotations

from random import Random

from tests.generators.expressions import KEYS, Expressions
from tests.generators.queries import Queries


def nested_groups(rng: Random, maker: Queries, count: int) -> list[str]:
    """One groups by all keys; others by some of them, by functions of them, or not at all."""
    block = maker.block(rng.choice([1, 1, 2]))
    expressions = Expressions(rng, block.scope)
    keys = list(dict.fromkeys(expressions.value(rng.choice(KEYS), rng.choice([0, 1])) for _ in range(3)))
    keys = [key for key in keys if "." in key] or [block.times[0]]
    if doubles := expressions.columns("DOUBLE"):
        keys += [rng.choice(doubles)] if rng.random() < 0.3 else []
    calls = [maker.call(expressions) for _ in range(5)]
    calls += [f"{word}(DISTINCT {rng.choice(keys)})" for word in ("COUNT", "COUNT", "MIN")]
    calls += [f"MAX({rng.choice(keys)})", f"COUNT({rng.choice(keys)})"]
    source = maker.from_where(block)
    subsets = [keys, *(_sample(rng, keys) for _ in range(count - 1))]
    texts = [_grouped(rng, chosen, rng.sample(calls, rng.randint(1, 3)), source) for chosen in subsets]
    rng.shuffle(texts)
    return texts


def _sample(rng: Random, keys: list[str]) -> list[str]:
    chosen = [key for key in keys if rng.random() < 0.5]
    if chosen and rng.random() < 0.2:
        chosen[0] = f"COALESCE({chosen[0]}, {chosen[0]})"
    rng.shuffle(chosen)
    return chosen


def _grouped(rng: Random, keys: list[str], calls: list[str], source: str) -> str:
    listed = ", ".join(f"{text} AS c{i}" for i, text in enumerate([*keys, *calls]))
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = " HAVING COUNT(*) > 1" if rng.random() < 0.2 else ""
    return f"SELECT {listed}{source}{group}{having}"
