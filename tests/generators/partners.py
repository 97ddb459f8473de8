"""Random queries that ask whether a row has a partner: outer, semi and anti joins, EXISTS, IN, INTERSECT."""

from __future__ import annotations

from tests.generators.expressions import KEYS, Expressions, Scope
from tests.generators.queries import Block, Queries

_OUTER = ("LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN", "FULL JOIN", "FULL OUTER JOIN")
_HALF = ("SEMI JOIN", "LEFT SEMI JOIN", "ANTI JOIN", "LEFT ANTI JOIN")


class PartnerQueries(Queries):
    """Writes queries whose answers change when a partner comes or goes."""

    def query(self) -> str:
        forms = [
            self.outer,
            self.outer,
            self.half,
            self.exists,
            self.membership,
            self.bags,
            self.above,
            self.value,
        ]
        return self.rng.choice(forms)()

    def outer(self) -> str:
        """An outer join, perhaps of an inner one, perhaps with another behind it."""
        text, scope = self._outer_joins(self.rng.choice([1, 1, 1, 2]))
        expressions = Expressions(self.rng, scope)
        outputs = [expressions.value(expressions.any_type(), 1) for _ in range(self.rng.randint(1, 3))]
        listed = ", ".join(f"{value} AS c{i}" for i, value in enumerate(outputs))
        return f"SELECT {listed} FROM {text}{self._where(scope)}"

    def _outer_joins(self, count: int) -> tuple[str, Scope]:
        block = self._left()
        text = block.items[0]
        for item, conditions in zip(block.items[1:], block.conditions[1:], strict=True):
            text += f" JOIN {item} ON {' AND '.join(conditions)}"
        for number in range(count):
            item, conditions = self._partner(block, f"o{number}")
            text += f" {self.rng.choice(_OUTER)} {item} ON {' AND '.join(conditions)}"
        return text, block.scope

    def half(self) -> str:
        """A semi or anti join: the columns of its right side are seen by its condition alone."""
        block = self._left()
        scope, times = [*block.scope], [*block.times]
        item, conditions = self._partner(block, "h")
        block.scope, block.times = scope, times
        text = ", ".join(block.items[:-1])
        before = [c for conditions in block.conditions[:-1] for c in conditions]
        joined = f"{text} {self.rng.choice(_HALF)} {item} ON {' AND '.join(conditions)}"
        if len(block.items) > 2:  # a comma binds less than JOIN
            joined = " JOIN ".join([block.items[0], *(f"{i} ON TRUE" for i in block.items[1:-1])])
            joined += f" {self.rng.choice(_HALF)} {item} ON {' AND '.join(conditions)}"
        return f"SELECT {self._outputs(scope)} FROM {joined}{self._where(scope, before)}"

    def exists(self) -> str:
        """EXISTS or NOT EXISTS with a sub-query that compares columns of both."""
        block = self._left()
        scope, before = [*block.scope], [c for conditions in block.conditions for c in conditions]
        items = [*block.items]
        item, conditions = self._partner(block, "e")
        word = self.rng.choice(["EXISTS", "NOT EXISTS"])
        inner = f"SELECT {self.rng.choice(['1', '*', 'e.k'])} FROM {item} WHERE {' AND '.join(conditions)}"
        where = self._where(scope, [*before, f"{word} ({inner})"])
        return f"SELECT {self._outputs(scope)} FROM {', '.join(items)}{where}"

    def membership(self) -> str:
        """IN or NOT IN, mostly of columns that are NULL now and then."""
        block = self._left()
        scope, before = [*block.scope], [c for conditions in block.conditions for c in conditions]
        keys = [(name, type_) for name, type_ in scope if type_ in KEYS]
        name, type_ = self.rng.choice(keys)
        inner = Queries.block(self, self.rng.choice([1, 1, 2]))
        inner = self._renamed(inner)
        matching = [n for n, t in inner.scope if t == type_] or [f"CAST(NULL AS {type_})"]
        query = f"SELECT {self.rng.choice(matching)} AS c{self.from_where(inner)}"
        word = self.rng.choice(["IN", "NOT IN"])
        where = self._where(scope, [*before, f"{name} {word} ({query})"])
        return f"SELECT {self._outputs(scope)} FROM {', '.join(block.items)}{where}"

    def value(self) -> str:
        """A sub-query that is an aggregate, of all tuples or of those with equal keys, in any clause."""
        block = Block()
        self._join(block, self.rng.choice(self.streams), "v")
        inner = Block()
        self._join(inner, self.rng.choice(self.streams), "w")
        call = self.rng.choice(["COUNT(*)", "MAX(w.k)", "MIN(w.k) + COUNT(w.k)", "SUM(w.k)"])
        tied = self.rng.random() < 0.6
        where = self._where(inner.scope, ["w.k = v.k"] if tied else [])
        query = f"(SELECT {call} FROM {inner.items[0]}{where})"
        dice = self.rng.random()
        if dice < 0.4:
            outputs = f"{self._outputs(block.scope)}, {query} AS m"
            return f"SELECT {outputs} FROM {block.items[0]}{self._where(block.scope)}"
        if dice < 0.7 or tied:
            test = f"v.k {self.rng.choice(['<', '>=', '='])} {query}"
            return (
                f"SELECT {self._outputs(block.scope)} FROM {block.items[0]}{self._where(block.scope, [test])}"
            )
        return f"SELECT v.k, COUNT(*) AS n FROM {block.items[0]} GROUP BY v.k HAVING COUNT(*) <= {query} - 1"

    def bags(self) -> str:
        """INTERSECT and EXCEPT, of sets and of bags."""
        types = [self.rng.choice(KEYS) for _ in range(self.rng.randint(1, 2))]
        branches = [self._typed_select(self.block(1), types) for _ in range(3)]
        kinds = ["INTERSECT", "INTERSECT ALL", "EXCEPT ALL", "EXCEPT", "UNION ALL"]
        words = [self.rng.choice(kinds[:3]), self.rng.choice(kinds)]
        if self.rng.random() < 0.6:
            return f"{branches[0]} {words[0]} {branches[1]}"
        return f"({branches[0]} {words[0]} {branches[1]}) {words[1]} {branches[2]}"

    def above(self) -> str:
        """Groups of rows that have partners, or have none."""
        text, scope = self._outer_joins(1)
        expressions = Expressions(self.rng, scope)
        key = self.rng.choice([name for name, type_ in scope if type_ in KEYS])
        calls = f"COUNT(*) AS n, COUNT({self.rng.choice(expressions.columns(*KEYS))}) AS m"
        return f"SELECT {key} AS c0, {calls} FROM {text}{self._where(scope)} GROUP BY {key}"

    # ------------------------------------------------------------ parts

    def _left(self) -> Block:
        """One stream, or two that are joined."""
        block = Block()
        for position in range(self.rng.choice([1, 1, 2])):
            self._join(block, self.rng.choice(self.streams), f"a{position}")
        return block

    def _partner(self, block: Block, alias: str) -> tuple[str, list[str]]:
        """A further item, and what it is joined by; sometimes that asks something of one side alone."""
        self._join(block, self.rng.choice(self.streams), alias)
        conditions = block.conditions[-1]
        if self.rng.random() < 0.4:
            expressions = Expressions(self.rng, block.scope)
            conditions = [*conditions, expressions.condition(0)]
        return block.items[-1], conditions

    def _renamed(self, block: Block) -> Block:
        """A block with aliases that are not taken."""

        def other(text: str) -> str:
            for item in block.items:
                alias = item.split()[-1]
                text = text.replace(f"{alias}.", f"n{alias}.")
            return text

        items = [" ".join([*item.split()[:-1], "n" + item.split()[-1]]) for item in block.items]
        conditions = [[*map(other, conditions)] for conditions in block.conditions]
        scope = [(other(name), type_) for name, type_ in block.scope]
        return Block(items, conditions, scope, [*map(other, block.times)])

    def _outputs(self, scope: Scope) -> str:
        chosen = self.rng.sample(scope, min(len(scope), self.rng.randint(1, 3)))
        return ", ".join(f"{name} AS c{i}" for i, (name, _) in enumerate(chosen))

    def _where(self, scope: Scope, conditions: list[str] | None = None) -> str:
        parts = list(conditions or [])
        if self.rng.random() < 0.4:
            parts.append(Expressions(self.rng, scope).condition(1))
        return f" WHERE {' AND '.join(parts)}" if parts else ""
