"""The newest records of topics, of the last minutes, as tasks would be given them.

bids/0   ..................[====]      what came since then, and of that so many of the newest as may be
bids/1   ........[==============]
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain

import pyarrow as pa

from seine.intake.arrived_records import VALUE
from seine.topics.offset_ranges import OffsetRange, ranges_between
from seine.topics.topic_client import LATEST, TopicClient
from seine.topics.topic_consumer import TopicConsumer
from seine.topics.topic_reading import TopicReading
from seine.topics.topic_records import read_range

_ANSWER_SECONDS = 5.0  # that a broker may take: somebody waits
_PROBED = 20  # records of each partition, by which the others are judged


def recent_records(
    reading: TopicReading, seconds: float, most_rows: int, most_bytes: int
) -> list[pa.RecordBatch]:
    """Records that came in the last `seconds`, at most about so many rows and bytes: the newest."""
    client = TopicClient(reading.settings, reading.topics, _ANSWER_SECONDS, hosts=reading.hosts)
    try:
        begin = client.offsets(int((time.time() - seconds) * 1000))
        ranges = ranges_between(begin, client.offsets(LATEST))
    finally:
        client.close()
    consumer = TopicConsumer(reading.settings, _ANSWER_SECONDS)  # its own: others may ask at the same time
    try:
        probe = _read(consumer, reading, newest(ranges, _PROBED * len(ranges)), most_bytes)
        rows = sum(batch.num_rows for batch in probe)
        size = sum(batch.column(VALUE).nbytes for batch in probe)
        if not rows or size >= most_bytes:
            return probe
        most = min(most_rows, most_bytes * rows // max(size, 1))
        return _read(consumer, reading, newest(ranges, most), most_bytes)
    finally:
        consumer.close()


def newest(ranges: Sequence[OffsetRange], most: int) -> list[OffsetRange]:
    """The ends of ranges with about `most` records, by shares.

    >>> for one in newest([OffsetRange("t", 0, 0, 300), OffsetRange("t", 1, 50, 150)], 40): print(*one)
    t 0 270 300
    t 1 140 150
    """
    total = sum(one.size for one in ranges)
    if total <= most:
        return [*ranges]
    return [one._replace(begin=one.end - max(1, one.size * most // total)) for one in ranges]


def _read(
    consumer: TopicConsumer, reading: TopicReading, ranges: Sequence[OffsetRange], most_bytes: int
) -> list[pa.RecordBatch]:
    """The records of ranges; after twice the bytes that may be, no more."""
    batches, size = [], 0
    for batch in chain.from_iterable(read_range(consumer, one, reading.columns) for one in ranges):
        batches.append(batch)
        size += batch.column(VALUE).nbytes
        if size > 2 * most_bytes:
            break
    return batches
