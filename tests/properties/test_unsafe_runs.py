"""What the verdict calls unsafe keeps a tuple for ever: the construction of the proof, through the engine.

A tuple of a stream that nothing purges has been part of a result. Then, round after round, every promise
comes that the rows so far allow, and after it a new result with the tuple: the rows of streams that can be
closed for it are those of the first result, the others are new, with values that no promise names.

Cites: SAFETY 4.1 (Thm 1), SAFETY 4.2 (Thm 3)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from seine.safety.graph.punctuation_graph import closure
from seine.safety.states.item_facts import Sources
from seine.safety.verdict import verdict
from tests.generators.punctuated import Case, Row, random_case, random_result
from tests.support.freed_runs import (
    FAR,
    LARGEST_BATCH,
    fed,
    joined_starts,
    query_of,
    strangers,
    write_lines,
)
from tests.support.seeds import seed_range, seeds

ROUNDS = 3
APART = 100  # instants between rounds: longer than a window
Ids = tuple[int, ...]


@dataclass
class Construction:
    """The lines of each stream, and the results with the tuple of an item that come of them."""

    case: Case
    item: int
    first: list[Row]
    lines: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    results: list[Ids] = field(default_factory=list)
    punctuated: set[tuple[str, tuple[int, ...], tuple[int, ...]]] = field(default_factory=set)
    seen: dict[tuple[str, int], set[int]] = field(default_factory=dict)

    def feed(self, rows: list[Row], ids: Ids, fresh: list[int]) -> None:
        """Rows of some items; of one stream in the order of their times."""
        for i in sorted(fresh, key=lambda i: rows[i][3]):
            name = self.case.tables[i].name
            record = dict(zip(("a", "b", "c", "ts"), rows[i], strict=True))
            self.lines.setdefault(name, []).append({**record, "id": ids[i]})
            for column in range(3):
                self.seen.setdefault((name, column), set()).update(row[column] for row in rows)
        self.results.append(ids)

    def punctuation(self, time: int) -> None:
        """Every promise about values that have been there."""
        for table in dict.fromkeys(self.case.tables):
            for scheme in table.schemes:
                for values in itertools.product(
                    *(sorted(self.seen.get((table.name, c), ())) for c in scheme)
                ):
                    if (table.name, scheme, values) not in self.punctuated:
                        self.punctuated.add((table.name, scheme, values))
                        punctuated_values = {"abc"[c]: value for c, value in zip(scheme, values, strict=True)}
                        self.lines.setdefault(table.name, []).append(
                            {"@punctuate": punctuated_values, "ts": time}
                        )


def kept_and_known(query: Any, case: Case, item: int) -> tuple[set[int], set[tuple[int, int]]]:
    """The items that can be closed for a tuple of an item, and itself, and the columns that are known."""
    block, graph = Sources().block(query.plan)
    reached = closure(graph.graph, [graph.items.index(item)])
    closed = {graph.items[place] for place in reached.items}
    closed |= {i for i, table in enumerate(case.tables) if table.is_relation}
    columns = [(i, c, block.offsets[i] + c) for i in range(len(case.tables)) for c in range(3)]
    determined = {graph.classes.of(column) for i, _, column in columns if i in closed}
    determined |= {graph.classes.of(c) for _, _, c in columns if graph.known.get(c) in reached.causes}
    return closed, {(i, c) for i, c, column in columns if graph.classes.of(column) in determined}


def class_values(query: Any, case: Case, first: int) -> dict[tuple[int, int], int]:
    """A new value for each class of equal columns."""
    block, graph = Sources().block(query.plan)
    places = {
        (i, c): graph.classes.of(block.offsets[i] + c) for i in range(len(case.tables)) for c in range(3)
    }
    numbers = {class_: first + n for n, class_ in enumerate(sorted(set(places.values())))}
    return {place: numbers[class_] for place, class_ in places.items()}


def constructed(query: Any, case: Case, item: int, first: list[Row]) -> Construction:
    closed, known = kept_and_known(query, case, item)
    made = Construction(case, item, first)
    ids = tuple(range(1, len(first) + 1))
    made.feed(first, ids, [i for i, table in enumerate(case.tables) if not table.is_relation])
    outside = [i for i in range(len(first)) if i not in closed]
    for number in range(1, ROUNDS + 1):
        made.punctuation(APART * number - 20)
        values = class_values(query, case, 1000 * number)
        rows = list(first)
        for i in outside:
            a, b, c = (first[i][c] if (i, c) in known else values[i, c] for c in range(3))
            rows[i] = (a, b, c, first[i][3] + APART * number)
        combination = tuple(100 * number + i if i in outside else ids[i] for i in range(len(first)))
        made.feed(rows, combination, outside)
    made.punctuation(APART * (ROUNDS + 1))
    return made


def unsafe_cases(rng: Random, folder: Path) -> Iterator[tuple[Path, Construction]]:
    """Scripts whose query keeps the tuples of an item for ever, with their lines written."""
    folder.mkdir(exist_ok=True)
    while True:
        case = random_case(rng)
        first = random_result(rng, case)
        if first is None:
            continue
        path = folder / "script.sql"
        path.write_text(case.script(), encoding="utf-8")
        query = query_of(path)
        lasting = [int(alias[1:]) for alias, freed in verdict(query).purgeable.items() if not freed]
        alone = [i for i in lasting if [row[3] for row in first].count(first[i][3]) == 1]
        if alone:
            made = constructed(query, case, rng.choice(alone), first)
            write_all(folder, made)
            yield path, made


def write_all(folder: Path, made: Construction) -> None:
    streams = sorted({table.name for table in made.case.tables if not table.is_relation})
    longest = max(len(made.lines[name]) for name in streams)
    for number, name in enumerate(streams):
        lines = made.lines[name]
        write_lines(folder / f"{name}.jsonl", [*lines, *strangers(50 + number, longest - len(lines))])
    facts = [
        {**dict(zip(("a", "b", "c", "ts"), row, strict=True)), "id": i + 1}
        for i, (row, table) in enumerate(zip(made.first, made.case.tables, strict=True))
        if table.is_relation
    ]
    write_lines(folder / "f.jsonl", facts)


@seeds(5)
def test_an_unsafe_query_keeps_a_tuple_and_joins_it_for_ever(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    for number in range(2):
        path, made = next(unsafe_cases(rng, tmp_path / str(number)))
        pipeline = fed(path, rng.choice([3, 11, LARGEST_BATCH]))
        records = [record for entry in pipeline.records for record in entry]
        reported = {tuple(record["row"][f"i{i}"] for i in range(len(made.first))) for record in records}
        assert set(made.results) <= reported, (path.read_text(encoding="utf-8"), made.item)
        assert made.first[made.item][3] in joined_starts(pipeline, before=FAR)


def test_punctuations_free_other_rows_of_these_queries(tmp_path: Path) -> None:
    """The promises are of use: of what came, some is held no more in some of the queries."""
    freed = 0
    for seed in seed_range(6):
        path, made = next(unsafe_cases(Random(seed), tmp_path / str(seed)))
        came = [row for rows in made.lines.values() for row in rows if "@punctuate" not in row]
        held = joined_starts(fed(path, 11), before=FAR)
        freed += len(made.punctuated) > 0 and len(set(held)) < len({row["ts"] for row in came})
    assert freed
