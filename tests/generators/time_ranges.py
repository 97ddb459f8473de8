"""Random queries whose outer, semi and anti joins are bounded by a range of times, over streams that last."""

from __future__ import annotations

from random import Random

from tests.generators.tables import Table

TABLES = (
    Table("a", "STREAM", {"k": "BIGINT", "x": "BIGINT", "until": "BIGINT", "ts": "BIGINT"}, False),
    Table("b", "STREAM", {"k": "BIGINT", "y": "BIGINT", "ts": "BIGINT"}, False),
    Table("c", "STREAM", {"k": "BIGINT", "y": "BIGINT", "ts": "BIGINT"}, False),
)


class RangeQueries:
    """Writes queries that wait for partners for a while, and no longer."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng

    def query(self) -> str:
        forms = [self._outer, self._outer, self._exists, self._half, self._of_two, self._against_two]
        forms += [self._groups, self._groups, self._groups_of_some, self._chain, self._chain]
        return self.rng.choice(forms)()

    def range_of(self, left: str = "a", right: str = "b") -> str:
        """Conditions that bound both times by each other."""
        near, far = self.rng.randint(0, 4), self.rng.randint(0, 9)
        ranges = [
            f"{right}.ts BETWEEN {left}.ts AND {left}.ts + {far}",
            f"{right}.ts BETWEEN {left}.ts - {near} AND {left}.ts + {far}",
            f"{left}.ts - {right}.ts <= {near} AND {right}.ts - {left}.ts < {far}",
            f"{right}.ts > {left}.ts AND NOT {right}.ts >= {left}.ts + {far}",
            f"{left}.ts DIV {far + 1} = {right}.ts DIV {far + 1}",
            f"{right}.ts = {left}.ts",
            f"{left}.ts >= {right}.ts AND {left}.ts <= {right}.ts + {far}",
        ]
        if left == "a":
            ranges.append(f"{right}.ts BETWEEN a.ts AND a.until")
            ranges.append(f"{right}.ts BETWEEN a.ts AND a.until - {near}")
            ranges.append(f"{right}.ts >= a.ts AND {right}.ts - a.ts <= a.x")
        return self.rng.choice(ranges)

    def _on(self, left: str = "a", right: str = "b") -> str:
        parts = [f"{left}.k = {right}.k", self.range_of(left, right)]
        if self.rng.random() < 0.3:
            parts.append(f"{left}.k + {right}.y > {self.rng.randint(0, 3)}")
        return " AND ".join(parts)

    def _where(self) -> str:
        return self.rng.choice(
            ["", "", f" WHERE a.x > {self.rng.randint(0, 3)}", " WHERE b.y IS NULL", " WHERE b.k IS NULL"]
        )

    def _outer(self) -> str:
        side = self.rng.choice(["LEFT", "LEFT", "RIGHT", "FULL"])
        outputs = self.rng.choice(["a.k, b.y", "a.x, b.ts", "a.ts, b.k AS bk", "b.y"])
        return f"SELECT {outputs} FROM a {side} JOIN b ON {self._on()}{self._where()}"

    def _exists(self) -> str:
        word = self.rng.choice(["EXISTS", "NOT EXISTS", "NOT EXISTS"])
        inner = f"SELECT 1 FROM b WHERE {self._on()}"
        more = self.rng.choice(["", " AND a.x < 4"])
        return f"SELECT a.k, a.x FROM a WHERE {word} ({inner}){more}"

    def _half(self) -> str:
        return f"SELECT a.k FROM a {self.rng.choice(['SEMI', 'ANTI'])} JOIN b ON {self._on()}"

    def _of_two(self) -> str:
        """Pairs that may have a partner."""
        joined = f"a JOIN c ON a.k = c.k AND {self.range_of('a', 'c')}"
        return f"SELECT a.k, c.y, b.y AS z FROM {joined} LEFT JOIN b ON {self._on('a', 'b')}"

    def _against_two(self) -> str:
        """Tuples that may be partners of pairs."""
        pairs = f"SELECT 1 FROM b, c WHERE {self._on('a', 'b')} AND b.k = c.k AND {self.range_of('b', 'c')}"
        return f"SELECT a.x, a.ts FROM a WHERE NOT EXISTS ({pairs})"

    def _groups(self) -> str:
        """Groups of pairs, or of tuples that may have no partner, by all that bounds the range."""
        keys = self.rng.choice(["a.k, a.x, a.until, a.ts", "a.ts, a.until, a.x"])
        calls = self.rng.choice(
            ["COUNT(*) AS n, MAX(b.y) AS m", "COUNT(b.y) AS n", "SUM(b.y) AS s, MIN(b.ts) AS t"]
        )
        joined = f"a {self.rng.choice(['LEFT JOIN', 'JOIN'])} b ON {self._on()}"
        having = self.rng.choice(["", "", " HAVING COUNT(*) > 1"])
        return f"SELECT {keys}, {calls} FROM {joined}{self._where()} GROUP BY {keys}{having}"

    def _groups_of_some(self) -> str:
        """Groups of tuples that have a partner, or have none."""
        word = self.rng.choice(["EXISTS", "NOT EXISTS"])
        inner = f"SELECT 1 FROM b WHERE {self._on()}"
        keys = "a.ts, a.until, a.x"
        return f"SELECT {keys}, COUNT(*) AS n FROM a WHERE {word} ({inner}) GROUP BY {keys}"

    def _chain(self) -> str:
        """An outer join above an outer join, or an inner one above it."""
        second = self.rng.choice(["LEFT JOIN", "LEFT JOIN", "FULL JOIN", "JOIN"])
        first = self.rng.choice(["LEFT JOIN", "LEFT JOIN", "FULL JOIN"])
        met = self.rng.choice(["a", "b"])
        joined = (
            f"a {first} b ON {self._on('a', 'b')} {second} c ON {met}.k = c.k AND {self.range_of(met, 'c')}"
        )
        return f"SELECT a.x, b.y, c.y AS z FROM {joined}"
