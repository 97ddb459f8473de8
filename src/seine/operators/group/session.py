"""The node of sessions: it tells of every row the session that it belongs to.

    SELECT bidder, COUNT(*), session_window.start FROM bid GROUP BY bidder, session_window(ts, 5)

    rows ── fan (tag, ts + gap, ts, bidder) ── sessions ── fan ── aggregate by (tag, session, bidder)

How long a gap is, is a constant of the fan: a thousand gaps are rows of its table.

Sessions: rows of one key, each no more than a gap after the one before it, belong together.

    session_window(ts, 5)      rows at 1, 4, 9 | 20, 22 | ..      sessions 1 and 20, known by their first time

Law: a row at t belongs to the session of the latest row of its key before it, at u, if that is still alive
at t and t - u is at most the gap; else it begins a session. Rows are taken when their instant is complete, in
the order of time, so that sessions never have to be merged. A session whose rows expire keeps its name.

    arrived ──> rows by start ──(progress)──> of each key: session, time + gap and end of its latest row
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, IntArray
from seine.operators.group.set_operations import SetOperatorNode
from seine.operators.state.event_queue import RowBuffer
from seine.operators.state.keyed_table import HASH, KeyedTable
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.column_arrays import as_arrow, as_column, take_values
from seine.rows.delta import Delta, concat_batches
from seine.rows.grouping import Groups, group_rows


@dataclass(frozen=True)
class SessionNode(SetOperatorNode, StatefulNode):
    """Each row with its session instead of its time: columns are the tag, time + gap, the session, others.

    The port's key is the tag and the keys of which there are sessions.
    """

    kind = "session"

    def make_operator(self, flow: HostFlow) -> SessionOperator:
        return SessionOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)


REACH, SESSION = "c1", "c2"  # columns: the time until which a row reaches, and its time, then its session
ROWS_BETWEEN_LOOKS = 256  # rows that come before a look for keys whose session is over
_LIVE, _FIRST, _UNTIL, _END = "_n", "_first", "_until", "_end"


class SessionOperator:
    """The sessions of one node in one bucket."""

    def __init__(self, node: SessionNode) -> None:
        self._streams = node.streams
        self._type = node.types[2].arrow()
        key = node.ports[0].key
        self._keys = [f"c{index}" for part in key for index in part.columns]
        numbers = [pa.field(name, pa.int64()) for name in (HASH, _LIVE, _FIRST, _UNTIL, _END)]
        types = [pa.field(name, part.type.arrow()) for name, part in zip(self._keys, key, strict=True)]
        self._schema = pa.schema([*numbers, *types])

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        progress = clock.progress(self._streams)
        arrived = [delta.plus for delta in inputs[0] if delta.plus.num_rows]
        due = RowBuffer(store, "rows", "_s").release(concat_batches(arrived) if arrived else None, progress)
        table = KeyedTable(store, "keys", self._schema, self._keys, live=_LIVE)
        if due is not None:
            yield Delta(self._in_sessions(due, table))
            self._forget(due.num_rows, progress, table, store)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return sum(run["rows"] for run in store.head.get("keys", ()))

    def _in_sessions(self, due: pa.RecordBatch, table: KeyedTable) -> pa.RecordBatch:
        """Rows, in order of time, each with its session."""
        columns = [as_column(due[name]) for name in self._keys]
        groups = group_rows(due[HASH].to_numpy(), columns)
        rows = due.take(pa.array(groups.order))
        starts, ends, until = (rows[name].view(pa.int64()).to_numpy() for name in ("_s", "_e", REACH))
        firsts, lasts = groups.starts, np.append(groups.starts[1:], len(starts)) - 1
        keys = [take_values(column, groups.firsts) for column in columns]
        hashes = rows[HASH].to_numpy()[firsts]
        stored = table.find(hashes, keys)
        before = _Latest(until, ends, firsts, stored.numbers(_UNTIL), stored.numbers(_END))
        begins = before.is_left(starts)
        begins[firsts] |= stored.at < 0
        sessions = _sessions(starts, begins, groups, stored.numbers(_FIRST))
        live = np.ones(len(lasts), np.int64)
        numbers = [hashes, live, sessions[lasts], until[lasts], ends[lasts]]
        arrays = [*map(pa.array, numbers), *map(as_arrow, keys)]
        table.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        place = rows.schema.get_field_index(SESSION)
        named = rows.set_column(place, SESSION, pa.array(sessions).view(self._type))
        return named.drop_columns([HASH])

    def _forget(self, came: int, progress: int, table: KeyedTable, store: Store) -> None:
        """Forget the keys whose session no row to come can join, from time to time."""
        since = store.head.get("since", 0) + came
        store.head["since"] = since
        if since <= store.head.get("stayed", 0) + ROWS_BETWEEN_LOOKS:
            return
        keys = table.everything()
        until, end = (keys[name].to_numpy() for name in (_UNTIL, _END))
        over = np.flatnonzero((until < progress) | (end <= progress))
        gone = keys.take(pa.array(over))
        place = self._schema.get_field_index(_LIVE)
        table.write(gone.set_column(place, _LIVE, pa.array(np.zeros(len(over), np.int64))))
        store.head.update(since=0, stayed=keys.num_rows - len(over))


class _Latest:
    """Of each row the one before it with the same key, in a batch or stored: how far that one reaches."""

    def __init__(
        self,
        until: IntArray,
        ends: IntArray,
        firsts: IntArray,
        stored: Sequence[int] | AnyArray,
        end: AnyArray,
    ) -> None:
        self._until, self._end = np.roll(until, 1), np.roll(ends, 1)
        self._until[firsts], self._end[firsts] = stored, end

    def is_left(self, times: IntArray) -> AnyArray:
        """Which times are beyond the reach of the row before, or after its end."""
        left: AnyArray = (times > self._until) | (times >= self._end)
        return left


def _sessions(times: IntArray, begins: AnyArray, groups: Groups, stored: IntArray) -> IntArray:
    """The first time of each row's session: that of the last row that begins one, or what is stored."""
    marks = begins.copy()
    marks[groups.starts] = True
    latest = np.maximum.accumulate(np.where(marks, np.arange(len(times)), 0))
    first = np.where(begins, times, 0)
    first[groups.starts] = np.where(begins[groups.starts], times[groups.starts], stored)
    sessions: IntArray = first[latest]
    return sessions
