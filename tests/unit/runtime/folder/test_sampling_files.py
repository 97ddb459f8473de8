"""Samples outlive the process: what was written is what is read, of the very same stream alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, Field
from seine.runtime.folder.sampling import Reservoir, SampleFiles, StreamSamples
from tests.support.service_rig import STREAM, Rig

S = StreamDef("s", (Field("k", BIGINT), Field("ts", BIGINT)), 1, Source("s.jsonl"), window=100)


def filled(size: int, rows: int) -> StreamSamples:
    reservoir = Reservoir(size)
    numbers = np.arange(rows)
    reservoir.add(numbers, pa.record_batch({"c0": numbers % 10, "c1": numbers}), numbers)
    reservoir.punctuations = {0: 7}
    samples = StreamSamples(size)
    samples.put(S, reservoir)
    return samples


def test_a_sample_is_read_as_it_was_written(tmp_path: Path) -> None:
    folder = str(tmp_path / "samples")
    samples = filled(100, 500)
    SampleFiles(folder).save(samples)
    again = StreamSamples(100)
    SampleFiles(folder).load(again, {"s": S})
    one, other = samples.estimates(), again.estimates()
    assert one is not None and other is not None and one.samples == other.samples
    assert other.punctuations("s", 0) == 7
    numbers = np.arange(500, 900)
    for each in (samples, again):
        ((_, reservoir),) = each.reservoirs()
        reservoir.add(numbers, pa.record_batch({"c0": numbers % 10, "c1": numbers}), numbers)
    one, other = samples.estimates(), again.estimates()
    assert one is not None and other is not None and one.samples == other.samples


def test_a_stream_that_is_declared_otherwise_begins_anew(tmp_path: Path) -> None:
    folder = str(tmp_path / "samples")
    SampleFiles(folder).save(filled(100, 500))
    again = StreamSamples(100)
    SampleFiles(folder).load(again, {"s": replace(S, window=7)})
    assert again.estimates() is None
    (path,) = (tmp_path / "samples").iterdir()
    path.write_bytes(b"no arrow")
    SampleFiles(folder).load(again, {"s": S})
    assert again.estimates() is None


def test_a_service_plans_with_what_it_knew_before_a_crash(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    rig = Rig(tmp_path)
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    rig.feed(*range(50))
    rig.run()
    known = rig.service.samples.estimates()
    assert known is not None and known.rows("s") == 50
    rig.crash()
    again = rig.service.samples.estimates()
    assert again is not None and again.samples == known.samples
    rig.service.close()
