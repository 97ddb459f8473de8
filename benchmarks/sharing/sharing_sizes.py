"""The parameters of the benchmark `sharing`: a full run as in the paper, and a quick one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.harness.side import together
from benchmarks.sharing.live_registration import side_together as live_together
from benchmarks.sides.transfer_runs import side_together
from benchmarks.workloads.transfers import HISTORY, TRANSFERS

Parameters = Mapping[str, Mapping[str, Any]]

FULL: Parameters = {
    "curves": {
        "counts": (100, 200, 400, 768),
        "transfers": TRANSFERS,
        "history": HISTORY,
        "batches": 4,
        "recent": 2,
        "sample": 2,
        "every": 16,
    },
    "gains": {"rows": 1_000_000, "history": 600_000, "batches": 8, "queries": 36},
    "scale": {
        "counts": (1_000, 10_000, 100_000),
        "transfers": TRANSFERS,
        "history": HISTORY,
        "batches": 4,
        "watchers": 100,
    },
    "registration": {"present": 10_000, "singles": 500, "bulks": (100_000,)},
    "alternatives": {
        "queries": 1_000,
        "templates": 50,
        "transfers": 4_000_000,
        "history": 1_000_000,
        "batches": 15,
    },
    "jobs": {"queries": 768, "sample": 12, "transfers": 1_000_000, "history": 500_000, "batches": 10},
    "live": {"standing": 1_000, "batch_rows": 50_000, "warm": 8, "batches": 8, "interval": 0.5},
}
QUICK: Parameters = {
    "curves": {
        "counts": (8, 16),
        "transfers": 6_000,
        "history": 3_000,
        "batches": 3,
        "recent": 2,
        "sample": 1,
        "every": 4,
        "side": side_together,
    },
    "gains": {"rows": 12_000, "history": 6_000, "batches": 2, "queries": 9, "side": side_together},
    "scale": {
        "counts": (20, 60),
        "transfers": 6_000,
        "history": 3_000,
        "batches": 3,
        "watchers": 10,
        "side": side_together,
    },
    "registration": {"present": 100, "singles": 20, "bulks": (200,)},
    "alternatives": {
        "queries": 20,
        "templates": 5,
        "transfers": 20_000,
        "history": 10_000,
        "batches": 3,
        "runner": together,
    },
    "jobs": {
        "queries": 6,
        "sample": 2,
        "transfers": 6_000,
        "history": 3_000,
        "batches": 3,
        "runner": together,
    },
    "live": {
        "standing": 100,
        "batch_rows": 10_000,
        "warm": 3,
        "batches": 4,
        "interval": 0.5,
        "side": live_together,
    },
}
