"""What may be registered in a service: by role and owner, within quotas, from and to allowed places.

Whoever may register must not get at more than that. Of Spark's formats those are let in that read and do
nothing else, with options that name no class and no file but `path`. A secret is named, `${NAME}`, in an
option that is for secrets; its value is in the operator's options file, never in a script nor in the
service's environment. An address has no user or password in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from seine.algebra.definitions import RelationDef, SinkDef, SparkReader, StreamDef
from seine.errors import SeineError
from seine.frontends.script.script import Declarations, Script
from seine.frontends.text.lexer import suggest
from seine.lifecycle.edit import Asker, Edit, RegisteredScript
from seine.lifecycle.view import View
from seine.network.network import Network
from seine.runtime.option_secrets import OptionSecrets
from seine.runtime.output.overwriting import refuse_overwriting
from seine.runtime.spark_reading import SparkDoor
from seine.safety.verdict import read_statements
from seine.service.access.allow_list import TOKEN_ADDRESS, AllowList, confine
from seine.service.access.principal import LOCAL
from seine.service.access.quotas import Quota
from seine.service.folder import ServiceFolder
from seine.service.push_door import PushDoor
from seine.sinks.sink_checks import refuse_unfit

_FILES = frozenset(
    {"path", "maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage"}
    | {"pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter"}
)
_SECRET_OPTIONS = frozenset(
    {"kafka.sasl.jaas.config", "kafka.ssl.key.password"}
    | {"kafka.ssl.keystore.key", "kafka.ssl.keystore.password", "kafka.ssl.truststore.password"}
)
_KAFKA = (
    frozenset(
        {"subscribe", "subscribepattern", "assign", "failondataloss", "maxoffsetspertrigger"}
        | {"kafka.bootstrap.servers", "kafka.security.protocol", "kafka.sasl.mechanism"}
        | {TOKEN_ADDRESS, "kafka.sasl.oauthbearer.scope", "kafka.ssl.endpoint.identification.algorithm"}
        | {"kafka.ssl.keystore.type", "kafka.ssl.keystore.certificate.chain", "kafka.ssl.truststore.type"}
        | {"kafka.ssl.truststore.certificates"}
        | {"kafka.client.id", "kafka.client.dns.lookup", "kafka.isolation.level"}
        | {"kafka.fetch.min.bytes", "kafka.fetch.max.bytes", "kafka.fetch.max.wait.ms"}
        | {"kafka.max.partition.fetch.bytes", "kafka.max.poll.records", "kafka.receive.buffer.bytes"}
        | {"kafka.request.timeout.ms", "kafka.default.api.timeout.ms", "kafka.session.timeout.ms"}
    )
    | _SECRET_OPTIONS
)
_TABLES = frozenset({"maxfilespertrigger", "maxbytespertrigger", "path", "ignorechanges", "ignoredeletes"})
ALLOWED: Mapping[str, frozenset[str]] = {
    "kafka": _KAFKA,
    "text": _FILES | {"wholetext", "linesep"},
    "json": _FILES | {"linesep"},
    "csv": _FILES | {"linesep", "header"},
    "parquet": _FILES | {"mergeschema"},
    "orc": _FILES | {"mergeschema"},
    "avro": _FILES,
    "delta": _TABLES | {"startingversion", "startingtimestamp", "skipchangecommits"},
    "iceberg": _TABLES | {"stream-from-timestamp", "streaming-skip-delete-snapshots"},
    "rate": frozenset({"rowspersecond", "rampuptime", "numpartitions"}),
    "rate-micro-batch": frozenset(
        {"rowsperbatch", "numpartitions", "starttimestamp", "advancemillisperbatch"}
    ),
}
_REFERENCE = re.compile(r"\$\{")
_USER_IN_ADDRESS = re.compile(r"://[^/\s]*@")


class SourceGate:
    """Refuses streams that a service does not read."""

    def __init__(
        self,
        folder: ServiceFolder,
        secrets: OptionSecrets,
        door: SparkDoor,
        pushes: PushDoor,
        reach: AllowList,
    ) -> None:
        self._folder, self._secrets, self._door, self._pushes = folder, secrets, door, pushes
        self._reach = reach

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders in which files are read."""
        return (*self._reach.source_roots, os.path.realpath(self._folder.pushed))

    def refuse_standing(self, view: View) -> None:
        """Refuse to begin with what was let in once and is not any more."""
        try:
            self._refuse(view.declared.tables.values(), view.declared.sinks.values())
        except SeineError as error:
            raise SeineError(f"{error.message}; it was allowed before", hint=error.hint) from None

    def refuse(self, stream: StreamDef) -> None:
        """Refuse a stream that may not be read, is what we write, or that Spark cannot open."""
        if stream.source is None:
            return
        if self._pushes.takes(stream):
            self._pushes.open(stream)
            return
        if stream.reader is None:
            self._refuse_own(stream.source.path)
            return
        refuse_reader(stream.name, stream.reader)
        path = stream.reader.option("path")
        if path is not None and "://" not in path:
            self._refuse_own(path)
        self._secrets.check([stream])
        self._door.check(stream)

    def refuse_out_of_reach(self, edit: Edit, view: View) -> None:
        """Refuse tables that are read from, and sinks that are written to, where the service may not."""
        before = view.declared.sinks
        sinks = [sink for key, sink in edit.declared.sinks.items() if before.get(key) is not sink]
        self._refuse([*edit.streams(view)[0], *edit.relations(view)], sinks)

    def _refuse(self, tables: Iterable[StreamDef | RelationDef], sinks: Iterable[SinkDef]) -> None:
        for table in tables:
            if not (isinstance(table, StreamDef) and self._pushes.takes(table)):
                self._reach.refuse_source(table)
        for sink in sinks:
            self._reach.refuse_sink(sink)

    def _refuse_own(self, path: str) -> None:
        refuse_overwriting([self._folder.results, self._folder.dead], [path])
        self._folder.refuse_inside(path)


def refuse_reader(stream: str, reader: SparkReader) -> None:
    """Refuse a format or an option that is not let in, by name; values are not repeated.

    >>> try:
    ...     refuse_reader("s", SparkReader("kafka", (("kafka.interceptor.classes", "x.Y"),)))
    ... except SeineError as error:
    ...     print(error.message)
    stream s: a service takes no option kafka.interceptor.classes of kafka
    """
    options = ALLOWED.get(reader.format)
    if options is None:
        message = f"stream {stream}: a service does not read USING {reader.format}"
        raise SeineError(message, hint=f"one of {', '.join(ALLOWED)}; or seine run")
    for key, value in reader.options:
        if key.lower() not in options:
            hint = suggest(key.lower(), sorted(options), "options") or "leave it out, or use seine run"
            raise SeineError(
                f"stream {stream}: a service takes no option {key} of {reader.format}", hint=hint
            )
        _refuse_value(stream, key, value)


def _refuse_value(stream: str, key: str, value: str) -> None:
    secret = key.lower() in _SECRET_OPTIONS
    if _USER_IN_ADDRESS.search(value):
        hint = "secrets stand in options of their own, as '${NAME}'"
        raise SeineError(f"stream {stream}: option {key} has a user or a password in an address", hint=hint)
    if _REFERENCE.search(value) and not secret:
        message = f"stream {stream}: option {key} is not for secrets, and takes no ${{NAME}}"
        raise SeineError(message, hint=f"those that do: {', '.join(sorted(_SECRET_OPTIONS))}")
    if secret and re.fullmatch(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", value) is None:
        message = f"stream {stream}: option {key} is a secret: '${{NAME}}', and nothing beside it"
        raise SeineError(message, hint="give NAME = ... in the file of seine serve --options-file")


class ServicePolicy:
    """Judges changes of one service."""

    local = LOCAL

    def __init__(
        self, folder: ServiceFolder, sources: SourceGate, quota: Quota, secrets: OptionSecrets
    ) -> None:
        self._folder, self._sources, self._quota, self._secrets = folder, sources, quota, secrets

    def read(self, script: RegisteredScript, file: str, known: Declarations) -> Script:
        """A script whose files are within the folders that are allowed."""
        roots, pushed = self._sources.roots, self._folder.pushed
        text, folder, replace = script.text, script.folder, script.replace
        read = read_statements(text, file, folder, known, replace=replace, pushed=pushed, within=roots)
        confine(read.declarations, known, roots)
        return read

    def refuse(self, edit: Edit, view: View, by: Asker) -> None:
        """Refuse what its author may not do, what is out of reach, and too many queries of an owner."""
        by.refuse(edit, view)
        self._sources.refuse_out_of_reach(edit, view)
        self._quota.refuse_queries(edit, view)

    def refuse_stream(self, stream: StreamDef) -> None:
        """Refuse a stream that may not be read, is what we write, or that Spark cannot open."""
        self._sources.refuse(stream)

    def refuse_sink(self, sink: SinkDef, declared: Declarations) -> None:
        """Refuse a sink that could never deliver, or would deliver into the folder of the service."""
        refuse_unfit(sink, declared)
        if sink.kind == "folder":
            self._folder.refuse_inside(sink.target)
        self._secrets.values(f"sink {sink.name}", sink.options)

    def refuse_network(self, edit: Edit, view: View, network: Network) -> None:
        """Refuse too many joins of an owner."""
        self._quota.refuse_joins(edit, view, network)
