"""Rows of topics for a trial: their newest records, asked of the broker and judged as a task would judge."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.errors import RunError, SeineError
from seine.intake.arrived_records import ArrivedRecords, asks_for_arrival, only_topic, parser_of
from seine.intake.batch_admission import BatchAdmission
from seine.intake.future_lines import refuse_future
from seine.intake.intake_state import StreamState
from seine.runtime.spark_reading import SparkReading
from seine.service.recent_rows import MOST_BYTES, MOST_ROWS, RECENT_SECONDS
from seine.topics.recent_records import recent_records
from seine.topics.streamed_topics import streamed_topics
from seine.topics.topic_reading import TopicReading


def topic_rows(stream: StreamDef, reading: SparkReading) -> list[pa.RecordBatch]:
    """The rows of the last minutes of a stream of topics, whether the pipeline has read them yet or not."""
    options = {} if stream.reader is None else reading.secrets.resolved(stream.name, stream.reader)
    topics = streamed_topics(stream, options, hosts=reading.hosts)
    if topics is None:
        raise SeineError(
            f"the rows of stream {stream.name} go through Spark's tasks alone",
            hint="try the query on a file of such rows: seine try",
        )
    admission, parse, rows = BatchAdmission(stream), parser_of(stream), []
    for batch in _records(topics, reading):
        arrived = ArrivedRecords(batch, only_topic(stream))
        arrivals = arrived.arrivals() if asks_for_arrival(stream) else 0
        parsed = refuse_future(stream, parse(arrived), arrivals, StreamState().latest)
        rows.append(admission.admit(parsed).rows)
    return [_by_time(stream, rows)] if rows else []


def _records(topics: TopicReading, reading: SparkReading) -> list[pa.RecordBatch]:
    """What the broker gives; its words may repeat a secret."""
    try:
        return recent_records(topics, RECENT_SECONDS, MOST_ROWS, MOST_BYTES)
    except RunError as error:
        raise RunError(reading.secrets.hide(error.message), hint=error.hint) from None


def _by_time(stream: StreamDef, rows: list[pa.RecordBatch]) -> pa.RecordBatch:
    """All rows in the order of their times: those of one micro-batch never make each other late."""
    whole = pa.concat_batches(rows)
    times = whole.column(f"c{stream.time}").cast(pa.int64()).to_numpy()
    return whole.take(pa.array(np.argsort(times, kind="stable")))
