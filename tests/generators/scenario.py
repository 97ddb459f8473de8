"""A random script with its input files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.generators.lines import random_lines
from tests.generators.nested import nested_groups
from tests.generators.queries import Queries
from tests.generators.siblings import sibling
from tests.generators.tables import Table, random_tables


@dataclass(frozen=True)
class Scenario:
    """Declarations, queries by name, and the lines of each table."""

    declarations: tuple[str, ...]
    queries: dict[str, str]
    lines: dict[str, list[str]]

    def script(self) -> str:
        queries = (f"CREATE QUERY {q} WITH (unbounded = true) AS {text};" for q, text in self.queries.items())
        return "\n".join([*self.declarations, *queries]) + "\n"

    def write(self, folder: Path) -> Path:
        """Put script.sql and one file a table into a folder."""
        for name, lines in self.lines.items():
            (folder / f"{name}.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        path = folder / "script.sql"
        path.write_text(self.script(), encoding="utf-8")
        return path


def random_scenario(seed: int, queries: int = 10) -> Scenario:
    """The scenario of a seed; one query stands in it twice, for the sake of sharing."""
    rng = Random(seed)
    tables = random_tables(rng)
    maker = Queries(rng, tables)
    texts = [maker.query() for _ in range(queries - 1)]
    texts.append(rng.choice(texts))
    return _scenario(rng, tables, texts)


def related_scenario(seed: int, families: int = 4, siblings: int = 4) -> Scenario:
    """Queries in families that differ in constants, spelling and the order of their tables."""
    rng = Random(seed)
    tables = random_tables(rng)
    maker = Queries(rng, tables)
    texts = [maker.query() for _ in range(families)]
    texts += [sibling(rng, text) for text in texts for _ in range(siblings)]
    rng.shuffle(texts)
    return _scenario(rng, tables, texts)


def nested_scenario(seed: int, families: int = 3, members: int = 5) -> Scenario:
    """Queries in families that group the same rows, some coarser than others; and some siblings of them."""
    rng = Random(seed)
    tables = random_tables(rng)
    maker = Queries(rng, tables)
    texts = [text for _ in range(families) for text in nested_groups(rng, maker, members)]
    texts += [sibling(rng, rng.choice(texts)) for _ in range(families)]
    rng.shuffle(texts)
    return _scenario(rng, tables, texts)


def _scenario(rng: Random, tables: list[Table], texts: list[str]) -> Scenario:
    return Scenario(
        tuple(table.declaration() for table in tables),
        {f"q{i}": text for i, text in enumerate(texts, 1)},
        {table.name: random_lines(rng, table) for table in tables},
    )
