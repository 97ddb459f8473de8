"""The compiled form of a multi-way join: equivalence classes of columns (groups), and punctuation schemes.

Time bounds of a multi-way join: how late rows of one input may start, given a row of another.

From `s.ts <= r.ts + INTERVAL '5' MINUTE` follows that a row of r joins no row of s that starts more than five
minutes later (see `join/time_bounds.py`). Of all filters of a node the weakest bound counts; if one of them
has none, there is none. A column may be replaced by one that a group makes equal to it. A timestamp in a
group bounds the other members of the group for every filter.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Expression, columns_of, conjuncts
from seine.algebra.linear import Terms, time_column, upper_bounds
from seine.algebra.types import Type
from seine.graph.node import Filter
from seine.operators.join.combination import key_columns
from seine.operators.join.time_bounds import after, most_added, shifted
from seine.operators.match.any_of import Tables
from seine.operators.state.sorted_run import END, START, take_rows
from seine.rows.delta import FOREVER, NEVER, concat_batches
from seine.rows.hashing import hash_columns, hash_is_exact, null_mask

if TYPE_CHECKING:
    from seine.operators.multi_join.multi_join import MultiJoinNode


Arrivals: TypeAlias = pa.RecordBatch | None
Named: TypeAlias = tuple[str, pa.Array]


class SchemeOf(NamedTuple):
    """A punctuation scheme of a port: the number of its input of punctuations, and the groups it binds.

    Reused values begin anew for rows of its `partners`.
    """

    number: int
    groups: tuple[int, ...]
    partners: frozenset[int] = frozenset()


class Shape:
    """The fixed parts of a node as its operator needs them; `width` counts relations as ports too.

    A group whose values have exact (injective) hashes is stored as these, any other as the values.
    """

    def __init__(self, node: MultiJoinNode, bounds: Sequence[TimeBound] = ()) -> None:
        self.node = node
        self.width = len(node.row_types)
        self.members: list[list[tuple[int, Expression]]] = [[] for _ in range(self.width)]
        self.types: dict[int, Type] = {}
        for member in node.members:
            self.members[member.port].append((member.group, member.expression))
            self.types[member.group] = member.expression.type
        self.groups = [tuple(sorted({group for group, _ in members})) for members in self.members]
        self.schemes: list[list[SchemeOf]] = [[] for _ in range(self.width)]
        for number, punctuated in enumerate(node.punctuated):
            groups, partners = tuple(dict.fromkeys(punctuated.groups)), frozenset(punctuated.partners)
            self.schemes[punctuated.port].append(SchemeOf(number, groups, partners))
        self.bounds: list[list[TimeBound]] = [[] for _ in range(self.width)]
        for bound in bounds:
            self.bounds[bound.other].append(bound)
        self.offsets = [0]
        for types in node.row_types:
            self.offsets.append(self.offsets[-1] + len(types))

    def begun_for(self, port: int) -> list[int]:
        """The schemes whose punctuations free rows of a port that began before their end."""
        return [scheme.number for schemes in self.schemes for scheme in schemes if port in scheme.partners]

    def sender(self, scheme: int) -> int:
        """The port whose rows the punctuations of a scheme are about."""
        return self.node.punctuated[scheme].port

    def is_exact(self, group: int) -> bool:
        """Whether hashes of a group's values are injective."""
        return hash_is_exact([self.types[group]])

    def is_lasting(self, port: int) -> bool:
        """Whether the rows of a port have the same codes in every step, as those of most relations do."""
        return port >= self.node.width and all(map(self.is_exact, self.groups[port]))

    def carried(self, port: int) -> list[int]:
        """The data columns that combinations need of a port, ascending."""
        first, end = self.offsets[port], self.offsets[port + 1]
        needed = {*self.node.out, *self.node.tested}
        return sorted(index - first for index in needed if first <= index < end)

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port must have."""
        if port >= self.node.width:
            return tuple(f"c{i}" for i in range(len(self.node.ports[port].types)))
        read = {*self.carried(port), *(i for _, e in self.members[port] for i in columns_of(e))}
        choices = [choice for bound in self.bounds[port] for choice in bound.choices]
        read.update(column for terms, _ in choices for column, _ in terms)
        return tuple(f"c{i}" for i in sorted(read))

    def rows(self, port: int, batches: Sequence[pa.RecordBatch]) -> Arrivals:
        """The rows that arrived at a port, with their group values; those with a NULL there are dropped."""
        filled = [batch for batch in batches if batch.num_rows]
        if not filled:
            return None
        batch = concat_batches(filled)
        values = key_columns(batch, [expression for _, expression in self.members[port]])
        others = [(f"c{i}", batch[f"c{i}"]) for i in self.carried(port)]
        others += [(horizon_name(to), pa.array(limit)) for to, limit in self._horizons(port, batch).items()]
        return self._kept(batch, [group for group, _ in self.members[port]], values, others)

    def _horizons(self, port: int, batch: pa.RecordBatch) -> dict[int, IntArray]:
        """By other port, for each row the instant from which on rows of that port begin too late to join."""
        horizons: dict[int, IntArray] = {}
        for bound in self.bounds[port]:
            choices = [after(batch, *choice) for choice in bound.choices]
            limit: IntArray = np.maximum.reduce(choices)
            known = horizons.get(bound.port)
            horizons[bound.port] = limit if known is None else np.minimum(known, limit)
        return horizons

    def static(self, number: int, tuples: pa.RecordBatch) -> Extent:
        """The tuples of a relation as rows of its port, with unbounded lifetimes."""
        lives = [pa.array(np.full(tuples.num_rows, time)) for time in (NEVER, FOREVER)]
        whole = pa.RecordBatch.from_arrays([*lives, *tuples.columns], [START, END, *tuples.schema.names])
        kept = self.rows(self.node.width + number, [whole])
        return Extent([] if kept is None else [kept], None)

    def punctuations(self, number: int, batches: Sequence[pa.RecordBatch]) -> Arrivals:
        """The punctuations that arrived at the input of a scheme, with their group values."""
        filled = [batch for batch in batches if batch.num_rows]
        if not filled:
            return None
        batch, groups = concat_batches(filled), self.node.punctuated[number].groups
        values = [batch[f"c{i}"].cast(self.types[group].arrow()) for i, group in enumerate(groups)]
        return self._kept(batch, groups, values, [])

    def _kept(
        self, batch: pa.RecordBatch, groups: Sequence[int], values: list[pa.Array], others: list[Named]
    ) -> Arrivals:
        """Lifetimes, group values and other columns of the rows whose group values agree and are not NULL."""
        keys: dict[int, pa.Array] = {}
        missing = null_mask(values)
        good = np.ones(batch.num_rows, bool) if missing is None else ~missing
        for group, value in zip(groups, values, strict=True):
            key = pa.array(hash_columns([value], len(value))) if self.is_exact(group) else value
            if group in keys:
                good &= pc.equal(keys[group], key).fill_null(False).to_numpy(zero_copy_only=False)
            keys.setdefault(group, key)
        named = [(START, batch[START]), (END, batch[END])]
        named += [(group_name(group), key) for group, key in sorted(keys.items())]
        named += others
        whole = pa.RecordBatch.from_arrays([a for _, a in named], names=[n for n, _ in named])
        kept = whole if good.all() else take_rows(whole, np.flatnonzero(good))
        return kept if kept.num_rows else None


def horizon_name(port: int) -> str:
    """The column with the horizons of rows towards a port."""
    return f"_t{port}"


def group_name(group: int) -> str:
    """The column with the values of a group."""
    return f"_g{group}"


class GroupCodes:
    """A dictionary encoding of group values for one step: integers that are equal where the values are.

    `rows` are the extents of the ports, `punctuations` those of the schemes.
    """

    def __init__(self, shape: Shape, rows: Sequence[Extent], punctuations: Sequence[Extent]) -> None:
        self._shape = shape
        self._rows, self._punctuations = rows, punctuations
        self._coded: dict[int, dict[int, IntArray]] = {}

    def of_rows(self, port: int, group: int) -> IntArray:
        """The codes of a group in the rows of a port."""
        if self._shape.is_exact(group):
            return self._rows[port].numbers(group_name(group))
        return self._codes(group)[port]

    def of_punctuations(self, number: int, group: int) -> IntArray:
        """The codes of a group in the punctuations of a scheme."""
        if self._shape.is_exact(group):
            return self._punctuations[number].numbers(group_name(group))
        return self._codes(group)[self._shape.width + number]

    def _codes(self, group: int) -> dict[int, IntArray]:
        """The codes of a group in all extents that have it, by number: ports, then schemes."""
        if group not in self._coded:
            shape = self._shape
            having = [(port, self._rows[port]) for port in range(shape.width) if group in shape.groups[port]]
            having += [
                (shape.width + number, self._punctuations[number])
                for number, punctuated in enumerate(shape.node.punctuated)
                if group in punctuated.groups
            ]
            type_ = shape.types[group].arrow()
            columns = [extent.column(group_name(group), type_) for _, extent in having]
            codes = pa.concat_arrays(columns).dictionary_encode().indices.to_numpy().astype(np.int64)
            ends = np.cumsum([len(column) for column in columns])
            parts = np.split(codes, ends[:-1])
            self._coded[group] = {number: part for (number, _), part in zip(having, parts, strict=True)}
        return self._coded[group]


Choice = tuple[Terms, int]  # a sum of columns of a row, and a constant that is added to it


class TimeBound(NamedTuple):
    """Rows of `port` that join a row of `other` start no later than the greatest of its `choices`."""

    port: int
    other: int
    choices: tuple[Choice, ...]


Pair = tuple[int, int]  # a port, and another that bounds it


def bounds_of(node: MultiJoinNode, tables: Tables) -> list[TimeBound]:
    """The bounds that hold for every filter of a node."""
    filters = [dict(_bounds(node, filter_, tables)) for filter_ in node.filters if len(tables[filter_.table])]
    shared = set.intersection(*map(set, filters)) if filters else set[Pair]()
    bounds = [TimeBound(*pair, tuple(sorted({by[pair] for by in filters}))) for pair in sorted(shared)]
    return bounds + list(_by_groups(node))


def _bounds(node: MultiJoinNode, filter_: Filter, tables: Tables) -> Iterator[tuple[Pair, Choice]]:
    """The bounds of one filter, for all rows of its table: by pair of ports, what bounds the first."""
    firsts = _firsts(node)
    starts = enumerate(zip(firsts, node.times, strict=False))
    times = {first + time: port for port, (first, time) in starts if time >= 0}
    for part in conjuncts(filter_.shape):
        for bound in upper_bounds(part):
            port = times.get(bound.column)
            most = None if port is None else most_added(bound, filter_, tables)
            if port is not None and most is not None:
                for other, terms in _rows_with(node, firsts, bound.terms):
                    if other != port:
                        yield (port, other), (terms, most)


def _rows_with(node: MultiJoinNode, firsts: list[int], terms: Terms) -> Iterator[tuple[int, Terms]]:
    """The ports whose rows have all the given columns; a single column may also be had through a group."""
    places = [(bisect_right(firsts, column) - 1, column) for column, _ in terms]
    (owner, first), *others = places
    if all(port == owner for port, _ in others):
        yield owner, tuple((column - firsts[owner], sign) for column, sign in terms)
    if not others:
        members = [(m.port, m.group, time_column(m.expression)) for m in node.members]
        groups = {g for port, g, column in members if (port, column) == (owner, first - firsts[owner])}
        for port, group, column in members:
            if group in groups and port != owner and column is not None:
                yield port, ((column, terms[0][1]),)


def _by_groups(node: MultiJoinNode) -> Iterator[TimeBound]:
    """The bounds that follow from timestamps in groups."""
    times = [(m.port, m.group, sum_) for m in node.members if (sum_ := shifted(m.expression)) is not None]
    for port, group, (time, later) in times:
        if port < node.width and time == node.times[port]:
            for other, same, (column, added) in times:
                if same == group and other != port:
                    yield TimeBound(port, other, ((((column, 1),), added - later),))


def _firsts(node: MultiJoinNode) -> list[int]:
    """The position of the first column of each port in the combined row."""
    firsts = [0]
    for types in node.row_types[:-1]:
        firsts.append(firsts[-1] + len(types))
    return firsts


class Extent:
    """Batches one after the other; a column is concatenated when it is first read.

    >>> extent = Extent([pa.record_batch({"_s": [3, 4]})], pa.record_batch({"_s": [5]}))
    >>> extent.held, extent.rows, extent.numbers("_s").tolist()
    (2, 3, [3, 4, 5])
    """

    def __init__(self, held: Sequence[pa.RecordBatch], came: pa.RecordBatch | None) -> None:
        self._batches = [*held, *([came] if came is not None else [])]
        self.held = sum(batch.num_rows for batch in held)
        self.rows = self.held + (came.num_rows if came is not None else 0)
        self._columns: dict[str, pa.Array] = {}

    def column(self, name: str, type_: pa.DataType) -> pa.Array:
        """A column; NULL in rows that are older than the first query that needs it."""
        if name not in self._columns:
            parts = [_part(batch, name, type_) for batch in self._batches if batch.num_rows]
            self._columns[name] = pa.concat_arrays(parts) if parts else pa.array([], type_)
        return self._columns[name]

    def numbers(self, name: str) -> IntArray:
        """A column of times or codes; FOREVER where it is NULL."""
        column = self.column(name, pa.int64())
        numbers: IntArray = (column.fill_null(FOREVER) if column.null_count else column).to_numpy()
        return numbers


def _part(batch: pa.RecordBatch, name: str, type_: pa.DataType) -> pa.Array:
    place = batch.schema.get_field_index(name)
    return batch.column(place) if place >= 0 else pa.nulls(batch.num_rows, type_)
