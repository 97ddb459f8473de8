"""Random typed expressions over the columns in scope, as SQL text."""

from __future__ import annotations

from random import Random

from tests.generators.lines import STRINGS

Scope = list[tuple[str, str]]  # column as written, type
NUMERIC = ("BIGINT", "INT", "DOUBLE", "DECIMAL(8,2)")
KEYS = ("BIGINT", "INT", "STRING", "DATE", "BOOLEAN")
PATTERNS = ["a%", "%b%", "_", "%''%", "%o_", "", "%"]


class Expressions:
    """Writes expressions; `depth` bounds how far they nest."""

    def __init__(self, rng: Random, scope: Scope) -> None:
        self.rng = rng
        self.scope = scope

    def columns(self, *types: str) -> list[str]:
        return [name for name, type_ in self.scope if type_ in types]

    def any_type(self) -> str:
        return self.rng.choice([type_ for _, type_ in self.scope if type_ != "TIMESTAMP"])

    def value(self, type_: str, depth: int = 2) -> str:
        """An expression of about that type: a number may be wider."""
        columns = self.columns(type_)
        if columns and (depth == 0 or self.rng.random() < 0.5):
            return self.rng.choice(columns)
        if depth == 0 or self.rng.random() < 0.1:
            return self.literal(type_)
        return self._compound(type_, depth - 1)

    def literal(self, type_: str) -> str:
        match type_:
            case "BIGINT" | "INT":
                return str(self.rng.randint(-1, 4))
            case "DOUBLE":
                return str(self.rng.randint(-4, 8) / 4)
            case "DECIMAL(8,2)":
                return f"{self.rng.randint(-100, 600) / 100:.2f}"
            case "STRING":
                return quoted(self.rng.choice(STRINGS[:9]))
            case "BOOLEAN":
                return self.rng.choice(["TRUE", "FALSE"])
        return f"DATE '2024-01-0{self.rng.randint(1, 5)}'"

    def _compound(self, type_: str, depth: int) -> str:
        if type_ == "BOOLEAN":
            return f"({self.condition(depth)})"
        form = self.rng.random()
        if form < 0.15:
            return f"COALESCE({self.value(type_, depth)}, {self.literal(type_)})"
        if form < 0.3:
            then, other = self.value(type_, depth), self.value(type_, depth)
            return f"CASE WHEN {self.condition(depth)} THEN {then} ELSE {other} END"
        if type_ == "STRING":
            return self._string(depth)
        if type_ == "DATE":
            return f"({self.value(type_, 0)} + {self.rng.randint(1, 3)})"
        return self._number(type_, depth)

    def _string(self, depth: int) -> str:
        text = self.value("STRING", depth)
        return self.rng.choice(
            [f"UPPER({text})", f"LOWER({text})", f"SUBSTRING({text}, 1, 2)", f"({text} || '/')"]
        )

    def _number(self, type_: str, depth: int) -> str:
        left, right = self.value(type_, depth), self.value(type_, depth)
        if type_ in ("BIGINT", "INT"):
            integer = [
                f"({left} + {right})",
                f"({left} - {right})",
                f"({left} * {right})",
                f"({left} % {right})",
            ]
            integer += [f"LENGTH({self.value('STRING', depth)})", f"(- {left})", f"ABS({left})"]
            return self.rng.choice([*integer, f"CAST({self.value('STRING', 0)} AS INT)"])
        if type_ == "DOUBLE":
            return self.rng.choice(
                [
                    f"({left} + {right})",
                    f"({left} * {right})",
                    f"(CAST({left} AS DOUBLE) / {right})",
                    f"ABS({left})",
                ]
            )
        return self.rng.choice([f"({left} + {right})", f"({left} - {right})", f"({left} * 2)"])

    def condition(self, depth: int = 2) -> str:
        form = self.rng.random()
        if depth > 0 and form < 0.25:
            word = self.rng.choice(["AND", "OR"])
            return f"({self.condition(depth - 1)} {word} {self.condition(depth - 1)})"
        if depth > 0 and form < 0.35:
            return f"NOT ({self.condition(depth - 1)})"
        if form < 0.45:
            return f"{self.rng.choice(self.scope)[0]} IS {self.rng.choice(['', 'NOT '])}NULL"
        return self._test(self.any_type(), max(depth - 1, 0))

    def _test(self, type_: str, depth: int) -> str:
        value, form = self.value(type_, depth), self.rng.random()
        if type_ == "BOOLEAN":
            return value
        if type_ == "STRING" and form < 0.3:
            return f"{value} {self.rng.choice(['', 'NOT '])}LIKE '{self.rng.choice(PATTERNS)}'"
        if form < 0.45:
            listed = ", ".join(self.literal(type_) for _ in range(self.rng.randint(1, 3)))
            return f"{value} {self.rng.choice(['', 'NOT '])}IN ({listed})"
        if form < 0.6:
            return f"{value} BETWEEN {self.literal(type_)} AND {self.value(type_, 0)}"
        return f"{value} {self.rng.choice(['=', '<>', '<', '<=', '>', '>='])} {self.value(type_, depth)}"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
