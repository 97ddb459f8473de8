"""What the console asks of a service, worked out from what is published, or in turn with changes.

What bounds a query, in words: records, memory, and what it may do in one micro-batch.

The last micro-batches as a service answers them.

Rows of topics for a trial: their newest records, asked of the broker and judged as a task would judge.

The story of a registered query: what it uses, with whom it shares that and why, and what it keeps.

What can be named in a script for a service: tables with their columns, and functions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import RelationDef, StreamDef, ViewDef
from seine.algebra.functions.aggregate_calls import BUILT_IN
from seine.algebra.functions.resolve_call import function_names
from seine.algebra.plan import Query
from seine.algebra.plan_text import column_name, interval_text
from seine.errors import RunError, SeineError, printable
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations, Script
from seine.intake.admission import Admission
from seine.intake.arrived_records import ArrivedRecords, only_topic
from seine.intake.intake_state import StreamState
from seine.intake.record_admission import RecordAdmission, rule_of
from seine.intake.stream_status import StreamStatus
from seine.network.network import Network
from seine.network.plan.output_form import limit_of
from seine.network.show.labels import Labels
from seine.network.show.query_story import Story
from seine.operators.state.work_budget import WorkBudget
from seine.runtime.spark_reading import SparkReading
from seine.safety.verdict_story import safety_lines
from seine.service.access.principal import Principal
from seine.service.console.bound_documents import bound_documents, read_bindings
from seine.service.console.console_answers import (
    BatchAnswer,
    BatchesAnswer,
    BoundDocumentsAnswer,
    ChapterAnswer,
    CheckAnswer,
    NetworkAnswer,
    NodeAnswer,
    QueryPage,
    SchemaAnswer,
    StoryAnswer,
    TableAnswer,
)
from seine.service.console.network_picture import DrawnNetwork, NetworkPictures, network_answer, node_answer
from seine.service.console.query_page import QueryChoice, query_page
from seine.service.console.query_trial import QueryTrials, TriedScript
from seine.service.console.script_check import check_script
from seine.service.recent_batches import RecentBatch
from seine.service.recent_rows import MOST_BYTES, MOST_ROWS, RECENT_SECONDS
from seine.service.service import Service
from seine.topics.client_settings import topic_reading
from seine.topics.topic_client import recent_records
from seine.topics.topic_records import TopicReading


class ConsoleQuestions:
    """Answers for one service; any thread may ask."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pictures, self._trials = NetworkPictures(), QueryTrials(service.deployment.folder)

    def close(self) -> None:
        """Nobody asks any more."""
        self._trials.close()

    def query_page(self, choice: QueryChoice, offset: int, most: int) -> QueryPage:
        """Some of the queries, in an order."""
        return query_page(self._service.published, choice, offset, most)

    def story(self, name: str) -> StoryAnswer:
        """What a query does in the network."""
        registrar = self._service.registrar
        budget = self._service.deployment.settings.budget

        def read(network: Network) -> StoryAnswer:
            query = registrar.view.find(name).query
            return story_answer(network, registrar.view.declared, query.name, limits_of(query, budget))

        return registrar.look(read)

    def documents(self, name: str, times: tuple[str | None, str], bindings: str) -> BoundDocumentsAnswer:
        """The documents of a record of an XSCL query that are among the recent rows."""
        view, recent_rows = self._service.published.view, self._service.recent_rows
        streams = {stream.name: stream for stream in view.declared.streams.values()}

        def recent(stream: str) -> list[pa.RecordBatch]:
            return recent_rows.of(streams[stream]) if stream in streams else []

        return bound_documents(view.find(name).query.plan, times, read_bindings(bindings), recent)

    def check(self, who: Principal, text: str, folder: str, replace: bool) -> CheckAnswer:
        """What a registration of a script for somebody would say; nothing is registered."""
        service, registrar = self._service, self._service.registrar
        self._trials.expect()  # who asks this is writing a script
        known = service.published.view.declared
        return check_script(
            lambda: self._parsed(text, folder, replace, known),
            known,
            service.deployment.settings.depth,
            service.relations.preview,
            lambda script: registrar.refuse_script(script, who),
        )

    def try_out(self, who: Principal, text: str, folder: str, replace: bool) -> TriedScript:
        """What the queries of a script say of the last rows of their streams; nothing is registered."""
        service, known = self._service, self._service.published.view.declared
        script = self._parsed(text, folder, replace, known)
        service.registrar.refuse_script(script, who)

        def recent(stream: StreamDef) -> list[pa.RecordBatch]:
            of_spark = stream.source is None or stream.reader is not None
            return topic_rows(stream, service.reading) if of_spark else service.recent_rows.of(stream)

        return self._trials.answer(script, known, recent)

    def _parsed(self, text: str, folder: str, replace: bool, known: Declarations) -> Script:
        service = self._service
        return parse_script(
            text,
            file="script",
            folder=os.path.join(service.folder.path, folder),
            known=known,
            replace=replace,
            pushed=service.folder.pushed,
            within=service.source_roots,
        )

    def schema(self) -> SchemaAnswer:
        """What a script can name."""
        return schema_answer(self._service.published.view.declared, self._service.takes_records)

    def network(self, query: str | None) -> NetworkAnswer:
        """The picture of the network, and where a query is in it."""
        service = self._service
        used = () if query is None else service.published.view.find(query).nodes
        figures, rates = service.published.figures, service.recent.rates()
        return network_answer(self._picture(), figures, rates, service.node_costs, used)

    def node(self, number: int) -> NodeAnswer:
        """One node of the network."""
        service = self._service
        figures, rates = service.published.figures, service.recent.rates()
        return node_answer(self._picture(), number, figures, rates, service.node_costs)

    def _picture(self) -> DrawnNetwork:
        registrar = self._service.registrar
        return self._pictures.newest(registrar.view, registrar.look)

    def batches(self) -> BatchesAnswer:
        """The last micro-batches, and what waits."""
        service = self._service
        return batches_answer(service.recent.batches, service.waiting_entries, service.stream_states())


def limits_of(query: Query, budget: WorkBudget) -> list[str]:
    """The limits of a query under the budget of its service.

    >>> from seine.algebra.plan import Plan
    >>> query = Query("q", Plan(), (("limit", 5), ("memory", 1000)), "SELECT ...")
    >>> limits_of(query, WorkBudget(10, 2048))[:2]
    ['delivers at most 5 records', 'holds at most 1,000 tuples; shed: auto']
    """
    lines = [f"delivers at most {limit_of(query):,} records"]
    memory = query.option("memory", None)
    if memory is not None:
        amount = f"{memory:,} tuples" if isinstance(memory, int) else str(memory)
        lines.append(f"holds at most {amount}; shed: {query.option('shed', 'auto')}")
    spent = f"{budget.candidates:,} pairs looked at and {budget.bytes:,} bytes"
    return [*lines, f"in a micro-batch and bucket: {spent}, or it fails alone"]


def batches_answer(
    batches: Sequence[RecentBatch], waiting: int, streams: Iterable[StreamStatus]
) -> BatchesAnswer:
    """Micro-batches, newest first, with what waits behind them."""
    return {
        "batches": [_answer(batch) for batch in reversed(batches)],
        "waiting": max(waiting, 0),
        "lag_bytes": sum(stream.lag_bytes for stream in streams),
    }


def _answer(batch: RecentBatch) -> BatchAnswer:
    stages = sorted(batch.work.stages.items())
    return {
        "entry": batch.entry,
        "at": datetime.fromtimestamp(batch.at, UTC).isoformat(timespec="milliseconds"),
        "seconds": round(batch.seconds, 4),
        "stages": [{"stage": stage, "seconds": round(seconds, 4)} for stage, seconds in stages],
        "input_rows": batch.input_rows,
        "output_rows": batch.output_rows,
        "dead_letters": batch.dead_letters,
    }


def topic_rows(stream: StreamDef, reading: SparkReading) -> list[pa.RecordBatch]:
    """The rows of the last minutes of a stream of topics, whether the pipeline has read them yet or not."""
    options = {} if stream.reader is None else reading.secrets.resolved(stream.name, stream.reader)
    topics = topic_reading(stream, options, hosts=reading.hosts)
    if topics is None:
        raise SeineError(
            f"the rows of stream {stream.name} go through Spark's tasks alone",
            hint="try the query on a file of such rows: seine try",
        )
    pieces = [ArrivedRecords(batch, only_topic(stream)) for batch in _records(topics, reading)]
    state, names = StreamState(), sorted({name for piece in pieces for name in piece.known_partitions()})
    rule = rule_of(stream, state, names)
    admission = RecordAdmission(Admission(stream, rule=rule), rule, state.latest)
    rows = [admission.admit(piece).rows for piece in pieces]
    return [_by_time(stream, rows)] if rows else []


def _records(topics: TopicReading, reading: SparkReading) -> list[pa.RecordBatch]:
    """What the broker gives; its words may repeat a secret."""
    try:
        return recent_records(topics, RECENT_SECONDS, MOST_ROWS, MOST_BYTES)
    except RunError as error:
        raise RunError(reading.secrets.hide(error.message), hint=error.hint) from None


def _by_time(stream: StreamDef, rows: list[pa.RecordBatch]) -> pa.RecordBatch:
    """All rows in the order of their times.

    Partitions come one after the other, and a trial judges by line: rows of one that were let in are not to
    be late because of another.
    """
    whole = pa.concat_batches(rows)
    times = whole.column(f"c{stream.time}").cast(pa.int64()).to_numpy()
    return whole.take(pa.array(np.argsort(times, kind="stable")))


def story_answer(network: Network, declared: Declarations, name: str, limits: list[str]) -> StoryAnswer:
    """The story of a query, as of a network; one that is paused is not in it, and has none."""
    query = declared.queries[name.lower()]
    answer: StoryAnswer = {
        "query": query.name,
        "statement": statement_of(query),
        "headline": "It is in no network now: paused, or failed.",
        "inferred": [],
        "chapters": [],
        "holds": safety_lines(query.plan, network.joined.get(query.name, ())),
        "limits": limits,
    }
    if query.name not in network.queries:
        return answer
    story = Story(Labels(network, declared.streams, declared.relations), query.name)
    answer["headline"] = printable(story.headline())
    answer["inferred"] = [printable(text) for text in story.inferred()]
    answer["chapters"] = [
        ChapterAnswer(
            node=chapter.node.id,
            kind=chapter.node.kind,
            stage=chapter.node.stage,
            text=printable(chapter.text),
            says=[printable(text) for text in chapter.says],
        )
        for chapter in story.chapters()
    ]
    return answer


def statement_of(query: Query) -> str:
    """The statement that creates a query, to be changed and registered again.

    >>> from seine.algebra.plan import Plan
    >>> print(statement_of(Query("big one", Plan(), (("unbounded", True),), "SELECT a FROM s")), end="")
    CREATE QUERY "big one" WITH (unbounded = true) AS
    SELECT a FROM s;
    """
    options = ", ".join(f"{name} = {_option(value)}" for name, value in query.options)
    given = f" WITH ({options})" if options else ""
    return f"CREATE QUERY {column_name(query.name)}{given} AS\n{query.text.rstrip()};\n"


def _option(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def schema_answer(declared: Declarations, is_pushed: Callable[[StreamDef], bool]) -> SchemaAnswer:
    """The tables in the order of their declaration, streams first, and the functions by name."""
    tables = [_stream(stream, is_pushed(stream)) for stream in declared.streams.values()]
    tables += [_relation(relation) for relation in declared.relations.values()]
    tables += [_view(view) for view in declared.views.values()]
    tables += [{**_stream(one, False), "kind": "published"} for one in declared.published.values()]
    return {"tables": tables, "functions": sorted({*function_names(), *BUILT_IN})}


def _stream(stream: StreamDef, pushed: bool) -> TableAnswer:
    names = [field.name for field in stream.declared]
    return {
        "name": stream.name,
        "kind": "stream",
        "columns": [{"name": field.name, "type": str(field.type)} for field in stream.declared],
        "time": names[stream.time],
        "window": _window(stream),
        "punctuated": [[names[column] for column in scheme.columns] for scheme in stream.schemes],
        "pushed": pushed,
    }


def _window(stream: StreamDef) -> str | None:
    if stream.window is None:
        return None
    return interval_text(stream.window) if stream.domain == "timestamp" else str(stream.window)


def _relation(relation: RelationDef) -> TableAnswer:
    columns = [(field.name, str(field.type)) for field in relation.fields]
    return _plain(relation.name, "relation", columns)


def _view(view: ViewDef) -> TableAnswer:
    return _plain(view.name, "view", [(name, "") for name in view.columns])


def _plain(name: str, kind: Literal["relation", "view"], columns: list[tuple[str, str]]) -> TableAnswer:
    return {
        "name": name,
        "kind": kind,
        "columns": [{"name": column, "type": text} for column, text in columns],
        "time": None,
        "window": None,
        "punctuated": [],
        "pushed": False,
    }
