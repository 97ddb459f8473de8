"""`seine explain`: the shared network of a script, as text, JSON, DOT or a picture."""

from __future__ import annotations

import argparse
import json

from seine.cli.hosting import add_purging, add_sample, add_sharing, check_writable, strategy
from seine.cli.known_query import known_query
from seine.cli.search_networks import search_networks_text
from seine.cli.udf_option import add_udf
from seine.cli.witnesses import witnesses_text
from seine.frontends.script.script_file import read_script
from seine.network.network import build_network
from seine.network.show.explain import explain_dot, explain_html, explain_json, explain_text
from seine.network.show.template_lines import template_json, template_text, template_users
from seine.runtime.output.overwriting import refuse_overwriting
from seine.runtime.source_samples import samples_json, samples_text, source_estimates
from seine.safety.verdict_story import safety_lines

_ABOUT = "Show the shared network: each node once, with who shares it and why."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("explain", help="what the queries of a script share", description=_ABOUT)
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("query", metavar="QUERY", nargs="?", help="the story of this query")
    parser.add_argument("--query", dest="named", metavar="NAME", help="the same")
    add_sharing(parser)
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
    network = build_network(queries, strategy(arguments), estimates, script.positions)
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
