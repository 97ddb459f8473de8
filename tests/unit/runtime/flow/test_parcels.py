"""Parcels and rows: what goes in comes out, whatever else is in the blob."""

from __future__ import annotations

import random

import pyarrow as pa

from seine.rows.arrow_ipc import ipc_pieces, read_ipc
from seine.runtime.flow.parcels import Parcel, decode, encode
from seine.runtime.flow.task_output import ARROW_SCHEMA, CONTROL, REPORT, to_batch
from seine.runtime.folder.settings import labels, murmur3
from tests.support.seeds import seed_range


def batch(rng: random.Random, count: int) -> pa.RecordBatch:
    texts = [rng.choice(["", "é", None, "x" * 9]) for _ in range(count + 3)]
    numbers = [rng.randrange(-5, 5) for _ in range(count + 3)]
    return pa.record_batch({"_k": pa.array(numbers, pa.int64()), "c0": pa.array(texts)}).slice(2, count)


def test_parcels_read_back() -> None:
    for seed in seed_range(40):
        rng = random.Random(seed)
        parcels = [
            Parcel(
                tuple((rng.randrange(99), rng.randrange(2)) for _ in range(rng.randint(1, 4))),
                rng.random() < 0.5,
                batch(rng, rng.choice([0, 0, 1, 7])),
            )
            for _ in range(rng.randrange(5))
        ]
        back = list(decode(b"".join(encode(parcels))))
        assert len(back) == len(parcels)
        for sent, got in zip(parcels, back, strict=True):
            assert (got.targets, got.plus) == (sent.targets, sent.plus)
            assert got.batch.equals(sent.batch)


def test_a_batch_without_columns_keeps_its_rows() -> None:
    empty = pa.RecordBatch.from_pylist([{}, {}])
    assert read_ipc(pa.py_buffer(b"".join(ipc_pieces(empty)))).num_rows == empty.num_rows


def test_rows_become_a_batch() -> None:
    assert to_batch([]).schema == ARROW_SCHEMA and to_batch([]).num_rows == 0
    made = to_batch([(5, CONTROL, b"a"), (6, REPORT, b"")])
    assert made.to_pylist() == [
        {"bucket": 5, "stage": CONTROL, "blob": b"a"},
        {"bucket": 6, "stage": REPORT, "blob": b""},
    ]


def test_every_bucket_has_a_partition_of_its_own() -> None:
    for partitions in (1, 2, 3, 7, 32, 200):
        label_numbers = labels(partitions)
        assert [murmur3(label) % partitions for label in label_numbers] == list(range(partitions))
