"""`seine explain`: the shared network of a script, as text, JSON, DOT or a picture.

`seine explain SCRIPT [QUERY] --networks`: the ways in which the words of a SEARCH could be connected.

`seine explain SCRIPT --witnesses FILE`: the witness relations of the documents of a file.

The query of a script that a user names.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.document_plan import DocumentQuery, is_published
from seine.algebra.plan import Query
from seine.algebra.search_plan import Search
from seine.algebra.types import Kind
from seine.cli.hosting import add_purging, add_sample, check_writable, chosen_sharing, strategy
from seine.cli.udf_option import add_udf
from seine.documents.document import Document
from seine.documents.match_pattern import TooManyBindings
from seine.documents.parse_document import DocumentFault, decode_document
from seine.documents.path_witnesses import MOST_SHOWN, print_tables, witness_tables
from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.frontends.script.script import Declarations
from seine.intake.files import Files
from seine.intake.record_layout import RecordLayout
from seine.intake.xml_records import DocumentColumns
from seine.keyword_networks.candidate_networks import MOST_TERMS_FOR_NETWORKS, SearchNetworks
from seine.network.network import build_network
from seine.network.show.explain import (
    explain_dot,
    explain_html,
    explain_json,
    explain_text,
    template_json,
    template_text,
    template_users,
)
from seine.runtime.output.overwriting import refuse_overwriting
from seine.runtime.source_samples import samples_json, samples_text, source_estimates
from seine.safety.verdict_story import safety_lines

_ABOUT = "Show the shared network: each node once, with who shares it and why."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("explain", help="what the queries of a script share", description=_ABOUT)
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("query", metavar="QUERY", nargs="?", help="the story of this query")
    parser.add_argument("--query", dest="named", metavar="NAME", help="the same")
    add_purging(parser)
    add_sample(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON")
    form.add_argument("--dot", action="store_true", help="as a Graphviz graph")
    form.add_argument("--html", metavar="FILE", help="as a picture: one HTML file that needs nothing else")
    form.add_argument(
        "--witnesses", metavar="FILE", help="what the blocks of XSCL queries bind in the documents of FILE"
    )
    form.add_argument("--networks", action="store_true", help="how the words of a SEARCH could be connected")
    add_udf(parser)
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    script = read_script(arguments.script)
    declarations = script.declarations
    if arguments.witnesses:
        print(witnesses_text(declarations, arguments.witnesses), end="")
        return 0
    if arguments.networks:
        print(search_networks_text(declarations, arguments.named or arguments.query), end="")
        return 0
    estimates = source_estimates(declarations.tables, arguments.sample)
    queries = declarations.queries.values()
    network = build_network(queries, strategy(arguments, chosen_sharing()), estimates, script.positions)
    name = arguments.named or arguments.query
    query = known_query(name, declarations).name if name is not None else None
    streams, relations = declarations.streams, declarations.relations
    plans = {name: declared.plan for name, declared in declarations.queries.items()}
    states = {
        name: safety_lines(declared.plan, network.joined.get(name, ()) if query is not None else ())
        for name, declared in declarations.queries.items()
        if query in (None, name) and not arguments.dot
    }
    templates = template_users(plans, query) if arguments.html or arguments.dot else {}
    if arguments.html:
        refuse_overwriting([arguments.html], [arguments.script, *declarations.paths])
        check_writable(arguments.html)
        with open(arguments.html, "w", encoding="utf-8") as file:
            file.write(
                explain_html(network, streams, query, relations=relations, states=states, templates=templates)
            )
    elif arguments.json:
        form = explain_json(network, streams, query, relations=relations, states=states)
        samples = samples_json(estimates)
        print(json.dumps({**form, "templates": template_json(plans, query), "samples": samples}, indent=1))
    elif arguments.dot:
        print(explain_dot(network, streams, query, relations=relations, templates=templates), end="")
    else:
        print(explain_text(network, streams, query, relations=relations, states=states), end="")
        print(template_text(plans, query) + samples_text(estimates), end="")
    return 0


_MOST_NETWORKS_SHOWN = 1_000  # there may be millions


def search_networks_text(declarations: Declarations, name: str | None) -> str:
    """The candidate networks of one search, or of all searches of a script, by the number of tuples."""
    if name is not None:
        query = known_query(name, declarations)
        if not isinstance(query.plan, Search):
            raise SeineError(f"'{query.name}' is no SEARCH", hint="candidate networks are those of a SEARCH")
        return _networks(query.name, query.plan)
    plans = {q.name: q.plan for q in declarations.queries.values() if isinstance(q.plan, Search)}
    if not plans:
        raise SeineError("this script has no SEARCH", hint="candidate networks are those of a SEARCH")
    return "\n".join(_networks_or_reason(name, plan) for name, plan in plans.items())


def _networks_or_reason(name: str, plan: Search) -> str:
    """The networks of one of many searches, or why they are not shown."""
    try:
        return _networks(name, plan)
    except SeineError as error:
        return f"{name}: not shown, {error.message}\n"


def _networks(name: str, plan: Search) -> str:
    if len(plan.terms) > MOST_TERMS_FOR_NETWORKS:
        reason = f"'{name}' has {len(plan.terms)} terms, and networks are shown for {MOST_TERMS_FOR_NETWORKS}"
        raise SeineError(reason, hint="ask for a search of fewer words: each one doubles the nodes")
    searched = SearchNetworks.of(plan)
    shown = list(islice(searched.networks(), _MOST_NETWORKS_SHOWN + 1))
    more = len(shown) > _MOST_NETWORKS_SHOWN
    words = " ".join(searched.words)
    count = f"the first {_MOST_NETWORKS_SHOWN:,} networks" if more else _counted(len(shown), "network")
    lines = [f"{name}: '{words}', at most {_counted(plan.max_tuples, 'tuple')}, {count}"]
    for size, networks in groupby(shown[:_MOST_NETWORKS_SHOWN], key=lambda network: len(network.nodes)):
        lines.append(f"  {_counted(size, 'tuple')}")
        lines += [f"    {searched.text(network)}" for network in networks]
    if more:
        lines.append("  and more")
    return "\n".join(lines) + "\n"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def witnesses_text(declarations: Declarations, file: str) -> str:
    """R_binW, R_docW and R_docTSW of each document of a file, which is XML or JSON Lines of a stream.

    Where a stream reads the file, the blocks over that stream count and its documents are those that it makes
    of the file (the items of a feed, by time); else all blocks do.
    """
    plans = {q.name: q.plan for q in declarations.queries.values() if isinstance(q.plan, DocumentQuery)}
    if not plans:
        raise SeineError("this script has no XSCL query", hint="witnesses are of the blocks of XSCL queries")
    known = {block.input.stream.name: block.input.stream for plan in plans.values() for block in plan.blocks}
    fed = [stream for stream in known.values() if _reads(stream, file)]
    names = [stream.name for stream in fed]
    parts = []
    for place, (text, timestamp) in enumerate(_documents(declarations, fed, file), 1):
        try:
            tables = witness_tables(plans, Document(text), names or known)
        except DocumentFault as fault:
            raise SeineError(f"{file}: document {place}: {fault}") from None
        except TooManyBindings:
            hint = "print the witnesses of a smaller document"
            raise SeineError(
                f"{file}: document {place}: more than {MOST_SHOWN:,} bindings", hint=hint
            ) from None
        parts.append(print_tables(tables, f"d{place}", timestamp))
    return "\n\n".join(parts) + "\n"


def _reads(stream: StreamDef, file: str) -> bool:
    """Whether a file is one of those that a stream reads."""
    if stream.source is None or is_published(stream):
        return False
    return os.path.abspath(file) in map(os.path.abspath, Files(stream.source.path).listing())


def _documents(declarations: Declarations, fed: Sequence[StreamDef], file: str) -> Iterator[tuple[str, str]]:
    """The documents of a file, which some streams read, each with its time as text."""
    try:
        with open(file, "rb") as opened:
            raw = opened.read()
        text = decode_document(raw)
    except (OSError, DocumentFault) as error:
        raise SeineError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    sources = [(stream, stream.source) for stream in fed if stream.source and stream.source.format == "XML"]
    if sources:
        yield from _made_of(*sources[0], text, file)
        return
    if text.lstrip().startswith("<"):
        yield text, "-"
        return
    yield from _of_lines(declarations, text, file)


def _made_of(stream: StreamDef, source: Source, text: str, file: str) -> Iterator[tuple[str, str]]:
    """The documents that a stream makes of a file."""
    columns = DocumentColumns(RecordLayout.of(stream), source)
    try:
        for document in columns.documents(text):
            yield document, (columns.texts(document)[stream.time] or "-").strip()
    except DocumentFault as fault:
        raise SeineError(f"{file}: {fault}") from None


def _of_lines(declarations: Declarations, text: str, file: str) -> Iterator[tuple[str, str]]:
    streams = declarations.streams.values()
    documents = {f.name for stream in streams for f in stream.fields if f.type.kind is Kind.XML}
    times = {stream.fields[stream.time].name for stream in streams}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            document = next(record[name] for name in record if name in documents)
        except (ValueError, TypeError, StopIteration):
            hint = "it is an XML document, or JSON Lines of a stream of the script"
            raise SeineError(f"{file}: line {number} has no document", hint=hint) from None
        yield str(document), str(next((record[name] for name in record if name in times), "-"))


def known_query(name: str, declarations: Declarations) -> Query:
    """The query of this name, in any case; refuses a name that no query has."""
    query = declarations.queries.get(name.lower())
    if query is None:
        names = ", ".join(sorted(query.name for query in declarations.queries.values()))
        raise SeineError(f"there is no query '{name}'", hint=f"queries: {names or 'none'}")
    return query
