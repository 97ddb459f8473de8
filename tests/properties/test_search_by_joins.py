"""Random searches by joins: the trees of the default engine, with their lives and early ends."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from seine.algebra.search_plan import Search
from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.network.searches.network_plans import network_plans
from seine.run_local import run_local
from tests.generators.searches import search_scenario
from tests.support.seeds import seed_range


def test_joins_find_the_trees_of_the_default_engine(tmp_path: Path) -> None:
    sizes = Counter[int]()
    ends = 0
    for seed in seed_range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = search_scenario(seed, queries=8, stored=False).write(folder)
        joined = [name for name, plan in _plans(path).items() if _by_joins(plan)]
        if not joined:
            continue
        options = "WITH (unbounded = true, engine = 'joins')"
        lines = path.read_text().splitlines()
        for name in joined:
            (line,) = (one for one in lines if one.startswith(f"CREATE QUERY {name} "))
            lines.append(line.replace(f"{name} WITH (unbounded = true)", f"{name}_joins {options}"))
        path.write_text("\n".join(lines))
        rng = Random(seed)
        records = run_local(str(path), batch_rows=rng.choice((1, 3, None)), buckets=rng.randint(1, 3)).records
        for name in joined:
            default, by_joins = (_trees(records, one) for one in (name, f"{name}_joins"))
            assert by_joins == default, f"seed {seed}, {name}"
            sizes.update(len(json.loads(tree)[3]) for tree in default.elements())
            ends += sum(json.loads(tree)[0] == "-" for tree in default)
    assert min(sizes[1], sizes[2], sizes[3]) > 3
    assert ends > 0


def _plans(path: Path) -> dict[str, Search]:
    queries = read_script(str(path)).declarations.queries
    return {name: query.plan for name, query in queries.items() if isinstance(query.plan, Search)}


def _by_joins(plan: Search) -> bool:
    try:
        return bool(network_plans(replace(plan, engine="joins")))
    except SeineError:
        return False


def _trees(records: list[dict[str, Any]], query: str) -> Counter[str]:
    """Records of a query, told apart by their tuples and edges, whatever the order in which they stand."""
    return Counter(_tree(record) for record in records if record["query"] == query)


def _tree(record: dict[str, Any]) -> str:
    row = record["row"]
    texts = [
        json.dumps([one, terms], sort_keys=True)
        for one, terms in zip(row["tuples"], row["matches"], strict=True)
    ]
    edges = sorted(sorted((texts[a], texts[b])) for a, b in row["edges"])
    return json.dumps([record["op"], record["t_start"], record["t_end"], sorted(texts), edges])
