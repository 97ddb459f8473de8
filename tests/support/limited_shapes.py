"""Joins within a memory: their shapes, data for them, windows that are simulated, and an operator at work."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from seine.evaluate.data_columns import DataColumns
from seine.frontends.script.parser import parse_script
from seine.network.network import Network, build_network
from seine.operators.join.lookup import index_relation
from seine.operators.limited.join_memory import MemoryAccount
from seine.operators.limited.limited_join import LimitedNode, LimitedOperator
from seine.operators.match.any_of import any_of
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.state.relation_index import RelationIndex
from seine.operators.state.store import MemoryStore
from seine.operators.stream.source import SourceNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta

Row = dict[str, Any]
WINDOWS = {"r": 6, "s": 9, "t": 6}
STREAM = (
    "CREATE STREAM {0} (ts BIGINT, a BIGINT, b STRING, imp DOUBLE) TIMESTAMP BY ts WINDOW {1}"
    " LATENESS 2 IMPORTANCE BY imp FROM '{0}.jsonl';"
)
RELATION = (
    'CREATE RELATION {0} (x BIGINT, y STRING, z BIGINT, begin BIGINT, "end" BIGINT)'
    " VALID FROM begin TO \"end\" FROM '{0}.jsonl';"
)


@dataclass(frozen=True)
class Shape:
    """A join in SQL and in Python: `holds` gets one row of each item, in the order of `items`."""

    items: tuple[str, ...]
    where: str
    holds: Callable[..., bool]

    @property
    def streams(self) -> list[int]:
        return [i for i, item in enumerate(self.items) if item in WINDOWS]

    def query(self, name: str, options: str = "") -> str:
        froms = ", ".join(f"{item} AS i{i}" for i, item in enumerate(self.items))
        columns = ", ".join(f"i{i}.{c} AS {c}{i}" for i in self.streams for c in ("ts", "a"))
        return f"CREATE QUERY {name} {options} AS SELECT {columns} FROM {froms} WHERE {self.where};"


SHAPES = {
    "direct": Shape(("r", "s"), "i0.a = i1.a", lambda r, s: r["a"] == s["a"]),
    "text keys": Shape(
        ("r", "s"), "i0.b = i1.b AND i0.a <= i1.a", lambda r, s: r["b"] == s["b"] and r["a"] <= s["a"]
    ),
    "self": Shape(
        ("r", "r"), "i0.a = i1.a AND i1.ts > i0.ts", lambda x, y: x["a"] == y["a"] and y["ts"] > x["ts"]
    ),
    "star": Shape(
        ("r", "f", "s"), "i0.a = i1.x AND i1.y = i2.b", lambda r, f, s: r["a"] == f["x"] and f["y"] == s["b"]
    ),
    "star of three": Shape(
        ("r", "s", "t", "f"),
        "i0.a = i3.x AND i1.b = i3.y AND i2.a = i3.z",
        lambda r, s, t, f: r["a"] == f["x"] and s["b"] == f["y"] and t["a"] == f["z"],
    ),
    "three alike": Shape(
        ("r", "s", "t"), "i0.a = i1.a AND i1.a = i2.a", lambda r, s, t: r["a"] == s["a"] == t["a"]
    ),
    "chain": Shape(
        ("r", "s", "t"), "i0.a = i1.a AND i1.b = i2.b", lambda r, s, t: r["a"] == s["a"] and s["b"] == t["b"]
    ),
    "chain of relations": Shape(
        ("r", "f", "g", "s"),
        "i0.a = i1.x AND i1.z = i2.z AND i2.y = i3.b",
        lambda r, f, g, s: r["a"] == f["x"] and f["z"] == g["z"] and g["y"] == s["b"],
    ),
    "a relation aside": Shape(
        ("r", "f", "s"), "i0.a = i1.x AND i0.b = i2.b", lambda r, f, s: r["a"] == f["x"] and r["b"] == s["b"]
    ),
    "key and relation": Shape(
        ("r", "f", "s"),
        "i0.a = i1.x AND i1.y = i2.b AND i0.b = i2.b",
        lambda r, f, s: r["a"] == f["x"] and f["y"] == s["b"] == r["b"],
    ),
    "no equality": Shape(
        ("r", "s"), "i0.a + i1.a = 3 AND i0.imp > 1", lambda r, s: r["a"] + s["a"] == 3 and r["imp"] > 1
    ),
}


def made(rng: Random, count: int) -> list[Row]:
    """Tuples up to 2 late, some instants with several; some keys NULL."""
    ts, rows = 0, []
    for _ in range(count):
        ts += rng.choice([0, 0, 1, 1, 2])
        key = rng.choice([0, 1, 2, 3, 3, None])
        rows.append(
            {
                "ts": max(0, ts - rng.choice([0, 0, 1, 2])),
                "a": key,
                "b": rng.choice("uvw"),
                "imp": rng.choice([0, 1, 2, 5]),
            }
        )
    return rows


def relation(rng: Random) -> list[Row]:
    return [
        {
            "x": rng.randint(0, 3),
            "y": rng.choice("uvw"),
            "z": rng.randint(0, 3),
            "begin": rng.choice([None, -1, 8]),
            "end": rng.choice([None, None, 12, 25]),
        }
        for _ in range(7)
    ]


def data(rng: Random, size: int = 40) -> dict[str, list[Row]]:
    return {
        **{name: made(rng, size) for name in WINDOWS},
        **{name: relation(rng) for name in ("f", "g")},
    }


def script_of(queries: Iterable[str]) -> str:
    declared = [STREAM.format(name, window) for name, window in WINDOWS.items()]
    declared += [RELATION.format(name) for name in ("f", "g")]
    return "\n".join([*declared, *queries])


def laid_out(folder: Path, tables: dict[str, list[Row]], queries: Iterable[str]) -> str:
    for name, rows in tables.items():
        text = "".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    path = folder / "script.sql"
    path.write_text(script_of(queries))
    return str(path)


# ---- the simulation


def admitted(rows: list[Row]) -> list[Row]:
    """What LATENESS 2 lets in, numbered."""
    clock, kept = -(10**9), []
    for row in rows:
        if row["ts"] >= clock - 2:
            clock = max(clock, row["ts"])
            kept.append({**row, "number": len(kept)})
    return kept


def is_active(row: Row, ts: int) -> bool:
    return (row["begin"] is None or row["begin"] <= ts) and (row["end"] is None or ts < row["end"])


def combinations(shape: Shape, tables: dict[str, list[Row]]) -> list[tuple[Row, ...]]:
    """Every result of the exact join."""
    collected = []
    for rows in itertools.product(*(tables[item] for item in shape.items)):
        tuples = [rows[i] for i in shape.streams]
        start = max(row["ts"] for row in tuples)
        ends = [rows[i]["ts"] + WINDOWS[shape.items[i]] for i in shape.streams]
        if start >= min(ends):
            continue
        relations = [row for i, row in enumerate(rows) if i not in shape.streams]
        if not all(is_active(row, one["ts"]) for row in relations for one in tuples):
            continue
        try:
            if shape.holds(*rows) and not _null_met(shape, rows):
                collected.append(rows)
        except TypeError:  # NULL is compared
            continue
    return collected


def _null_met(shape: Shape, rows: tuple[Row, ...]) -> bool:
    return any(rows[i]["a"] is None and f"i{i}.a" in shape.where for i in shape.streams)


def record(shape: Shape, rows: tuple[Row, ...]) -> tuple[Any, ...]:
    start = max(rows[i]["ts"] for i in shape.streams)
    end = min(rows[i]["ts"] + WINDOWS[shape.items[i]] for i in shape.streams)
    return (start, end, *(rows[i][c] for i in shape.streams for c in ("ts", "a")))


def simulated(
    shape: Shape, tables: dict[str, list[Row]], exact: list[tuple[Row, ...]], capacity: int
) -> tuple[Counter[Any], int]:
    """What SIMP tells of the exact results, and how much it sheds: the least important and oldest goes.

    A tuple enters its window if some relation tuple matches it, and leaves with the last of these.
    """
    gone: dict[tuple[int, int], int] = {}
    held: dict[int, list[tuple[Row, int]]] = {i: [] for i in shape.streams}
    shed = 0
    for now in sorted({row["ts"] for i in shape.streams for row in tables[shape.items[i]]}):
        for i in shape.streams:
            held[i] = [(row, leaves) for row, leaves in held[i] if leaves > now]
            for row in tables[shape.items[i]]:
                if row["ts"] == now and (until := useful_until(shape, tables, i, row)) is not None:
                    held[i].append((row, min(until, now + WINDOWS[shape.items[i]])))
            ranked = sorted(held[i], key=lambda one: (one[0]["imp"], one[0]["number"]))
            for row, _ in ranked[: max(0, len(ranked) - capacity)]:
                gone[i, row["number"]] = now
                shed += 1
            held[i] = ranked[max(0, len(ranked) - capacity) :]
    reported: Counter[Any] = Counter()
    for rows in exact:
        last = max(rows[i]["ts"] for i in shape.streams)
        if all(
            rows[i]["ts"] == last or gone.get((i, rows[i]["number"]), 10**9) > last for i in shape.streams
        ):
            reported[record(shape, rows)] += 1
    return reported, shed


def useful_until(shape: Shape, tables: dict[str, list[Row]], item: int, row: Row) -> int | None:
    """When the last of the relation tuples ends that a tuple of a star joins; None if there is none."""
    if f"i{item}.a" in shape.where and row["a"] is None:
        return None
    if "f" not in shape.items:
        return 10**9
    column, key = {"r": ("x", "a"), "s": ("y", "b"), "t": ("z", "a")}[shape.items[item]]
    ends = [
        10**9 if f["end"] is None else f["end"]
        for f in tables["f"]
        if f[column] == row[key] and is_active(f, row["ts"])
    ]
    return max(ends, default=None)


# ---- an operator at work


@dataclass
class Played:
    """What an operator told, how much it held after each step, and what it came to."""

    reported: Counter[Any]
    sizes: list[int]
    account: MemoryAccount


def ready(tables: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """The tables with what admission lets in."""
    return {name: admitted(rows) if name in WINDOWS else rows for name, rows in tables.items()}


def play(shape: Shape, tables: dict[str, list[Row]], options: str, rng: Random, steps: int) -> Played:
    """Run the operator of a query over its admitted input, cut at random; its head passes through JSON."""
    script = parse_script(script_of([shape.query("q", options)]), file="s.sql", folder="/")
    network = build_network(script.declarations.queries.values())
    node = next(node for node in network if isinstance(node, LimitedNode))
    operator = LimitedOperator(node, _relations(tables))
    ports = [_stream_of(network, port.node) for port in node.ports]
    places = {name: sorted(rng.choices(range(len(tables[name]) + 1), k=steps - 1)) for name in set(ports)}
    store, reported, sizes = MemoryStore(), Counter[Any](), []
    for step in range(steps):
        parts = {
            name: tables[name][([0, *cuts][step]) : ([*cuts, len(tables[name])][step])]
            for name, cuts in places.items()
        }
        inputs = [
            _gated(network, port.node, parts[name], rng) for name, port in zip(ports, node.ports, strict=True)
        ]
        store.head = json.loads(json.dumps(store.head))
        for delta in operator.step(inputs, _clock(tables, places, step, steps), store):
            reported.update(_records(shape, node, delta.plus))
        sizes.append(operator.state_rows(store))
    return Played(reported, sizes, operator.account(store))


def _clock(tables: dict[str, list[Row]], places: dict[str, list[int]], step: int, steps: int) -> Clock:
    seen = {name: tables[name][: [*cuts, len(tables[name])][step]] for name, cuts in places.items()}
    latest = {name: max((row["ts"] for row in rows), default=None) for name, rows in seen.items()}
    marks = {
        name: FOREVER if len(seen[name]) == len(tables[name]) else NEVER if ts is None else ts - 2
        for name, ts in latest.items()
    }
    now = max((ts for ts in latest.values() if ts is not None), default=NEVER)
    return Clock(marks, {"plain": now}, {}, step == steps - 1)


def _relations(tables: dict[str, list[Row]]) -> Callable[..., RelationIndex]:
    types = {"x": pa.int64(), "y": pa.string(), "z": pa.int64(), "begin": pa.int64(), "end": pa.int64()}

    def index(name: str, key: Any) -> RelationIndex:
        columns = [pa.array([row[c] for row in tables[name]], type_) for c, type_ in types.items()]
        return index_relation(pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(5)]), key)

    return index


def _stream_of(network: Network, gate: int) -> str:
    source = network.nodes[network.nodes[gate].inputs[0]]
    assert isinstance(source, SourceNode)
    return source.stream


def _gated(network: Network, gate: int, rows: list[Row], rng: Random) -> list[Delta]:
    """Rows as they come by a gate, in any order and several pieces."""
    node, name = network.nodes[gate], _stream_of(network, gate)
    assert isinstance(node, PrefilterNode)
    mixed = rng.sample(rows, len(rows))
    starts = pa.array([row["ts"] for row in mixed], pa.int64())
    ends = pa.array([row["ts"] + WINDOWS[name] for row in mixed], pa.int64())
    numbers = pa.array([row["number"] for row in mixed], pa.int64())
    columns = [
        pa.array([row[c] for row in mixed], type_)
        for c, type_ in (("ts", pa.int64()), ("a", pa.int64()), ("b", pa.string()), ("imp", pa.float64()))
    ]
    names = ["_s", "_e", "_q", *(f"c{i}" for i in range(4))]
    batch = pa.RecordBatch.from_arrays([starts, ends, numbers, *columns], names)
    mask = any_of(node.filters, network.tables).holds(DataColumns(batch), batch.num_rows)
    batch = batch if mask is None else batch.filter(pa.array(mask))
    return [Delta(batch[: len(rows) // 2]), Delta(batch[len(rows) // 2 :])]


def _records(shape: Shape, node: LimitedNode, batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    places = [node.star.items[number].start + c for number in node.star.streams for c in (0, 1)]
    columns = [batch[name].to_pylist() for name in ("_s", "_e", *(f"c{place}" for place in places))]
    return list(zip(*columns, strict=True))
