"""Random SELECTs over given tables: joins of all kinds, aggregates, set operators, sub-queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.generators.expressions import KEYS, NUMERIC, Expressions, Scope
from tests.generators.tables import Table, length


@dataclass
class Block:
    """FROM items with what is known of them, and conditions that connect them."""

    items: list[str] = field(default_factory=list)
    conditions: list[list[str]] = field(default_factory=list)  # one list for each item
    scope: Scope = field(default_factory=list)
    times: list[str] = field(default_factory=list)


class Queries:
    """Writes queries over the tables of one script."""

    def __init__(self, rng: Random, tables: list[Table]) -> None:
        self.rng = rng
        self.streams = [table for table in tables if table.is_stream]
        self.relations = [table for table in tables if not table.is_stream]
        self.calendar = tables[0].calendar

    def query(self) -> str:
        forms = [
            (3, lambda: self.plain(1)),
            (4, lambda: self.plain(2)),
            (3, lambda: self.plain(3)),
            (1, lambda: self.plain(4)),
            (2, self.over_plain),
            (4, lambda: self.aggregate(self.block(self.rng.choice([1, 1, 2, 2, 3])))),
            (2, self.distinct),
            (3, self.set_operation),
            (1, self.join_aggregate),
            (1, self.aggregate_aggregate),
            (1, self.aggregate_union),
        ]
        weights, makers = zip(*forms, strict=True)
        return self.rng.choices(makers, weights)[0]()

    # ------------------------------------------------------------ blocks

    def block(self, count: int) -> Block:
        block = Block()
        for position in range(count):
            relation = position and self.relations and self.rng.random() < 0.3
            table = self.rng.choice(self.relations if relation else self.streams)
            self._join(block, table, f"{self.rng.choice('abxyz')}{position}")
        return block

    def _join(self, block: Block, table: Table, alias: str) -> None:
        scope = [(f"{alias}.{name}", type_) for name, type_ in table.columns.items() if name != '"end"']
        conditions = self._links(block.scope, scope) if block.items else []
        if table.is_stream and block.times and self.rng.random() < 0.3:
            conditions.append(self._order(f"{alias}.ts", self.rng.choice(block.times)))
        self._add(block, f"{table.name} {self.rng.choice(['', 'AS '])}{alias}", conditions, scope)
        if table.is_stream:
            block.times.append(f"{alias}.ts")

    @staticmethod
    def _add(block: Block, item: str, conditions: list[str], scope: Scope) -> None:
        block.items.append(item)
        block.conditions.append(conditions)
        block.scope += scope

    def _links(self, left: Scope, right: Scope) -> list[str]:
        """Mostly an equality, sometimes of expressions, sometimes two, sometimes a theta condition."""
        pairs = [(a, b, type_) for a, type_ in left for b, other in right if type_ == other and type_ in KEYS]
        pairs = [pair for pair in pairs if not pair[0].endswith((".ts", "begin"))] or pairs
        same = [pair for pair in pairs if pair[0].rpartition(".")[2] == "k" == pair[1].rpartition(".")[2]]
        a, b, type_ = self.rng.choice(same if same and self.rng.random() < 0.7 else pairs)
        dice = self.rng.random()
        if dice < 0.12:
            return [f"{a} {self.rng.choice(['<', '>=', '<>'])} {b}"]
        if dice < 0.24 and type_ in ("BIGINT", "INT"):
            return [f"{a} % 3 = {b} % 3"]
        if dice < 0.4:
            c, d, _ = self.rng.choice(pairs)
            return [f"{b} = {a}", f"{c} {self.rng.choice(['=', '<='])} {d}"]
        return [f"{a} = {b}"]

    def _order(self, later: str, earlier: str) -> str:
        span = length(self.rng.randint(2, 12), self.calendar)
        return f"{later} {self.rng.choice(['>', '>='])} {earlier} AND {later} <= {earlier} + {span}"

    def from_where(self, block: Block) -> str:
        """The same block as a comma join or as JOIN ... ON."""
        expressions = Expressions(self.rng, block.scope)
        where = [expressions.condition(1)] if self.rng.random() < 0.4 else []
        if self.rng.random() < 0.5:
            where = [c for conditions in block.conditions for c in conditions] + where
            text = ", ".join(block.items)
        else:
            text = block.items[0]
            for item, conditions in zip(block.items[1:], block.conditions[1:], strict=True):
                text += f" JOIN {item} ON {' AND '.join(conditions)}"
        return f" FROM {text}" + (f" WHERE {' AND '.join(where)}" if where else "")

    # ------------------------------------------------------------ forms

    def plain(self, count: int) -> str:
        block = self.block(count)
        if count == 1 and self.rng.random() < 0.3:
            return "SELECT *" + self.from_where(block)
        return self._select(block)

    def _select(self, block: Block) -> str:
        expressions = Expressions(self.rng, block.scope)
        chosen = [time for time in block.times if self.rng.random() < 0.7]
        chosen += [expressions.value(expressions.any_type()) for _ in range(self.rng.randint(1, 3))]
        listed = ", ".join(f"{text} AS c{i}" for i, text in enumerate(chosen))
        if self.rng.random() < 0.15:
            listed += f", {block.times[0].removesuffix('.ts')}.*"
        return f"SELECT {listed}" + self.from_where(block)

    def _typed_select(self, block: Block, types: list[str]) -> str:
        expressions = Expressions(self.rng, block.scope)
        listed = ", ".join(f"{expressions.value(type_, 1)} AS c{i}" for i, type_ in enumerate(types))
        return f"SELECT {listed}" + self.from_where(block)

    def over_plain(self) -> str:
        """A join with a sub-query that has no aggregate: its tuples' lives count."""
        inner = self.block(self.rng.choice([1, 2]))
        key, time = next(n for n, t in inner.scope if n.endswith(".k")), inner.times[0]
        what = f"(SELECT {key} AS k, {time} AS seen{self.from_where(inner)}) u"
        block = self.block(1)
        link = f"u.k = {next(n for n, _ in block.scope if n.endswith('.k'))}"
        self._add(block, what, [link], [("u.k", "BIGINT")])
        block.times.append("u.seen")
        return self._select(block)

    def aggregate(self, block: Block) -> str:
        expressions = Expressions(self.rng, block.scope)
        keys = [expressions.value(self.rng.choice(KEYS), 1) for _ in range(self.rng.choice([0, 1, 1, 1, 2]))]
        keys = [key for key in keys if "." in key]
        calls = [self.call(expressions) for _ in range(self.rng.randint(1, 4))]
        listed = ", ".join(f"{text} AS c{i}" for i, text in enumerate([*keys, *calls]))
        text = f"SELECT {listed}{self.from_where(block)}"
        if keys:
            text += f" GROUP BY {', '.join(keys)}"
        if self.rng.random() < 0.35:
            text += f" HAVING {self.rng.choice(['COUNT(*) > 1', 'COUNT(*) <= 2', f'{calls[0]} IS NOT NULL'])}"
        return text

    def call(self, expressions: Expressions) -> str:
        numbers = [n for n in expressions.columns(*NUMERIC) if not n.endswith("big")] or ["1"]
        doubles = [n for n in expressions.columns("DOUBLE", "INT") if not n.endswith("big")] or ["2"]
        ordered = expressions.columns(*NUMERIC, "STRING", "DATE")
        number, ordered_one = self.rng.choice(numbers), self.rng.choice(ordered)
        calls = ["COUNT(*)", f"COUNT({ordered_one})", f"SUM({number})", f"AVG({self.rng.choice(doubles)})"]
        calls += [f"MIN({ordered_one})", f"MAX({ordered_one})", f"COUNT(DISTINCT {ordered_one})"]
        calls += [f"STDDEV({self.rng.choice(doubles)})", f"SUM({number}) + COUNT(*)"]
        calls += [f"MEDIAN({self.rng.choice(doubles)})"]
        return self.rng.choice([*calls, f"SUM(CASE WHEN {expressions.condition(0)} THEN 1 ELSE 0 END)"])

    def distinct(self) -> str:
        block = self.block(self.rng.choice([1, 1, 2]))
        types = [self.rng.choice(KEYS) for _ in range(self.rng.randint(1, 2))]
        return self._typed_select(block, types).replace("SELECT", "SELECT DISTINCT", 1)

    def set_operation(self) -> str:
        types = [self.rng.choice(KEYS) for _ in range(self.rng.randint(1, 2))]
        branches = [self._typed_select(self.block(self.rng.choice([1, 1, 1, 2])), types) for _ in range(3)]
        words = [self.rng.choice(["UNION", "UNION ALL", "EXCEPT"]) for _ in range(2)]
        if self.rng.random() < 0.5:
            return f"{branches[0]} {words[0]} {branches[1]}"
        if self.rng.random() < 0.5:
            return f"{branches[0]} {words[0]} {branches[1]} {words[1]} {branches[2]}"
        return f"{branches[0]} {words[0]} ({branches[1]} {words[1]} {branches[2]})"

    def _counted(self) -> str:
        """A grouped sub-query with columns k and n."""
        block = self.block(self.rng.choice([1, 1, 2]))
        key = next(name for name, _ in block.scope if name.endswith(".k"))
        return f"SELECT {key} AS k, COUNT(*) AS n{self.from_where(block)} GROUP BY {key}"

    def join_aggregate(self) -> str:
        if self.rng.random() < 0.5:
            return (
                f"SELECT l.k AS k, l.n AS n, r.n AS m FROM ({self._counted()}) l "
                f"JOIN ({self._counted()}) r ON l.k = r.k WHERE l.n >= r.n"
            )
        stream = self.rng.choice(self.streams).name
        return (
            f"SELECT t.k AS k, t.ts AS seen, u.n AS n FROM {stream} t, ({self._counted()}) u WHERE t.k = u.k"
        )

    def aggregate_aggregate(self) -> str:
        keep = self.rng.choice(["", " WHERE n > 1"])
        if self.rng.random() < 0.5:
            return f"SELECT MAX(n) AS most, COUNT(*) AS many, AVG(n) AS mean FROM ({self._counted()}) u{keep}"
        return f"SELECT n, COUNT(*) AS many FROM ({self._counted()}) u{keep} GROUP BY n"

    def aggregate_union(self) -> str:
        union = self._union_all()
        if self.rng.random() < 0.5:
            return f"SELECT DISTINCT c0 FROM ({union}) u"
        return f"SELECT c0, COUNT(*) AS n, SUM(c1) AS total FROM ({union}) u GROUP BY c0"

    def _union_all(self) -> str:
        word = self.rng.choice(["UNION ALL", "UNION"])
        return f" {word} ".join(self._typed_select(self.block(1), ["BIGINT", "INT"]) for _ in range(2))
