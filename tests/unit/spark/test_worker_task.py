"""What workers of a cluster import for what is shipped to them."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from seine.spark import spark_host, worker_task

LOAD = """import pickle, sys
made = pickle.loads(bytes.fromhex(sys.argv[1]))
print(made.func.__name__, *[name for name in sys.modules if name.startswith("seine.spark.")])"""


def test_a_worker_imports_nothing_of_the_driver(tmp_path: Path) -> None:
    shipped = pickle.dumps(partial(spark_host.synced_after, folder=str(tmp_path)))
    words = [sys.executable, "-c", LOAD, shipped.hex()]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert said.split() == ["synced_after", "seine.spark.worker_task"]


def test_a_folder_is_synced_behind_the_last_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr(worker_task, "sync_tree", synced.append)
    batches = [pa.RecordBatch.from_pydict({"a": [number]}) for number in range(3)]
    passed = []
    for batch in worker_task.synced_after(iter(batches), "folder"):
        assert synced == []
        passed.append(batch)
    assert passed == batches and synced == ["folder"]
