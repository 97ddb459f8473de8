"""Random joins of many inputs with truthful promises, and what their definitions say, the slow way."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Column, Expression
from seine.algebra.types import BIGINT, Type
from seine.network.nodes import Member, MultiJoinNode, Port, Promised
from seine.operators.clock import Clock
from seine.operators.delta import FOREVER, NEVER, Delta, data_names
from seine.operators.multi_join import EAGER, MultiJoinOperator, Pace
from seine.operators.multi_reach import Bound
from seine.operators.parameters import any_of
from seine.operators.store import MemoryStore
from tests.unit.join_streams import condition_filters, stream, tuples


@dataclass(frozen=True)
class Tuple:
    port: int
    start: int
    end: int
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Promise:
    """A promise of one of the schemes of a port."""

    port: int
    scheme: int
    values: tuple[Any, ...]
    time: int
    limit: int


@dataclass(frozen=True)
class Setting:
    """A join: for each port the groups of its columns (None: in no group), its window and its schemes.

    A scheme is columns and a lifespan.
    """

    columns: tuple[tuple[int | None, ...], ...]
    windows: tuple[int | None, ...]
    schemes: tuple[tuple[tuple[tuple[int, ...], int | None], ...], ...]
    bounds: tuple[Bound, ...] = ()
    type: Type = BIGINT
    condition: Expression | None = None
    lateness: int = 4

    @property
    def width(self) -> int:
        return len(self.columns)

    def promised(self) -> list[tuple[int, int]]:
        """The schemes that a join is told of, all of whose columns are in groups: port and number."""
        return [
            (port, number)
            for port, schemes in enumerate(self.schemes)
            for number, (columns, _) in enumerate(schemes)
            if all(self.columns[port][c] is not None for c in columns)
        ]

    def operator(self, pace: Pace = EAGER) -> MultiJoinOperator:
        filters, tables = condition_filters([self.condition])
        types = [(self.type,) * len(columns) for columns in self.columns]
        ports = [Port(i, types[i], (stream(i),)) for i in range(self.width)]
        promised = []
        for port, number in self.promised():
            columns, _ = self.schemes[port][number]
            ports.append(Port(100 + len(ports), (self.type,) * len(columns), (stream(port),)))
            groups = tuple(self.columns[port][c] for c in columns)
            promised.append(Promised(port, groups))  # type: ignore[arg-type]
        whole = tuple(itertools.chain(*types))
        node = MultiJoinNode(
            id=9,
            ports=tuple(ports),
            types=whole,
            out=tuple(range(len(whole))),
            streams=tuple(stream(i) for i in range(self.width)),
            hold=(),
            identities=0,
            stage=1,
            owner="",
            filters=filters,
            width=self.width,
            members=tuple(
                Member(port, group, Column(c, self.type))
                for port, groups in enumerate(self.columns)
                for c, group in enumerate(groups)
                if group is not None
            ),
            promised=tuple(promised),
            times=(0,) * self.width,
        )
        return MultiJoinOperator(node, any_of(filters, tables), self.bounds, pace)


def random_setting(rng: random.Random, timed: bool = False, type_: Type = BIGINT) -> Setting:
    """Three or four ports joined in some way, with some schemes."""
    width = rng.choice([3, 3, 3, 4])
    groups = rng.randint(1, width)
    columns = []
    for _ in range(width):
        own = [rng.randrange(groups) for _ in range(rng.choice([1, 2, 2, 3] if width < 4 else [1, 2]))]
        columns.append((*own, None) if rng.random() < 0.3 else tuple(own))
    columns = _joined(columns)
    schemes = []
    for own in columns:
        sets = {
            tuple(sorted(rng.sample(range(len(own)), rng.randint(1, min(2, len(own))))))
            for _ in range(rng.choice([0, 1, 1, 2]))
        }
        lifespans = [None, None, rng.randint(1, 20)] if timed else [None]
        schemes.append(tuple((chosen, rng.choice(lifespans)) for chosen in sorted(sets)))
    windows = tuple(rng.choice([None, None, rng.randint(1, 12)]) if timed else None for _ in range(width))
    return Setting(tuple(columns), windows, tuple(schemes), type=type_)


def _joined(columns: Sequence[tuple[int | None, ...]]) -> list[tuple[int | None, ...]]:
    """The columns without groups that only one port has."""
    having = Counter(group for own in columns for group in {*own} if group is not None)
    return [tuple(group if having[group] > 1 else None for group in own) for own in columns]


def random_events(
    rng: random.Random, setting: Setting, count: int, domain: Sequence[Any], rate: float = 0.4
) -> list[list[Tuple | Promise]]:
    """What each port sends: tuples, none of which breaks a promise made before it, and promises."""
    found: list[list[Tuple | Promise]] = []
    for port, columns in enumerate(setting.columns):
        events: list[Tuple | Promise] = []
        time = 0
        for _ in range(count):
            time += rng.choice([0, 1, 1, 2])
            if setting.schemes[port] and rng.random() < rate:
                scheme = rng.randrange(len(setting.schemes[port]))
                chosen, lifespan = setting.schemes[port][scheme]
                limit = FOREVER if lifespan is None else time + lifespan
                values = tuple(rng.choice(domain) for _ in chosen)
                events.append(Promise(port, scheme, values, time, limit))
                continue
            start = time - rng.randint(0, setting.lateness)
            window = setting.windows[port]
            one = Tuple(
                port,
                start,
                FOREVER if window is None else start + window,
                tuple(rng.choice([*domain, None] if rng.random() < 0.1 else list(domain)) for _ in columns),
            )
            if not any(isinstance(e, Promise) and breaks(setting, one, e) for e in events):
                events.append(one)
        found.append(events)
    return found


def breaks(setting: Setting, one: Tuple, promise: Promise) -> bool:
    if promise.port != one.port:
        return False
    columns, _ = setting.schemes[one.port][promise.scheme]
    return one.start < promise.limit and all(
        one.values[c] == v for c, v in zip(columns, promise.values, strict=True)
    )


# ---- definitions


def group_values(setting: Setting, one: Tuple) -> dict[int, Any] | None:
    """The values of a tuple by group; None if it joins nothing."""
    found: dict[int, Any] = {}
    for group, value in zip(setting.columns[one.port], one.values, strict=True):
        if group is not None and (value is None or found.setdefault(group, value) != value):
            return None
    return found


def joins(setting: Setting, parts: Sequence[Tuple]) -> bool:
    """Whether tuples agree in their groups and live together."""
    known: dict[int, Any] = {}
    for one in parts:
        own = group_values(setting, one)
        if own is None or any(known.setdefault(group, value) != value for group, value in own.items()):
            return False
    if max(one.start for one in parts) >= min(one.end for one in parts):
        return False
    by_port = {one.port: one for one in parts}
    return all(
        any(_is_near(by_port[b.port], by_port[b.other], *choice) for choice in b.choices)
        for b in setting.bounds
        if b.port in by_port and b.other in by_port
    )


def _is_near(one: Tuple, other: Tuple, column: int, span: int) -> bool:
    return other.values[column] is not None and one.start <= other.values[column] + span


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
    promises: Sequence[Promise],
    lows: Sequence[int],
    instants: set[int],
    domain: Any,
) -> list[Tuple]:
    """Tuples that a port could still send: every choice of known values and a new one for each group."""
    groups = sorted({group for group in setting.columns[port] if group is not None})
    window = setting.windows[port]
    found = []
    for values in itertools.product(*([*domain, f"new{group}"] for group in groups)):
        named: dict[int | None, Any] = dict(zip(groups, values, strict=True))
        for instant in sorted(instants):
            end = FOREVER if window is None else instant + window
            one = Tuple(port, instant, end, tuple(named.get(g, 10**6) for g in setting.columns[port]))
            if instant >= lows[port] and not any(breaks(setting, one, p) for p in promises):
                found.append(one)
    return found


def lasting(
    setting: Setting,
    came: Sequence[Sequence[Tuple]],
    promises: Sequence[Promise],
    lows: Sequence[int],
    domain: Any,
) -> Counter:
    """The tuples that came and can be part of a later combination: there is a legal one."""
    times = [*lows, *(p.limit for p in promises), *(one.start for ones in came for one in ones), -1000]
    instants = {time for time in times if NEVER < time < FOREVER}
    future = [possible(setting, port, promises, lows, instants, domain) for port in range(setting.width)]
    new = {one for ones in future for one in ones}
    found: Counter = Counter()
    for port, ones in enumerate(came):
        others = [[*future[i], *dict.fromkeys(came[i])] for i in range(setting.width)]
        for one in {*ones}:
            others[port] = [one]
            whole = combinations(setting, others)
            if any(any(part in new for part in parts if part is not one) for parts in whole):
                found[one] = ones.count(one)
    return found


def reached(setting: Setting, port: int) -> set[int]:
    """The ports that promises can close for tuples of a port, in any order (no windows)."""
    found, grown = {port}, True
    while grown:
        known = {group for own in found for group in setting.columns[own]}
        more = {
            own
            for own, number in setting.promised()
            if {setting.columns[own][c] for c in setting.schemes[own][number][0]} <= known
        }
        grown = not more <= found
        found |= more
    return found


def all_promises(setting: Setting, domain: Sequence[Any], time: int) -> list[list[Tuple | Promise]]:
    """Every promise that can be made of some values."""
    return [
        [
            Promise(port, number, values, time, FOREVER)
            for number, (columns, _) in enumerate(schemes)
            for values in itertools.product(domain, repeat=len(columns))
        ]
        for port, schemes in enumerate(setting.schemes)
    ]


def results(setting: Setting, came: Sequence[Sequence[Tuple]]) -> Counter:
    """The join of all that came, as rows."""
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
    events: Sequence[Sequence[Tuple | Promise]]
    rng: random.Random
    steps: int
    pace: Pace = EAGER
    store: MemoryStore = field(default_factory=MemoryStore)
    output: Counter = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[None]:
        width = self.setting.width
        self.operator = self.setting.operator(self.pace)
        self.came: list[list[Tuple]] = [[] for _ in range(width)]
        self.promises: list[Promise] = []
        places = [
            [*sorted(self.rng.randint(0, len(events)) for _ in range(self.steps - 1)), len(events)]
            for events in self.events
        ]
        at = [0] * width
        for number in range(self.steps):
            fresh: list[list[Tuple | Promise]] = []
            for port in range(width):
                fresh.append(list(self.events[port][at[port] : places[port][number]]))
                at[port] = places[port][number]
            self.lows = [self._low(port, at[port]) for port in range(width)]
            self._step(fresh)
            yield

    def idle(self) -> None:
        """A step in which nothing comes."""
        self._step([[] for _ in range(self.setting.width)])

    def _low(self, port: int, at: int) -> int:
        later = [one.start for one in self.events[port][at:] if isinstance(one, Tuple)]
        before = [one.start for one in self.events[port][:at] if isinstance(one, Tuple)]
        if not before:
            return NEVER
        return min([max(before) - self.setting.lateness, *later])  # streams never end here

    def _step(self, fresh: list[list[Tuple | Promise]]) -> None:
        self.store.head = json.loads(json.dumps(self.store.head))
        inputs = [
            [_rows(self.setting, [e for e in events if isinstance(e, Tuple)], port)]
            for port, events in enumerate(fresh)
        ]
        told = [e for events in fresh for e in events if isinstance(e, Promise)]
        for port, number in self.setting.promised():
            mine = [p for p in told if (p.port, p.scheme) == (port, number)]
            inputs.append([_promises(self.setting, mine, port, number)])
        for port, events in enumerate(fresh):
            self.came[port] += [e for e in events if isinstance(e, Tuple)]
        self.promises += told
        clock = Clock({stream(port): low for port, low in enumerate(self.lows)})
        for delta in self.operator.step(inputs, clock, self.store):
            self.output.update(tuples(delta.plus))
        self.sizes.append(self.operator.state_rows(self.store))

    def held(self) -> Counter:
        """The tuples in the state."""
        found: Counter = Counter()
        for port, columns in enumerate(self.setting.columns):
            for entry in self.store.head[f"rows{port}"]:
                for row in self.store.get(entry["run"]).to_pylist():
                    found[
                        Tuple(port, row["_s"], row["_e"], tuple(row[f"c{i}"] for i in range(len(columns))))
                    ] += 1
        return found

    def promises_held(self) -> int:
        return sum(
            entry["rows"]
            for number in range(len(self.setting.promised()))
            for entry in self.store.head[f"promises{number}"]
        )


def _rows(setting: Setting, rows: Sequence[Tuple], port: int) -> Delta:
    columns = [
        pa.array([one.values[i] for one in rows], setting.type.arrow())
        for i in range(len(setting.columns[port]))
    ]
    return Delta(_batch([one.start for one in rows], [one.end for one in rows], columns))


def _promises(setting: Setting, promises: Sequence[Promise], port: int, number: int) -> Delta:
    width = len(setting.schemes[port][number][0])
    columns = [pa.array([p.values[i] for p in promises], setting.type.arrow()) for i in range(width)]
    return Delta(_batch([p.time for p in promises], [p.limit for p in promises], columns))


def _batch(starts: list[int], ends: list[int], columns: list[pa.Array]) -> pa.RecordBatch:
    times = [pa.array(np.array(values, np.int64)) for values in ([0] * len(starts), starts, ends)]
    return pa.RecordBatch.from_arrays([*times, *columns], ["_k", "_s", "_e", *data_names(len(columns))])
