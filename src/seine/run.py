"""The facade: everything a command or a program does with Seine goes through here."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from seine.algebra.plan import Query
from seine.algebra.serialise import plan_to_json, relation_to_json, stream_to_json
from seine.catalog import Catalog, StoredQuery
from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations, Script, tables_of
from seine.graph.node_kinds import node_to_json
from seine.intake.intake import Intake
from seine.intake.relations import load_relation
from seine.network.network import Network, build_network
from seine.network.plan.output_form import DEFAULT_LIMIT
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.runtime.driver import Driver
from seine.runtime.folder.bucket_labels import labels
from seine.runtime.folder.changing_relations import ChangingRelations
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.outlets import Folder
from seine.runtime.output.overwriting import refuse_overwriting
from seine.runtime.output.sink import Sink, exact_share
from seine.safety.verdict import refuse_unsafe

_logger = logging.getLogger(__name__)

_FORMAT = 6  # of the deployment folder


@dataclass(frozen=True)
class Options:
    """How to run: where results go, where state lives, how input is cut."""

    out: str | Folder | None = None
    dead_letter: str | None = None
    checkpoint: str | None = None
    batch_rows: int | None = None
    follow: bool = False
    buckets: int = 2
    memory: int | None = None  # tuples that all joins within a memory may hold together
    depth: int = 0  # 0: as deep as the script needs
    sharing: Strategy = CONFIGURATIONS["all"]
    deliver: Callable[[dict[str, Any]], None] | None = None  # gets each record, instead of `out`
    notice: Callable[[str], None] = field(default=lambda text: None)  # hears of truncated input
    progress: Callable[[Sink], None] = field(default=lambda sink: None)


def read_script(path: str, known: Declarations | None = None) -> Script:
    """Parse a script file; relative paths in it are resolved against its folder."""
    return parse_script(
        read_text(path), file=path, folder=os.path.dirname(os.path.abspath(path)), known=known
    )


def read_text(path: str) -> str:
    """The text of a script file."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SeineError(f"cannot read script '{path}': {reason}") from error


def read_statements(
    text: str, file: str, folder: str, known: Declarations, *, replace: bool = False
) -> Script:
    """Add statements to what is known already; refuses what is wrong or unsafe in them."""
    script = parse_script(text, file=file, folder=folder, known=known, replace=replace)
    refuse_unsafe(script)
    return script


class Run:
    """A script on its way through a pipeline, whoever hosts the tasks.

    Opening it refuses what cannot run: an unsafe query, a missing file, an unwritable output, a
    checkpoint of another script. `driver.drive` then feeds it to its end.
    """

    def __init__(self, script: Script, options: Options) -> None:
        refuse_unsafe(script)
        declarations = script.declarations
        out = options.out if isinstance(options.out, str) else None
        refuse_overwriting([out, options.dead_letter], declarations.paths)
        self.network = build_network(declarations.queries.values(), options.sharing)
        self.catalog = Catalog()
        enter(self.catalog, declarations, self.network)
        self._temporary = None if options.checkpoint else _temporary()
        folder = options.checkpoint or self._temporary.name  # type: ignore[union-attr]
        self.deployment = Deployment(os.path.abspath(folder))
        self._prepare(declarations, options)
        streams = list(declarations.streams.values())
        relations = self._relations(declarations, options)

        def open_intake(follow: bool) -> Intake:
            return Intake(
                streams,
                self.deployment.journal,
                batch_rows=options.batch_rows,
                follow=follow,
                network=relations.version,
                notice=options.notice,
            )

        limits = {query.name: limit_of(query) for query in declarations.queries.values()}
        self.sink = Sink(self.deployment, options.out or options.deliver, options.dead_letter, limits)
        self._joins = _joins_of(self.network)
        self._important = self.network.important()
        self._places = {query: self.network.state_places(query) for query in self._joins}
        sets = frozenset([*self._joins.values(), *(p for of in self._places.values() for p in of.values())])
        self.driver = Driver(
            self.deployment, open_intake, options.follow, self.sink, lambda _: sets, options.progress
        )
        _logger.info(
            "run opened",
            extra={
                "folder": self.deployment.folder,
                "version": self.network.version,
                "queries": len(self.network.queries),
                "nodes": len(self.network.nodes),
                "entry": self.sink.totals.entry,
            },
        )

    def _prepare(self, declarations: Declarations, options: Options) -> None:
        """Create the folder of the pipeline, or check that it belongs to this script."""
        mark = fingerprint(declarations, options.sharing)
        if self.deployment.exists():
            refuse_other_format(self.deployment)
            if self.deployment.settings.get("script") != mark:
                raise SeineError(
                    f"checkpoint '{self.deployment.folder}' belongs to another script",
                    hint="use the script that made it, or name a new folder",
                )
            if self.deployment.settings.get("memory") != options.memory:
                raise SeineError(
                    f"checkpoint '{self.deployment.folder}' was made with another --memory",
                    hint="give the one that it was made with, or name a new folder",
                )
            return
        self.deployment.refuse_foreign()
        read = {name: load_relation(relation) for name, relation in declarations.relations.items()}
        relations = {name: batch for name, (batch, _) in read.items()}
        dead = [letter for _, letters in read.values() for letter in letters]
        self.network.commit()
        self.deployment.versions.save(self.network, declarations.streams.values(), relations, dead)
        depth = max(options.depth, self.network.depth)
        self.deployment.create(
            {"script": mark, **new_settings(options.buckets, depth), "memory": options.memory}
        )

    def _relations(self, declarations: Declarations, options: Options) -> ChangingRelations:
        """The relations as the last entry knows them, from now on followed."""
        last = self.deployment.journal.last()
        if last is not None:
            self.network.version = last.network
        versions, relations = self.deployment.versions, declarations.relations.values()
        followed = any(relation.followed for relation in relations)
        current = versions.relations(self.network.version) if followed else {}
        streams = declarations.streams.values()
        return ChangingRelations(self.network, versions, streams, relations, current, options.notice)

    def close(self) -> None:
        self.driver.close()
        self.sink.close()
        self.catalog.close()
        shutil.rmtree(self.deployment.settings["cache"], ignore_errors=True)
        if self._temporary:
            self._temporary.cleanup()
        totals = self.sink.totals
        _logger.info(
            "run closed",
            extra={
                "batches": totals.batches,
                "input_rows": totals.input_rows,
                "output_rows": totals.output_rows,
                "dead_letters": totals.dead_letters,
            },
        )

    def statistics(self, elapsed: float) -> dict[str, Any]:
        """The contract's `--stats` document."""
        totals = self.sink.totals
        joins = sum(node.is_join for node in self.network.nodes.values())
        return {
            "input_rows": totals.input_rows,
            "output_rows": totals.output_rows,
            "dead_letters": totals.dead_letters,
            "batches": totals.batches,
            "elapsed_s": round(elapsed, 3),
            "network": {
                "nodes": len(self.network.nodes),
                "joins": joins,
                "queries": len(self.network.queries),
            },
            "state_rows": {"peak": totals.state_peak, "final": sum(totals.state_rows.values())},
            "queries": {query: self._query_statistics(query) for query in self.network.queries},
        }

    def _query_statistics(self, query: str) -> dict[str, Any]:
        totals, joins = self.sink.totals, self._joins.get(query, "")
        memory = totals.memory.get(str(self.network.limited_node(query)))
        return {
            "outputs": totals.outputs.get(query, 0),
            "importance": self._importance(query),
            "shed": memory["shed"] if memory else 0,
            "state_rows_peak": memory["peak"] if memory else totals.join_peak.get(joins, 0),
            "state_rows_final": totals.join_state.get(joins, 0),
            "state_rows_by_stream": {
                streams: {
                    "peak": totals.join_peak.get(places, 0),
                    "final": totals.join_state.get(places, 0),
                }
                for streams, places in self._places.get(query, {}).items()
            },
            **({"exact_share": exact_share([memory])} if memory else {}),
        }

    def _importance(self, query: str) -> float | None:
        """The sum over all records; none where they have none, or were cut at a limit."""
        if query not in self._important or query in self.sink.totals.cut:
            return None
        total = self.sink.totals.importance.get(query, 0.0)
        return total if math.isfinite(total) else None


def enter(catalog: Catalog, declarations: Declarations, network: Network) -> None:
    """Record every declaration and the network version in a catalog: all of it or nothing."""
    with catalog.change() as change:
        for stream in declarations.streams.values():
            change.add_stream(stream)
        for relation in declarations.relations.values():
            change.add_relation(relation)
        for edge in declarations.edges:
            change.add_edge(edge)
        change.add_queries([stored(query) for query in declarations.queries.values()])
        if network.version:
            change.save_version(network.version, added=[node_to_json(node) for node in network])


def stored(query: Query, born: int = 0, position: dict[str, Any] | None = None) -> StoredQuery:
    """A query as the catalog keeps it."""
    inputs, plan = tuple(sorted(tables_of(query))), plan_to_json(query.plan)
    return StoredQuery(query.name, query.text, plan, inputs, dict(query.options), born, position or {})


def limit_of(query: Query) -> int:
    """How many records a query may deliver."""
    limit = query.option("limit", DEFAULT_LIMIT)
    assert isinstance(limit, int)
    return limit


def _temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder for one run; Spark may still write to it when the run is over, and then some of it stays."""
    return tempfile.TemporaryDirectory(prefix="seine-", ignore_cleanup_errors=True)


def new_settings(buckets: int, depth: int) -> dict[str, Any]:
    """What is fixed when a pipeline is first started."""
    return {
        "format": _FORMAT,
        "labels": labels(buckets),
        "parallelism": buckets,
        "depth": depth,
        "start": -1,
        "cache": os.path.join(tempfile.gettempdir(), f"seine-cache-{uuid.uuid4().hex}"),
    }


def refuse_other_format(deployment: Deployment) -> None:
    if deployment.settings.get("format") != _FORMAT:
        raise SeineError(
            f"checkpoint '{deployment.folder}' was made by another version of Seine",
            hint="use that version, or name a new folder",
        )


def fingerprint(declarations: Declarations, sharing: Strategy = CONFIGURATIONS["all"]) -> str:
    """What must be equal for a checkpoint to fit: every declaration that gives it its meaning."""
    form = {
        "streams": [stream_to_json(stream) for stream in declarations.streams.values()],
        "relations": [relation_to_json(relation) for relation in declarations.relations.values()],
        "queries": [[q.name, q.text, repr(q.options)] for q in declarations.queries.values()],
        "sharing": repr(sharing),
    }
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()


def _joins_of(network: Network) -> dict[str, str]:
    """The joins of each query that has some: their ids, parted by commas."""
    joins: dict[str, list[int]] = {}
    for node in network:
        if node.is_join:
            for query in network.users(node.id):
                joins.setdefault(query, []).append(node.id)
    return {query: ",".join(map(str, sorted(ids))) for query, ids in joins.items()}
