"""Nodes, batches and folders that the tests of the runtime share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Column
from seine.algebra.types import BIGINT
from seine.network.network import Network
from seine.operators.state.working_nodes import Form, RecordRows
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import new_settings
from seine.runtime.output.json_records import json_lines


def form(*, limit: int = 10**9, changelog: bool = False) -> Form:
    """The form of records of one column v."""
    return Form(3, (), (Column(0, BIGINT),), ("v",), changelog, "plain", limit)


def chosen(batch: pa.RecordBatch, picks: Sequence[int] | None = None) -> RecordRows:
    """Rows for the queries at these positions; for the first if none are given."""
    return RecordRows(batch, np.array([0] * batch.num_rows if picks is None else picks, np.int64))


def rows(values: Sequence[int], *, ended: bool = False) -> pa.RecordBatch:
    """Rows whose start is their value, ending early two later if `ended`."""
    times = pa.array(values, pa.int64())
    system = {"_s": times, "_e": pa.array([FOREVER] * len(values), pa.int64())}
    if ended:
        system["_d"] = pa.array([v + 2 for v in values], pa.int64())
    return pa.record_batch({**system, "c0": times})


def deployment(folder: Path, dead: Sequence[dict[str, Any]] = ()) -> Deployment:
    """A deployment whose network 1 has no nodes."""
    made = Deployment(str(folder))
    network = Network()
    network.version = 1
    made.versions.save(network, [], {}, dead)
    made.create(new_settings(2, 0))
    return made


def clock(now: int = 0, *, end: bool = False) -> Clock:
    return Clock({"s": now}, {"plain": now}, {"s": "plain"}, end)


def lines_of(query: str, values: Sequence[int]) -> bytes:
    batch = rows(values)
    lines = json_lines(
        query, "+", batch["_s"], batch["_e"], ("v",), (BIGINT,), [batch["c0"]], "plain"
    ).to_pylist()
    return "".join(lines).encode()


def records(path: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_bytes().splitlines()]
