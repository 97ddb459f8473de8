"""What queries must say, by DuckDB over the admitted rows of all streams."""

from __future__ import annotations

from typing import Any

import duckdb

from tests.soak.feeds import Feed

_KEPT = 2400  # instants behind the watermark whose rows are kept


class Truth:
    """A table for each stream: every row that was admitted lately, with the number of its arrival."""

    def __init__(self) -> None:
        self._database = duckdb.connect()
        self._database.execute("SET threads = 1")
        self.rows = 0

    def add(self, feed: Feed) -> None:
        columns = ", ".join(f"{name} BIGINT" for name in ("arrival", "id", "k", "v", "ts"))
        self._database.execute(f"CREATE TABLE {feed.name} ({columns})")

    def add_column(self, feed: Feed, column: str) -> None:
        self._database.execute(f"ALTER TABLE {feed.name} ADD COLUMN {column} BIGINT")

    def drop(self, feed: Feed) -> None:
        self._database.execute(f"DROP TABLE {feed.name}")

    def follow(self, feed: Feed) -> None:
        """Take in what was admitted since the last call, and forget what is long past."""
        rows = feed.take_admitted()
        self.rows += rows.num_rows
        self._database.register("fresh", rows)
        self._database.execute(f"INSERT INTO {feed.name} BY NAME SELECT * FROM fresh")
        self._database.unregister("fresh")
        self._database.execute(f"DELETE FROM {feed.name} WHERE ts < ?", [feed.watermark - _KEPT])

    def ask(self, query: str) -> list[dict[str, Any]]:
        """The rows of a SELECT, as records have them."""
        answer = self._database.execute(query)
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
