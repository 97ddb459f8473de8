"""A slow, obvious meaning of plans at one instant: rows are Python tuples, results are bags."""

from __future__ import annotations

import itertools
import operator
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Call, Column, Expression, Literal, conjunction
from seine.algebra.linear import WEIGHTED, coefficients_of
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Lookup,
    LookupKind,
    PartnerLookup,
    Plan,
    Project,
    Scan,
    Select,
    SetKind,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.types import BIGINT, BOOLEAN, Field

Row = tuple[Any, ...]
Data = dict[str, list[Row]]

STRICT: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "add": operator.add,
    "sub": operator.sub,
    "mod": lambda a, b: a % b if b else None,
}


def value(expression: Expression, row: Row) -> Any:
    if isinstance(expression, Column):
        return row[expression.index]
    if isinstance(expression, Literal):
        return expression.value
    assert isinstance(expression, Call)
    args = [value(arg, row) for arg in expression.args]
    if expression.name == "and":
        return False if False in args else None if None in args else True
    if expression.name == "or":
        return True if True in args else None if None in args else False
    if expression.name == "is_null":
        return args[0] is None
    if expression.name == "is_not_null":
        return args[0] is not None
    if expression.name == "in":
        return None if args[0] is None else True if args[0] in args[1:] else None if None in args else False
    coefficients = coefficients_of(expression.name)
    if expression.name == WEIGHTED:
        coefficients, args = tuple(args[len(args) // 2 :]), args[: len(args) // 2]
    if coefficients is not None:
        return None if None in args else sum(map(operator.mul, coefficients, args))
    if expression.name == "not":
        return None if args[0] is None else not args[0]
    return None if None in args else STRICT[expression.name](*args)


def interpret(plan: Plan, data: Data) -> list[Row]:
    """The rows of a plan over the tuples alive at one instant."""
    inputs = [interpret(child, data) for child in plan.inputs]
    match plan:
        case Scan(stream, _):
            return data[stream.name]
        case Lookup(relation, _):
            return data[relation.name]
        case Select(_, predicate):
            return [row for row in inputs[0] if value(predicate, row) is True]
        case Project(_, expressions, _):
            return [tuple(value(e, row) for e in expressions) for row in inputs[0]]
        case Join(_, _, predicate):
            pairs = [left + right for left, right in itertools.product(*inputs)]
            return [row for row in pairs if predicate is None or value(predicate, row) is True]
        case Aggregate():
            return aggregate(plan, inputs[0])
        case Distinct():
            return list(dict.fromkeys(inputs[0]))
        case UnionAll():
            return [row for rows in inputs for row in rows]
        case SetOperation(_, _, kind):
            return set_operation(kind, inputs[0], inputs[1])
        case PartnerLookup(_, relation, predicate, kind):
            return partner_lookup(kind, predicate, inputs[0], data[relation.relation.name])
    raise TypeError(plan)


def partner_lookup(kind: LookupKind, predicate: Expression, rows: list[Row], tuples: list[Row]) -> list[Row]:
    """Rows that are asked for partners among tuples."""
    result: list[Row] = []
    for row in rows:
        pairs = [row + one for one in tuples if value(predicate, row + one) is True]
        if kind is LookupKind.LEFT:
            width = len(tuples[0]) if tuples else 2
            result += pairs or [row + (None,) * width]
        elif bool(pairs) == (kind is LookupKind.SEMI):
            result.append(row)
    return result


def set_operation(kind: SetKind, left: list[Row], right: list[Row]) -> list[Row]:
    """The rows of the left, each as often as the kind makes of its counts on both sides."""
    counts = Counter(left), Counter(right)
    return [row for row, m in counts[0].items() for _ in range(_copies(kind, m, counts[1][row]))]


def _copies(kind: SetKind, m: int, n: int) -> int:
    """How often a set operation gives a row that is m times in its left and n times in its right input."""
    match kind:
        case SetKind.EXCEPT:
            return int(n == 0)
        case SetKind.EXCEPT_ALL:
            return max(m - n, 0)
        case SetKind.INTERSECT:
            return int(n > 0)
        case SetKind.INTERSECT_ALL:
            return min(m, n)
        case SetKind.SEMI:
            return m if n else 0
    return 0 if n else m


def aggregate(plan: Aggregate, rows: list[Row]) -> list[Row]:
    groups: dict[Row, list[Row]] = {} if plan.keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(value(key, row) for key in plan.keys), []).append(row)
    return [key + tuple(fold(call, members) for call in plan.calls) for key, members in groups.items()]


def fold(call: AggregateCall, rows: list[Row]) -> Any:
    if call.function == "count_all":
        return len(rows)
    known = [v for v in (value(call.args[0], row) for row in rows) if v is not None]
    known = [*{*known}] if call.distinct else known
    if call.function == "count":
        return len(known)
    return {"sum": sum, "max": max}[call.function](known) if known else None


def answer(plan: Plan, data: Data) -> Counter[Row]:
    return Counter(interpret(plan, data))


def stream(name: str, *, retractable: bool = False, window: int | None = 10) -> StreamDef:
    """A stream with columns k, x and ts."""
    fields = (Field("k", BIGINT), Field("x", BIGINT), Field("ts", BIGINT))
    return StreamDef(name, fields, 2, None, window=window, retractable=retractable)


A, B, C = stream("a"), stream("b"), stream("c")
R = RelationDef("r", (Field("k", BIGINT), Field("y", BIGINT)), None)
SOURCES: tuple[Plan, ...] = (Scan(A, "a"), Scan(B, "b"), Scan(C, "c"), Lookup(R, "r"))


def col(index: int) -> Column:
    return Column(index, BIGINT)


def lit(number: int | None) -> Literal:
    return Literal(number, BIGINT)


def holds(name: str, *args: Expression) -> Call:
    return Call(name, args, BOOLEAN)


def both(*parts: Expression) -> Expression:
    joined = conjunction(list(parts))
    assert joined is not None
    return joined


def has_lone_relation(plan: Plan) -> bool:
    """Whether a part beneath a set operator or aggregate reads relations alone."""
    return any(
        not any(isinstance(leaf, Scan) for leaf in walk(part))
        for part in walk(plan)
        if not isinstance(part, Lookup)
    )


class RandomPlans:
    """Random plans over a, b, c and r, and random small tables for them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def data(self) -> Data:
        sizes = {"a": 3, "b": 3, "c": 3, "r": 2}
        return {
            name: [self.row(width) for _ in range(self.random.randint(2, 6))] for name, width in sizes.items()
        }

    def row(self, width: int) -> Row:
        return tuple(self.random.choice((None, 0, 1, 1, 2, 3)) for _ in range(width))

    def number(self, width: int) -> Expression:
        kind = self.random.random()
        if kind < 0.75 and width:
            return col(self.random.randrange(width))
        if kind < 0.85 or not width:
            return lit(self.random.randint(0, 3))
        name = self.random.choice(("add", "sub", "mod"))
        return Call(name, (self.number(width), self.number(width)), BIGINT)

    def condition(self, width: int) -> Expression:
        kind = self.random.random()
        if kind < 0.1:
            return holds("or", self.condition(width), self.condition(width))
        if kind < 0.2:
            return holds("is_null", self.number(width))
        name = self.random.choice(("eq", "eq", "eq", "ne", "lt", "le", "gt", "ge"))
        return holds(name, self.number(width), self.number(width))

    def predicate(self, width: int) -> Expression:
        return both(*(self.condition(width) for _ in range(self.random.randint(1, 3))))

    def project(self, plan: Plan, width: int) -> Project:
        expressions = tuple(self.number(len(plan.schema)) for _ in range(width))
        return Project(plan, expressions, tuple(f"c{i}" for i in range(width)))

    def block(self, depth: int) -> Plan:
        """Project(Select(Join(Join(i, j), k))) as a front end writes it."""
        items = [self.item(depth) for _ in range(self.random.choice((1, 2, 2, 3)))]
        self.random.shuffle(items)
        if all(isinstance(item, Lookup) for item in items):
            items.append(SOURCES[0])
        joined = items[0]
        for item in items[1:]:
            joined = Join(joined, item)
        if self.random.random() < 0.85:
            joined = Select(joined, self.predicate(len(joined.schema)))
        return self.project(joined, self.random.randint(1, 3))

    def item(self, depth: int) -> Plan:
        return self.plan(depth - 1) if depth and self.random.random() < 0.4 else self.random.choice(SOURCES)

    def plan(self, depth: int = 2) -> Plan:
        kind = self.random.choice(("block", "block", "aggregate", "distinct", "union", "except", "pairs"))
        if not depth or kind == "block":
            return self.block(depth)
        if kind == "aggregate":
            return self.grouped(depth)
        if kind == "distinct":
            return Distinct(self.plan(depth - 1))
        if kind == "pairs":
            return self.pairs(depth)
        branches = [self.project(self.plan(depth - 1), 2) for _ in range(2)]
        if self.random.random() < 0.25:
            branches = self.selections()
        if kind == "except":
            kinds = [kind for kind in SetKind if not kind.is_of_pairs]
            return SetOperation(*branches, self.random.choice(kinds))
        union = UnionAll(tuple(branches))
        return Distinct(union) if self.random.random() < 0.5 else union

    def pairs(self, depth: int) -> Plan:
        """A semi or anti join, over what a join keeps of its left side."""
        left, right = self.item(depth), self.item(depth - 1)
        left = SOURCES[0] if isinstance(left, Lookup) else left
        joined = Join(left, right)
        predicate = self.predicate(len(joined.schema))
        width = len(left.schema)
        if isinstance(right, Lookup):
            kind = self.random.choice([*LookupKind])
            return self.project(PartnerLookup(left, right, predicate, kind), 2)
        columns = tuple(Column(i, field.type) for i, field in enumerate(left.schema))
        met = Project(Select(joined, predicate), columns, tuple(field.name for field in left.schema))
        reads = tuple(sorted(index for index in predicate.columns if index < width))
        kind = self.random.choice([SetKind.SEMI, SetKind.ANTI])
        return self.project(SetOperation(left, met, kind, reads), 2)

    def selections(self) -> list[Project]:
        """Two selections from one stream, projected alike."""
        source = self.random.choice(SOURCES[:3])
        columns = (col(self.random.randrange(3)), col(self.random.randrange(3)))
        conditions = [
            holds(self.random.choice(("eq", "le", "gt")), col(0), lit(self.random.randint(0, 3)))
            for _ in range(2)
        ]
        return [Project(Select(source, condition), columns, ("c0", "c1")) for condition in conditions]

    def regrouped(self, depth: int = 2) -> Plan:
        """Groups of groups, or of distinct rows, whose functions may be functions of rows."""
        below = self.project(self.plan(depth - 1), 3)
        count, most = AggregateCall("count_all", (), BIGINT), AggregateCall("max", (col(2),), BIGINT)
        finer: Plan = Aggregate(below, (col(0), self.number(2)), (count, most), ("k", "l", "n", "m"))
        calls = [AggregateCall("sum", (col(2),), BIGINT), AggregateCall("max", (col(3),), BIGINT)]
        if self.random.random() < 0.5:
            finer, calls = Distinct(self.project(below, 2)), []
        calls += [AggregateCall("max", (col(1),), BIGINT), AggregateCall("count", (col(1),), BIGINT)]
        keys = tuple(self.random.sample([col(0), self.number(2)], self.random.randint(0, 2)))
        chosen = tuple(self.random.sample(calls, self.random.randint(1, 2)))
        return Aggregate(finer, keys, chosen, tuple(f"g{i}" for i in range(len(keys) + len(chosen))))

    def grouped(self, depth: int) -> Plan:
        below = self.plan(depth - 1)
        width = len(below.schema)
        keys = tuple(self.number(width) for _ in range(self.random.randint(0, 2)))
        if self.random.random() < 0.25:  # a key that is fixed
            below, keys = Select(below, holds("eq", col(0), lit(1))), (*keys, col(0))
        calls = (AggregateCall("count_all", (), BIGINT), AggregateCall("sum", (self.number(width),), BIGINT))
        plan: Plan = Aggregate(below, keys, calls, tuple(f"g{i}" for i in range(len(keys) + 2)))
        if self.random.random() < 0.5:
            plan = Select(plan, self.predicate(len(plan.schema)))
        return self.project(plan, self.random.randint(1, 2))
