"""What a service may read and write: folders and hosts that its operator has named, and its own.

Law: FROM reads files below a source root, INTO writes folders below a sink root, whatever links, dots and
patterns a path is made of; a server is asked only if its host is named. Without options there are `input/`
and `output/` in the folder of the service, and what programs send to it.
"""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, parse_qsl, urlsplit

from seine.algebra.definitions import RelationDef, SinkDef, SparkReader, StreamDef
from seine.errors import SeineError
from seine.frontends.script.script import Declarations
from seine.intake.allowed_hosts import addresses, names_host
from seine.intake.files import Files, lies_within

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HADOOP_PATTERN = re.compile(r"[{}\\]")  # alternatives may hold slashes and dots
TOKEN_ADDRESS = "kafka.sasl.oauthbearer.token.endpoint.url"  # which a client asks before it logs in
_PORTS = {"https": 443, "http": 80}
_SOCKET = "localhost"  # what a database without a host is asked by
# what SQLAlchemy, libpq and we read alike: any other @, # or backslash moves the hosts for one of the three
_POSTGRES = re.compile(
    r"[^:/?#@\\\s]+://(?:[^/?#@\\\s]*@)?(?P<hosts>[^/?#@\\\s]*)(?:/[^?#@\\\s]*)?(?:\?(?P<query>[^#@\\\s]*))?"
)
_POSTGRES_HOSTS = ("host", "hostaddr")
_POSTGRES_ELSEWHERE = ("service", "servicefile", "passfile")


@dataclass(frozen=True)
class AllowList:
    """Folders and hosts that may be read from and written to.

    A host is a name or address, perhaps with a port; `*.example.org` is every host below, `*` any host.

    >>> AllowList(sink_hosts=("hooks.example.org", "*.lan:9092")).delivers_to("b1.lan", 9092)
    True
    >>> AllowList(sink_hosts=("hooks.example.org", "*.lan:9092")).delivers_to("b1.lan", 9093)
    False
    """

    source_roots: tuple[str, ...] = ()
    source_hosts: tuple[str, ...] = ()
    sink_roots: tuple[str, ...] = ()
    sink_hosts: tuple[str, ...] = ()

    def with_own(self, source: str, sink: str) -> AllowList:
        """This, and folders of the service's own."""
        return replace(
            self,
            source_roots=tuple(map(os.path.realpath, (*self.source_roots, source))),
            sink_roots=tuple(map(os.path.realpath, (*self.sink_roots, sink))),
        )

    def reads_from(self, host: str, port: int | None) -> bool:
        return names_host(self.source_hosts, host, port)

    def delivers_to(self, host: str, port: int | None) -> bool:
        return names_host(self.sink_hosts, host, port)

    def refuse_source(self, declared: StreamDef | RelationDef) -> None:
        """Refuse a stream or relation that is read from elsewhere; nothing is opened for this."""
        source, kind = declared.source, "stream" if isinstance(declared, StreamDef) else "relation"
        if source is None:
            return
        what = f"{kind} {declared.name}"
        if source.reader is not None:
            self._refuse_reader(what, source.reader)
        elif source.is_database:
            self._refuse_database(what, source.path)
        else:
            self._refuse_path(what, source.path)

    def refuse_sink(self, sink: SinkDef) -> None:
        """Refuse a sink that writes elsewhere."""
        what = f"sink {sink.name}"
        if sink.kind == "folder":
            if not lies_within(sink.target, self.sink_roots):
                hint = "seine serve --sink-root DIR names folders that sinks may write to"
                raise SeineError(f"{what} would write outside the folders that it may write to", hint=hint)
            return
        for host, port in _sink_hosts(sink):
            if not self.delivers_to(host, port):
                hint = f"seine serve --sink-host {host} allows it"
                raise SeineError(f"{what} would write to {host}, which is not allowed", hint=hint)

    def _refuse_path(self, what: str, path: str) -> None:
        """The path, what a pattern begins with, and every file that is there now, lie within the roots."""
        if not lies_within(_fixed_part(path), self.source_roots) or not all(
            lies_within(file, self.source_roots) for file in Files(path).listing()
        ):
            hint = "seine serve --source-root DIR names folders that FROM may read"
            raise SeineError(f"{what} would read outside the folders that it may read", hint=hint)

    def _refuse_reader(self, what: str, reader: SparkReader) -> None:
        servers = reader.option("kafka.bootstrap.servers")
        for host, port in addresses(servers or ""):
            self._refuse_host(what, host, port)
        tokens = reader.option(TOKEN_ADDRESS)
        if tokens is not None:
            parts = _split(what, tokens)
            self._refuse_host(what, parts.hostname or "", parts.port or _PORTS.get(parts.scheme.lower()))
        path = reader.option("path")
        if path is None:
            return
        if _HADOOP_PATTERN.search(path) or ".." in re.split(r"[/,]", path):
            hint = "write the folder as it is, with * and ? at most"
            raise SeineError(f"{what}: a path that Spark reads has no braces, backslashes or ..", hint=hint)
        scheme = _SCHEME.match(path)
        if scheme is None:
            self._refuse_path(what, path)
        elif "?" in path or "#" in path:  # parts of the name for Spark, its end for us
            hint = "write the folder without file:, or name one without ? and #"
            raise SeineError(f"{what}: an address that Spark reads has no ? or #", hint=hint)
        elif scheme[0].lower() == "file:":
            self._refuse_path(what, os.path.join("/", _split(what, path).path))
        else:
            self._refuse_host(what, _split(what, path).hostname or scheme[0].rstrip(":"), None)

    def _refuse_database(self, what: str, url: str) -> None:
        parts = _split(what, url)
        if parts.scheme.partition("+")[0] == "sqlite":
            file = url.partition("://")[2].removeprefix("/").partition("?")[0]
            if parts.query or not file or _SCHEME.match(file):
                raise SeineError(f"{what}: a service reads sqlite:///file, without parameters")
            self._refuse_path(what, file)
            return
        for host, port in _postgres_hosts(what, url):
            self._refuse_host(what, host, port)

    def _refuse_host(self, what: str, host: str, port: int | None) -> None:
        if not self.reads_from(host, port):
            hint = f"seine serve --source-host {host} allows it"
            raise SeineError(f"{what} would read from {host}, which is not allowed", hint=hint)


def confine(declared: Declarations, known: Declarations, roots: tuple[str, ...]) -> None:
    """Let the files of all sources that are not known yet lie within roots, also those that come later."""
    for name, stream in declared.streams.items():
        if stream is not known.streams.get(name) and stream.source is not None:
            declared.streams[name] = replace(stream, source=replace(stream.source, within=roots))
    for name, relation in declared.relations.items():
        if relation is not known.relations.get(name) and relation.source is not None:
            declared.relations[name] = replace(relation, source=replace(relation.source, within=roots))


def _sink_hosts(sink: SinkDef) -> list[tuple[str, int | None]]:
    if sink.kind == "kafka":
        return addresses(sink.target.partition("://")[2].partition("/")[0].rpartition("@")[2])
    if sink.kind == "postgresql":
        return _postgres_hosts(f"sink {sink.name}", sink.target)
    parts = _split(f"sink {sink.name}", sink.target)
    return [(parts.hostname or "", parts.port or _PORTS.get(parts.scheme.lower(), 80))]


def _postgres_hosts(what: str, url: str) -> list[tuple[str, int | None]]:
    """Every host that the address of a database may lead to; its parameters may name more."""
    address = _POSTGRES.fullmatch(url)
    if address is None or "%" in address["hosts"]:  # libpq reads it before it takes a list of hosts apart
        hint = "write @, #, ? and blanks in names and passwords as %40, %23, %3F and %20, hosts as they are"
        raise SeineError(f"{what}: this is no address of a database", hint=hint)
    given = parse_qsl(address["query"] or "", keep_blank_values=True)
    if elsewhere := next((key for key, _ in given if key in _POSTGRES_ELSEWHERE), None):
        raise SeineError(f"{what}: a service takes no parameter {elsewhere} in the address of a database")
    hosts = addresses(address["hosts"])
    for value in (value for key, value in given if key in _POSTGRES_HOSTS):
        hosts += [(_SOCKET if host.startswith("/") else host, port) for host, port in addresses(value)]
    hosts = hosts or [(_SOCKET, None)]
    ports = [port for key, value in given if key == "port" for port in value.split(",")]
    return hosts + [(host, int(port)) for host, _ in hosts for port in ports if port.isdecimal()]


def _split(what: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port if "," not in parts.netloc else None
    except ValueError:
        raise SeineError(f"{what}: this is no address") from None
    return parts


def _fixed_part(path: str) -> str:
    """The folder in front of the first wildcard of a pattern; the path itself if it has none.

    >>> _fixed_part("/data/in/*/x.jsonl"), _fixed_part("/data/in.jsonl")
    ('/data/in', '/data/in.jsonl')
    """
    while glob.has_magic(path) and not os.path.exists(path):
        path = os.path.dirname(path)
    return path
