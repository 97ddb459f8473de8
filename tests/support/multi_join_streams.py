"""Random joins of many inputs with truthful promises, and what their definitions say, the slow way."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Column, Expression
from seine.algebra.linear import Terms
from seine.algebra.types import BIGINT, Type
from seine.graph.node import Port
from seine.operators.match.any_of import any_of
from seine.operators.multi_join.multi_join import (
    EAGER,
    Member,
    MultiJoinNode,
    MultiJoinOperator,
    Punctuated,
    PurgePace,
    Static,
)
from seine.operators.multi_join.multi_join_shape import TimeBound
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta, data_names
from tests.support.join_streams import condition_filters, stream, tuples


@dataclass(frozen=True)
class Tuple:
    port: int
    start: int
    end: int
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Punctuation:
    """A promise of one of the schemes of a port."""

    port: int
    scheme: int
    values: tuple[Any, ...]
    time: int
    limit: int


@dataclass(frozen=True)
class Setting:
    """A join: for each port the groups of its columns (None: in no group), its window and its schemes.

    A scheme is columns and a lifespan. The last `relations` ports are relations, with these tuples.
    """

    columns: tuple[tuple[int | None, ...], ...]
    windows: tuple[int | None, ...]
    schemes: tuple[tuple[tuple[tuple[int, ...], int | None], ...], ...]
    bounds: tuple[TimeBound, ...] = ()
    type: Type = BIGINT
    condition: Expression | None = None
    lateness: int = 4
    relations: tuple[tuple[tuple[Any, ...], ...], ...] = ()

    @property
    def width(self) -> int:
        return len(self.columns)

    @property
    def streams(self) -> int:
        return self.width - len(self.relations)

    def tuples(self, port: int) -> list[Tuple]:
        """The tuples of a relation."""
        return [Tuple(port, NEVER, FOREVER, values) for values in self.relations[port - self.streams]]

    def punctuated(self) -> list[tuple[int, int]]:
        """The schemes that a join is told of, all of whose columns are in groups: port and number."""
        return [
            (port, number)
            for port, schemes in enumerate(self.schemes)
            for number, (columns, _) in enumerate(schemes)
            if all(self.columns[port][c] is not None for c in columns)
        ]

    def operator(self, pace: PurgePace = EAGER) -> MultiJoinOperator:
        filters, tables = condition_filters([self.condition])
        types = [(self.type,) * len(columns) for columns in self.columns]
        ports = [Port(i, types[i], (stream(i),)) for i in range(self.streams)]
        punctuated = []
        for port, number in self.punctuated():
            columns, _ = self.schemes[port][number]
            ports.append(Port(100 + len(ports), (self.type,) * len(columns), (stream(port),)))
            groups = tuple(self.columns[port][c] for c in columns)
            punctuated.append(Punctuated(port, groups))  # type: ignore[arg-type]
        whole = tuple(itertools.chain(*types))
        node = MultiJoinNode(
            id=9,
            ports=tuple(ports),
            types=whole,
            out=tuple(range(len(whole))),
            streams=tuple(stream(i) for i in range(self.streams)),
            hold=(),
            identities=0,
            stage=1,
            owner="",
            filters=filters,
            width=self.streams,
            statics=tuple(Static(f"r{i}", types[i]) for i in range(self.streams, self.width)),
            members=tuple(
                Member(port, group, Column(c, self.type))
                for port, groups in enumerate(self.columns)
                for c, group in enumerate(groups)
                if group is not None
            ),
            punctuated=tuple(punctuated),
            times=(0,) * self.streams,
        )
        relations = [_batch(self, self.tuples(port), port) for port in range(self.streams, self.width)]
        return MultiJoinOperator(node, any_of(filters, tables), self.bounds, relations, pace)


def random_setting(
    rng: random.Random, timed: bool = False, type_: Type = BIGINT, width: int | None = None
) -> Setting:
    """Some ports, three or four unless told, joined in some way, with some schemes."""
    width = width or rng.choice([3, 3, 3, 4])
    groups = rng.randint(1, width)
    columns = []
    for _ in range(width):
        groups_of = [rng.randrange(groups) for _ in range(rng.choice([1, 2, 2, 3] if width < 4 else [1, 2]))]
        columns.append((*groups_of, None) if rng.random() < 0.3 else tuple(groups_of))
    columns = _joined(columns)
    schemes = []
    for groups_of in columns:
        sets = {
            tuple(sorted(rng.sample(range(len(groups_of)), rng.randint(1, min(2, len(groups_of))))))
            for _ in range(rng.choice([0, 1, 1, 2]))
        }
        lifespans = [None, None, rng.randint(1, 20)] if timed else [None]
        schemes.append(tuple((chosen, rng.choice(lifespans)) for chosen in sorted(sets)))
    windows = tuple(rng.choice([None, None, rng.randint(1, 12)]) if timed else None for _ in range(width))
    return Setting(tuple(columns), windows, tuple(schemes), type=type_)


def _joined(columns: Sequence[tuple[int | None, ...]]) -> list[tuple[int | None, ...]]:
    """The columns without groups that only one port has."""
    having = Counter(group for groups_of in columns for group in {*groups_of} if group is not None)
    return [tuple(group if having[group] > 1 else None for group in groups_of) for groups_of in columns]


def random_events(
    rng: random.Random, setting: Setting, count: int, domain: Sequence[Any], rate: float = 0.4
) -> list[list[Tuple | Punctuation]]:
    """What each port sends: tuples, none of which breaks a promise made before it, and promises."""
    collected: list[list[Tuple | Punctuation]] = []
    for port, columns in enumerate(setting.columns[: setting.streams]):
        events: list[Tuple | Punctuation] = []
        time = 0
        for _ in range(count):
            time += rng.choice([0, 1, 1, 2])
            if setting.schemes[port] and rng.random() < rate:
                scheme = rng.randrange(len(setting.schemes[port]))
                chosen, lifespan = setting.schemes[port][scheme]
                limit = FOREVER if lifespan is None else time + lifespan
                values = tuple(rng.choice(domain) for _ in chosen)
                events.append(Punctuation(port, scheme, values, time, limit))
                continue
            start = time - rng.randint(0, setting.lateness)
            window = setting.windows[port]
            one = Tuple(
                port,
                start,
                FOREVER if window is None else start + window,
                tuple(rng.choice([*domain, None] if rng.random() < 0.1 else list(domain)) for _ in columns),
            )
            if not any(isinstance(e, Punctuation) and breaks(setting, one, e) for e in events):
                events.append(one)
        collected.append(events)
    return collected


def breaks(setting: Setting, one: Tuple, punctuation: Punctuation) -> bool:
    if punctuation.port != one.port:
        return False
    columns, _ = setting.schemes[one.port][punctuation.scheme]
    return one.start < punctuation.limit and all(
        one.values[c] == v for c, v in zip(columns, punctuation.values, strict=True)
    )


# ---- definitions


def group_values(setting: Setting, one: Tuple) -> dict[int, Any] | None:
    """The values of a tuple by group; None if it joins nothing."""
    collected: dict[int, Any] = {}
    for group, value in zip(setting.columns[one.port], one.values, strict=True):
        if group is not None and (value is None or collected.setdefault(group, value) != value):
            return None
    return collected


def joins(setting: Setting, parts: Sequence[Tuple]) -> bool:
    """Whether tuples agree in their groups and live together."""
    known: dict[int, Any] = {}
    for one in parts:
        values = group_values(setting, one)
        if values is None or any(known.setdefault(group, value) != value for group, value in values.items()):
            return False
    if max(one.start for one in parts) >= min(one.end for one in parts):
        return False
    by_port = {one.port: one for one in parts}
    return all(
        any(_is_near(by_port[b.port], by_port[b.other], *choice) for choice in b.choices)
        for b in setting.bounds
        if b.port in by_port and b.other in by_port
    )


def _is_near(one: Tuple, other: Tuple, terms: Terms, span: int) -> bool:
    values = [(other.values[column], sign) for column, sign in terms]
    if any(value is None for value, _ in values):
        return False
    return one.start <= sum(sign * value for value, sign in values) + span


def combinations(
    setting: Setting, choices: Sequence[Sequence[Tuple]], given: tuple[Tuple, ...] = ()
) -> Iterator[tuple[Tuple, ...]]:
    """Every combination of one tuple of each list that joins."""
    if len(given) == len(choices):
        yield given
        return
    for one in choices[len(given)]:
        if joins(setting, (*given, one)):
            yield from combinations(setting, choices, (*given, one))


def possible(
    setting: Setting,
    port: int,
    punctuations: Sequence[Punctuation],
    lows: Sequence[int],
    instants: set[int],
    domain: Any,
) -> list[Tuple]:
    """Tuples that a port could still send: every choice of known values and a new one for each group."""
    groups = sorted({group for group in setting.columns[port] if group is not None})
    window = setting.windows[port]
    collected = []
    for values in itertools.product(*([*domain, f"new{group}"] for group in groups)):
        named: dict[int | None, Any] = dict(zip(groups, values, strict=True))
        for instant in sorted(instants):
            end = FOREVER if window is None else instant + window
            one = Tuple(port, instant, end, tuple(named.get(g, 10**6) for g in setting.columns[port]))
            if instant >= lows[port] and not any(breaks(setting, one, p) for p in punctuations):
                collected.append(one)
    return collected


def lasting(
    setting: Setting,
    came: Sequence[Sequence[Tuple]],
    punctuations: Sequence[Punctuation],
    lows: Sequence[int],
    domain: Any,
) -> Counter:
    """The tuples that came and can be part of a later combination: there is a legal one."""
    times = [*lows, *(p.limit for p in punctuations), *(one.start for ones in came for one in ones), -1000]
    instants = {time for time in times if NEVER < time < FOREVER}
    ports = range(setting.streams)
    future = [possible(setting, port, punctuations, lows, instants, domain) for port in ports]
    future += [[] for _ in setting.relations]
    came = [*came, *(setting.tuples(port) for port in range(setting.streams, setting.width))]
    new = {one for ones in future for one in ones}
    emitted: Counter = Counter()
    for port, ones in enumerate(came[: setting.streams]):
        others = [[*future[i], *dict.fromkeys(came[i])] for i in range(setting.width)]
        for one in {*ones}:
            others[port] = [one]
            whole = combinations(setting, others)
            if any(any(part in new for part in parts if part is not one) for parts in whole):
                emitted[one] = ones.count(one)
    return emitted


def reached(setting: Setting, port: int) -> set[int]:
    """The ports that promises can close for tuples of a port, in any order (no windows)."""
    ports_reached, grown = {port}, True
    while grown:
        known = {group for port_reached in ports_reached for group in setting.columns[port_reached]}
        more = {
            port_reached
            for port_reached, number in setting.punctuated()
            if {setting.columns[port_reached][c] for c in setting.schemes[port_reached][number][0]} <= known
        }
        grown = not more <= ports_reached
        ports_reached |= more
    return ports_reached


def all_punctuations(setting: Setting, domain: Sequence[Any], time: int) -> list[list[Tuple | Punctuation]]:
    """Every promise that can be made of some values."""
    return [
        [
            Punctuation(port, number, values, time, FOREVER)
            for number, (columns, _) in enumerate(schemes)
            for values in itertools.product(domain, repeat=len(columns))
        ]
        for port, schemes in enumerate(setting.schemes)
    ]


def results(setting: Setting, came: Sequence[Sequence[Tuple]]) -> Counter:
    """The join of all that came, as rows."""
    came = [*came, *(setting.tuples(port) for port in range(setting.streams, setting.width))]
    return Counter(
        (
            max(one.start for one in parts),
            min(one.end for one in parts),
            *itertools.chain(*(one.values for one in parts)),
        )
        for parts in combinations(setting, came)
    )


# ---- driving


@dataclass
class Drive:
    """An operator at work; after each step `came`, `promises` and `lows` say what it was told."""

    setting: Setting
    events: Sequence[Sequence[Tuple | Punctuation]]
    rng: random.Random
    steps: int
    pace: PurgePace = EAGER
    store: MemoryStore = field(default_factory=MemoryStore)
    output: Counter = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[None]:
        width = self.setting.streams
        self.operator = self.setting.operator(self.pace)
        self.came: list[list[Tuple]] = [[] for _ in range(width)]
        self.punctuations: list[Punctuation] = []
        places = [
            [*sorted(self.rng.randint(0, len(events)) for _ in range(self.steps - 1)), len(events)]
            for events in self.events
        ]
        at = [0] * width
        for number in range(self.steps):
            fresh: list[list[Tuple | Punctuation]] = []
            for port in range(width):
                fresh.append(list(self.events[port][at[port] : places[port][number]]))
                at[port] = places[port][number]
            self.lows = [self._low(port, at[port]) for port in range(width)]
            self._step(fresh)
            yield

    def idle(self) -> None:
        """A step in which nothing comes."""
        self._step([[] for _ in range(self.setting.streams)])

    def _low(self, port: int, at: int) -> int:
        later = [one.start for one in self.events[port][at:] if isinstance(one, Tuple)]
        before = [one.start for one in self.events[port][:at] if isinstance(one, Tuple)]
        if not before:
            return NEVER
        return min([max(before) - self.setting.lateness, *later])  # streams never end here

    def _step(self, fresh: list[list[Tuple | Punctuation]]) -> None:
        self.store.head = json.loads(json.dumps(self.store.head))
        inputs = [
            [_rows(self.setting, [e for e in events if isinstance(e, Tuple)], port)]
            for port, events in enumerate(fresh)
        ]
        punctuations = [e for events in fresh for e in events if isinstance(e, Punctuation)]
        for port, number in self.setting.punctuated():
            mine = [p for p in punctuations if (p.port, p.scheme) == (port, number)]
            inputs.append([_punctuations(self.setting, mine, port, number)])
        for port, events in enumerate(fresh):
            self.came[port] += [e for e in events if isinstance(e, Tuple)]
        self.punctuations += punctuations
        clock = Clock({stream(port): low for port, low in enumerate(self.lows)})
        for delta in self.operator.step(inputs, clock, self.store):
            self.output.update(tuples(delta.plus))
        self.sizes.append(self.operator.state_rows(self.store))

    def held(self) -> Counter:
        """The tuples in the state."""
        emitted: Counter = Counter()
        for port, columns in enumerate(self.setting.columns[: self.setting.streams]):
            for entry in self.store.head[f"rows{port}"]:
                for row in self.store.get(entry["run"]).to_pylist():
                    emitted[
                        Tuple(port, row["_s"], row["_e"], tuple(row[f"c{i}"] for i in range(len(columns))))
                    ] += 1
        return emitted

    def punctuations_held(self) -> int:
        return sum(
            entry["rows"]
            for number in range(len(self.setting.punctuated()))
            for entry in self.store.head[f"punctuations{number}"]
        )


def _rows(setting: Setting, rows: Sequence[Tuple], port: int) -> Delta:
    return Delta(_lives(_batch(setting, rows, port), [(one.start, one.end) for one in rows]))


def _punctuations(setting: Setting, punctuations: Sequence[Punctuation], port: int, number: int) -> Delta:
    width = len(setting.schemes[port][number][0])
    columns = [pa.array([p.values[i] for p in punctuations], setting.type.arrow()) for i in range(width)]
    batch = pa.RecordBatch.from_arrays(columns, data_names(width))
    return Delta(_lives(batch, [(p.time, p.limit) for p in punctuations]))


def _batch(setting: Setting, rows: Sequence[Tuple], port: int) -> pa.RecordBatch:
    width = len(setting.columns[port])
    columns = [pa.array([one.values[i] for one in rows], setting.type.arrow()) for i in range(width)]
    return pa.RecordBatch.from_arrays(columns, data_names(width))


def _lives(batch: pa.RecordBatch, lives: Sequence[tuple[int, int]]) -> pa.RecordBatch:
    start, end = np.array(lives, np.int64).reshape(-1, 2).T.copy()
    times = [pa.array(np.zeros(len(lives), np.int64)), pa.array(start), pa.array(end)]
    return pa.RecordBatch.from_arrays([*times, *batch.columns], ["_k", "_s", "_e", *batch.schema.names])


def with_relation(rng: random.Random, setting: Setting, domain: Sequence[Any]) -> Setting:
    """The same with a port more that is a relation, joined by some of the groups and by one of its own."""
    groups = sorted({group for columns_of in setting.columns for group in columns_of if group is not None})
    fresh = len(groups) + 10
    columns_of = (rng.choice(groups), fresh, None) if groups else (fresh, fresh, None)
    port = rng.randrange(setting.width)
    columns = [(*c, fresh) if i == port else c for i, c in enumerate(setting.columns)]
    values = [*domain] * 8 + [None]
    rows = tuple(tuple(rng.choice(values) for _ in columns_of) for _ in range(rng.randint(3, 7)))
    schemes = list(setting.schemes)
    if rng.random() < 0.6:
        schemes[port] = (*schemes[port], ((len(columns[port]) - 1,), None))
    return replace(
        setting,
        columns=(*columns, columns_of),
        windows=(*setting.windows, None),
        schemes=(*schemes, ()),
        relations=(rows,),
    )
