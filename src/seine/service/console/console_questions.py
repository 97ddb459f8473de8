"""What the console asks of a service, worked out from what is published, or in turn with changes."""

from __future__ import annotations

import os

import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations, Script
from seine.network.network import Network
from seine.service.access.principal import Principal
from seine.service.console.batches_answer import batches_answer
from seine.service.console.bound_documents import bound_documents, read_bindings
from seine.service.console.console_answers import (
    BatchesAnswer,
    BoundDocumentsAnswer,
    CheckAnswer,
    NetworkAnswer,
    NodeAnswer,
    QueryPage,
    SchemaAnswer,
    StoryAnswer,
)
from seine.service.console.network_picture import DrawnNetwork, NetworkPictures, network_answer, node_answer
from seine.service.console.query_limits import limits_of
from seine.service.console.query_page import QueryChoice, query_page
from seine.service.console.query_trial import QueryTrials, TriedScript
from seine.service.console.schema_answer import schema_answer
from seine.service.console.script_check import check_script
from seine.service.console.story_answer import story_answer
from seine.service.console.topic_rows import topic_rows
from seine.service.service import Service


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
            registrar.preview,
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
            within=service.registrar.source_roots,
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
