"""`seine explain SCRIPT [QUERY] --networks`: the ways in which the words of a SEARCH could be connected."""

from __future__ import annotations

from itertools import groupby, islice

from seine.algebra.search_plan import Search
from seine.cli.known_query import known_query
from seine.errors import SeineError
from seine.frontends.script.script import Declarations
from seine.keyword_networks.networks_of_search import MOST_TERMS_FOR_NETWORKS, SearchNetworks

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
