"""Random queries whose conditions stand in scopes of every form, wherever a WHERE may be.

Tables are joined in all ways, plainly, as sub-queries, views, windows or constants, and have strange aliases;
names stand with and without them. Many queries are refused, as they should be.
"""

from __future__ import annotations

from random import Random

DECLARATIONS = """\
CREATE STREAM s (a BIGINT, b DOUBLE, c STRING, d DATE, k BOOLEAN, "0" BOOLEAN, ts BIGINT)
  TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';
CREATE STREAM t (a BIGINT, c STRING, n DECIMAL(12,2), "K" BOOLEAN, t0 INT, ts BIGINT)
  TIMESTAMP BY ts WINDOW 10 FROM 't.jsonl';
CREATE RELATION r (a BIGINT, name STRING) FROM 'r.jsonl';
CREATE RELATION v (a BIGINT, begin BIGINT, "end" BIGINT) VALID FROM begin TO "end" FROM 'v.jsonl';
CREATE VIEW w AS SELECT a, b, c, ts FROM s WHERE b > 1;
CREATE VIEW u AS SELECT a, COUNT(*) AS n FROM t GROUP BY a;
"""
_COLUMNS = {
    "s": ["a", "b", "c", "d", "k", '"0"', "ts"],
    "t": ["a", "c", "n", '"K"', "k", "t0", "ts"],
    "r": ["a", "name"],
    "v": ["a", "begin"],
    "w": ["a", "b", "c"],
    "u": ["a", "n"],
}
_TABLES = ("s", "s", "s", "t", "t", "t", "r", "v", "w", "u")
_ALIASES = ("", "", "", "x", "y", '"X"', "X", "t0", "t1", "`y`", "a", "w", "1a", '"0"')
_JOINS = (
    ", ",
    " JOIN ",
    " LEFT JOIN ",
    " RIGHT JOIN ",
    " FULL JOIN ",
    " LEFT SEMI JOIN ",
    " LEFT ANTI JOIN ",
)
_TYPES = {
    "b": "number",
    "c": "text",
    "name": "text",
    "d": "date",
    "k": "truth",
    '"0"': "truth",
    '"K"': "truth",
}
_CONDITIONS = {
    "number": (
        "{} > 3",
        "{} = 4",
        "{} + 1 <= 7",
        "{} BETWEEN 2 AND 5",
        "{} IN (1, 2, 3)",
        "NOT {} <> 2.5",
        "({} < 2 OR {} > 7)",
        "{} < (SELECT MAX(a) FROM t WHERE n > 3)",
        "{} IN (SELECT a FROM t WHERE c = 'x' AND n > 2)",
        "(CASE WHEN {} = 1 THEN 2 ELSE 3 END) = 2",
        "window({}, 10).start > 3",
        "window({}, 10, 5).start > 3",
    ),
    "text": (
        "{} = 'x'",
        "{} LIKE 'a!%' ESCAPE '!'",
        "({} = 'y' OR \"K\")",
        "{} IN ('a', '5')",
        "{} <> '2020-01-01'",
    ),
    "date": ("{} > DATE '2020-01-01' - INTERVAL '2' DAY", "{} = '2020-01-01'", "{} + 3 > DATE '2020-01-05'"),
    "truth": ("{}", "NOT {}", "{} IS NOT NULL"),
}


class ScopedQueries:
    """Writes the queries."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._depth = 0

    def query(self) -> str:
        """A query of any form."""
        forms = [self.select] * 6 + [self.grouped] * 2 + [self.combined, self.above, self.ranked]
        return self.rng.choice(forms)()

    def select(self) -> str:
        """SELECT of columns, expressions without a name, or everything."""
        source, names = self._from()
        chosen = self.rng.sample(names, min(len(names), 2)) if names else ["1"]
        outputs = self.rng.choice(
            [", ".join(chosen), ", ".join(chosen), "*", f"{chosen[0]}, {chosen[-1]} + 1"]
        )
        extra = self.rng.choice(["", "", "", f", {self._value()}"])
        return f"SELECT {outputs}{extra} FROM {source}{self._where(names)}"

    def grouped(self) -> str:
        """Groups, with HAVING now and then."""
        source, names = self._from()
        key = self.rng.choice(names)
        having = self.rng.choice(["", " HAVING COUNT(*) > 2", f" HAVING COUNT(*) > {self._sub_query()}"])
        count = self.rng.choice(
            ["COUNT(*)", "COUNT(*) + 1", f"COUNT(*) - {self._sub_query()}", "SUM(ts) AS n"]
        )
        return f"SELECT {key}, {count} FROM {source}{self._where(names)} GROUP BY {key}{having}"

    def combined(self) -> str:
        """A set operation."""
        word = self.rng.choice(["UNION", "UNION ALL", "EXCEPT", "INTERSECT"])
        return f"SELECT a FROM s{self._where(['a', 'b'])} {word} SELECT a FROM t{self._where(['a', 'n'])}"

    def above(self) -> str:
        """A query over another one."""
        return f"SELECT * FROM ({self.select()}) q{self._where(['a', 'q.a'])}"

    def ranked(self) -> str:
        """The first rows, or those of each partition."""
        text = self.select()
        return self.rng.choice(
            [
                f"{text} ORDER BY 1 LIMIT 3",
                f"{text} QUALIFY ROW_NUMBER() OVER (PARTITION BY a ORDER BY ts) <= 2",
                f"SELECT DISTINCT {text.removeprefix('SELECT ')}",
            ]
        )

    def _value(self) -> str:
        return self.rng.choice([self._sub_query(), "EXISTS (SELECT 1 FROM t WHERE t.a = 3)", "a + 1"])

    def _sub_query(self) -> str:
        return f"(SELECT COUNT(*) FROM t{self._where(['n', 'c', 't0'])})"

    def _from(self) -> tuple[str, list[str]]:
        text, names = self._item()
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            join = self.rng.choice(_JOINS)
            if join != ", " and self.rng.random() < 0.2:
                item, more = self._item()
                text += f" NATURAL{join}{item}"
            else:
                item, more = self._item()
                on = [
                    " USING (a)",
                    " USING (a)",
                    f" ON {names[0]} = {more[0]}",
                    f" ON {names[0]} = {more[0]}",
                ]
                text += join + item + ("" if join == ", " else self.rng.choice(on))
            names = [*names, *more]
        return text, ["a", *names]

    def _item(self) -> tuple[str, list[str]]:
        """An item of FROM, and names that its columns may have."""
        table = self.rng.choice(_TABLES)
        columns, alias = _COLUMNS[table], self.rng.choice(_ALIASES)
        form = self.rng.choice(["plain", "plain", "sub-query", "sub-query", "renamed", "window", "values"])
        self._depth += 1
        text = table
        if form == "sub-query" and self._depth < 4:
            text, alias = f"(SELECT * FROM {table}{self._where(columns)})", alias or "q"
        elif form == "renamed" and table == "r":
            alias, columns = f"{alias or 'q'} (a, c)", ["a", "c"]
        elif form == "window" and table in "st":
            text = f"TUMBLE({table}, ts, 10)"
        elif form == "values" and self.rng.random() < 0.3:
            text, alias, columns = "(VALUES (3, 4))", "q (a, e)", ["a", "e"]
        name = (alias or table).split()[0]
        return f"{text} {alias}".strip(), [f"{name}.{column}" for column in columns] + columns

    def _where(self, names: list[str]) -> str:
        if self.rng.random() < 0.2:
            return ""
        chosen = [self.rng.choice(names) for _ in range(self.rng.choice([1, 1, 2]))]
        return f" WHERE {' AND '.join(map(self._condition, chosen))}"

    def _condition(self, name: str) -> str:
        kind = _TYPES.get(name.rsplit(".", 1)[-1], "number")
        return self.rng.choice(_CONDITIONS[kind]).replace("{}", name)
