"""`seine check`: parse, plan and judge a script without running it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Query
from seine.algebra.search_plan import Search
from seine.cli.hosting import add_sample
from seine.cli.udf_option import add_udf
from seine.errors import Position, ScriptError, SeineError, printable
from seine.frontends.script.parser import read_script
from seine.frontends.script.script import Declarations
from seine.network.network import Network, build_network
from seine.network.plan.running_plan import too_large
from seine.network.plan.strategy import TWO_BY_TWO, Strategy
from seine.network.searches.network_plans import network_plans
from seine.runtime.source_samples import samples_json, samples_text, source_estimates
from seine.safety.notes import notes
from seine.safety.verdict import Verdict, verdict
from seine.safety.verdict_story import Nested, aliases_of, edges, safety_lines, to_dot
from seine.sinks.sink_checks import refuse_unfit

_ABOUT = "Parse, plan and safety-check a script: one verdict a query; exit 1 if any is refused."


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check", help="is a script right, and its state bounded?", description=_ABOUT
    )
    parser.add_argument("script", metavar="SCRIPT")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="verdicts as JSON")
    form.add_argument("--dot", action="store_true", help="the punctuation graphs, for Graphviz")
    add_sample(parser, default=0)
    add_udf(parser)
    parser.set_defaults(command=command)


def command(arguments: argparse.Namespace) -> int:
    script = read_script(arguments.script)
    if script.declarations.sinks:
        _check_sinks(script.declarations)
    verdicts = {query.name: _judged(query) for query, _ in script.queries}

    def refuse(query: Query, error: SeineError) -> None:
        """Refuse a query that cannot be placed; what safety says comes first."""
        one = verdicts[query.name]
        if not one.accepted:
            return
        verdicts[query.name] = replace(one, safe=False, accepted=False, reason=error.message, hint=error.hint)

    planned = [query for query, _ in script.queries if _is_planned(query)]
    estimates = source_estimates(script.declarations.tables, arguments.sample)
    network = build_network(planned, estimates=estimates, positions=script.positions, refused=refuse)
    judged = [(verdicts[query.name], query, position) for query, position in script.queries]
    if arguments.json:
        samples = {"samples": samples_json(estimates)} if arguments.sample else {}
        documents = [{**one.to_json(), "notes": [*notes(query)]} for one, query, _ in judged]
        print(json.dumps({"queries": documents, **samples}))
    elif arguments.dot:
        print(to_dot({query.name: edges(query.plan) for _, query, _ in judged}), end="")
    else:
        otherwise = {} if arguments.sample else _other_plans(planned, network, script.positions)
        for one, query, _ in judged:
            said = [f"note: {printable(note)}" for note in notes(query)]
            why = safety_lines(query.plan, network.joined.get(query.name, ()))
            print("\n    ".join([_line(one), *said, *why, *otherwise.get(query.name, ())]))
        print(samples_text(estimates), end="")
    refused = [(one, position) for one, _, position in judged if not one.accepted]
    for one, position in refused:
        print(ScriptError(one.reason, hint=one.hint, where=position).render(), file=sys.stderr)
    return 1 if refused else 0


def _check_sinks(declarations: Declarations) -> None:
    """Refuse sinks that could never deliver, as a run would."""
    for sink in declarations.sinks.values():
        refuse_unfit(sink, declarations)


def _other_plans(
    planned: Sequence[Query], network: Network, positions: Mapping[str, Position]
) -> dict[str, list[str]]:
    """What is said of queries whose streams could be joined by another safe plan, as `seine run` may do: it
    looks at samples of its sources, and nothing is opened here.
    """
    joined = {name: parts for name, parts in network.joined.items() if any(map(_is_of_several, parts))}
    several = [query for query in planned if query.name in joined]
    other = build_network(several, Strategy(plans=TWO_BY_TWO), positions=positions, refused=lambda *_: None)
    line = (
        "seine run looks at samples of the sources first, and may join otherwise: "
        "seine check --sample 1000 shows how"
    )
    return {name: [line] for name, parts in joined.items() if other.joined.get(name, parts) != parts}


def _is_of_several(joined: Nested) -> bool:
    return len(aliases_of(joined)) > 2


def _judged(query: Query) -> Verdict:
    """The verdict; a search by joins is also refused where these cannot do what it asks for."""
    one = verdict(query)
    if one.accepted and isinstance(query.plan, Search) and query.plan.engine != "auto":
        try:
            network_plans(query.plan)
        except SeineError as error:
            return replace(one, safe=False, accepted=False, reason=error.message, hint=error.hint)
    return one


def _is_planned(query: Query) -> bool:
    """A query that is too large for a network is judged all the same; SEARCH and XSCL have no join orders.

    What XSCL publishes may be read by queries that have.
    """
    if isinstance(query.plan, Search | DocumentQuery):
        return isinstance(query.plan, DocumentQuery) and query.plan.publish is not None
    return too_large(query.plan) is None


def _line(judged: Verdict) -> str:
    word = "safe   " if judged.safe else "by wish" if judged.accepted else "REFUSED"
    return printable(f"{word}  {judged.query}: {judged.reason}")
