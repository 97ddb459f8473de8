"""Live networks at work without Spark: queries come and go between the entries of a journal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.algebra.plan import Query
from seine.frontends.script.parser import read_script
from seine.frontends.script.script import Declarations
from seine.intake.intake import Intake
from seine.intake.journal import Draft, Journal
from seine.intake.relations import load_relation
from seine.network.network import Network
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.run_local import LocalHost
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.handover import StateHead
from seine.runtime.folder.segments import Segments
from seine.runtime.folder.settings import new_settings
from seine.runtime.output.task_pieces import text_of
from seine.storage.local import LocalStore

DEPTH = 12


@dataclass(frozen=True)
class Input:
    """One micro-batch: the rows of each stream, its promises, and what time it is after them."""

    rows: Mapping[str, pa.RecordBatch]
    clock: Clock
    end: bool
    punctuations: Mapping[str, pa.RecordBatch] = field(default_factory=dict)


@dataclass(frozen=True)
class Story:
    """What is declared, and the micro-batches that arrive."""

    declarations: Declarations
    relations: Mapping[str, pa.RecordBatch]
    inputs: Sequence[Input]


def read_story(script: Path, folder: Path, batch_rows: int) -> Story:
    """A script's sources, admitted and cut into entries."""
    declarations = read_script(str(script)).declarations
    streams = list(declarations.streams.values())
    intake = Intake(streams, Journal(LocalStore(str(folder))), batch_rows=batch_rows)
    inputs = []
    while (entry := intake.next_entry()) is not None:
        rows = {name: batch for name in entry.rows if (batch := entry.batch(name)) is not None}
        punctuations = {
            name: made for name in entry.punctuation_counts if (made := entry.punctuations(name)) is not None
        }
        inputs.append(Input(rows, entry.clock, entry.end, punctuations))
    intake.close()
    relations = {name: load_relation(relation)[0] for name, relation in declarations.relations.items()}
    return Story(declarations, relations, inputs)


class Pipeline:
    """A network over a story, entry by entry; `records` has what each entry reported."""

    def __init__(
        self,
        folder: Path,
        story: Story,
        *,
        live: bool,
        strategy: Strategy = CONFIGURATIONS["all"],
        buckets: int = 2,
    ) -> None:
        self.network = Network(strategy, live=live)
        self.records: list[list[dict[str, Any]]] = []
        self._story = story
        self._deployment = Deployment(str(folder))
        self._deployment.create(new_settings(buckets, DEPTH))
        self._streams = list(story.declarations.streams.values())
        self._deployment.versions.save(self.network, self._streams, story.relations)
        self._host = LocalHost(self._deployment)

    def add(self, query: Query) -> None:
        """The query counts from the next entry on, the first of its epoch: here, of its version."""
        self.network.add(query, self.network.version + 1)

    def remove(self, name: str) -> None:
        self.network.remove(name)

    def restart(self) -> None:
        """Forget the network and read it back."""
        self._commit()
        self.network = self._deployment.versions.network(self.network.version, self.network.strategy)

    def feed(self, input_: Input) -> None:
        """One entry, by the network as it is now."""
        self._commit()
        version = self.network.version
        draft = Draft(
            version, input_.clock, input_.rows, input_.punctuations, [], end=input_.end, epoch=version
        )
        entry = self._deployment.journal.append(draft)
        collected = []
        for report in self._host.run(entry.number):
            assert not report.state.notices, report.state.notices
            if report.results:
                text = text_of(self._deployment.store, report.results.pieces)
                collected += map(json.loads, bytes(text).splitlines())
        self.records.append(collected)

    def stores(self) -> Iterator[Store]:
        """What every node holds in every bucket."""
        for (_, bucket), head in self._host.heads.items():
            state = StateHead.unpacked(head)
            segments = Segments(state, lambda name: pa.py_buffer(self._host.blobs[name]), bucket)
            for node in list(state.nodes):
                yield segments.of(node)

    def answer(self, query: str, first: int, last: int) -> Counter[str]:
        """What a query reported in the entries from first to last, the last one apart."""
        records_of = [r for records in self.records[first:last] for r in records if r["query"] == query]
        return Counter(json.dumps({**record, "query": ""}) for record in records_of)

    def _commit(self) -> None:
        change = self.network.take_change()
        if change is not None:
            self._deployment.versions.extend(self.network, change, self._streams, self._story.relations)


def alone(folder: Path, story: Story, query: Query, born: int) -> Pipeline:
    """A network of this query alone that never saw what came before."""
    folder.mkdir()
    fresh = Pipeline(folder, story, live=False)
    fresh.network.add(query)
    for input_ in later(story, born):
        fresh.feed(input_)
    return fresh


def later(story: Story, born: int) -> Iterable[Input]:
    """The tuples from an entry on, with the negative tuples that delete them, whenever these came."""
    unheard = {
        name: _other_deletions(stream, [i.rows.get(name) for i in story.inputs], born)
        for name, stream in story.declarations.streams.items()
        if stream.retractable
    }
    for number, input_ in enumerate(story.inputs[born:]):
        rows: dict[str, list[pa.RecordBatch]] = {name: [batch] for name, batch in input_.rows.items()}
        if not number:
            for name in unheard:
                earlier = [b for i in story.inputs[:born] if (b := i.rows.get(name)) is not None]
                negative = [b.filter(pa.array(b["_o"].to_numpy() < 0)) for b in earlier]
                rows[name] = negative + rows.get(name, [])
        whole = {name: pa.concat_batches(batches) for name, batches in rows.items() if batches}
        heard = {
            name: batch.filter(pa.array(~np.isin(batch["_q"].to_numpy(), unheard.get(name, []))))
            for name, batch in whole.items()
        }
        rows_heard = {name: batch for name, batch in heard.items() if batch.num_rows}
        yield Input(rows_heard, input_.clock, input_.end, input_.punctuations)


def _other_deletions(stream: StreamDef, batches: Sequence[pa.RecordBatch | None], born: int) -> list[int]:
    """The numbers of the negative tuples that delete no tuple from an entry on."""
    alive: list[tuple[int, int, str]] = []  # start, number, content
    young, events = set(), []
    for entry, batch in enumerate(batches):
        for row in [] if batch is None else _plain(batch, stream).to_pylist():
            content = repr([row[f"c{i}"] for i in range(len(stream.fields)) if i != stream.time])
            events.append((row[f"c{stream.time}"], row["_q"], row["_o"], content))
            if entry >= born:
                young.add(row["_q"])
    window = float("inf") if stream.window is None else stream.window
    collected = []
    for time, number, sign, content in sorted(events):
        if sign > 0:
            alive.append((time, number, content))
            continue
        fits = [a for a in alive if a[2] == content and time < a[0] + window]
        if fits:
            alive.remove(min(fits))
        if not fits or min(fits)[1] not in young:
            collected.append(number)
    return collected


def _plain(batch: pa.RecordBatch, stream: StreamDef) -> pa.RecordBatch:
    name = f"c{stream.time}"
    return batch.set_column(batch.schema.get_field_index(name), name, batch[name].view(pa.int64()))
