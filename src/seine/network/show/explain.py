"""Showing the network: each node once, with who shares it and why.

The templates of XSCL queries as `explain` shows them: each once, with the queries that have it.

templates of XSCL queries: 2
    var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6: 3 queries: q1, q2, q4
    var1 x var2, var1 = var2: 1 query: q3
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from seine.algebra.plan import Plan
from seine.document_templates.templates_of_plans import queries_by_template, templates_of
from seine.errors import printable
from seine.graph.node import Node
from seine.graph.node_kinds import node_to_json
from seine.network.network import Network
from seine.network.show.labels import Labels, NodeLine, Relations, States, Streams, explain_lines, known_query
from seine.network.show.picture import Templates, draw
from seine.network.show.query_story import Story
from seine.network.show.wording import count, enumerate_names

LINE_LENGTH = 110
_BREAKS = re.compile(r"(?<=[,:;])(?= )|(?= AND | where )")


def explain_text(
    network: Network,
    streams: Streams,
    query: str | None = None,
    *,
    relations: Relations | None = None,
    states: States | None = None,
) -> str:
    """Each node once: id, kind, inputs, stage, what it does, what passes it, and who shares it and why.

    Of one query, its story instead, with what `states` says about it.
    """
    if query is not None:
        return story_text(network, streams, query, relations=relations, states=states)
    lines = explain_lines(network, streams, relations=relations)
    return "\n".join([_headline(network), *map(_text, lines)]) + "\n"


def story_text(
    network: Network,
    streams: Streams,
    query: str,
    *,
    relations: Relations | None = None,
    states: States | None = None,
) -> str:
    """What one query uses, with whom it shares that and why; what was inferred, covered, and is freed."""
    known_query(network, query)
    story = Story(Labels(network, streams, relations or {}), query)
    inferred = [wrapped("inferred from its conditions:", *story.inferred())] if story.inferred() else []
    chapters = [wrapped(_head(chapter.node, chapter.text), *chapter.says) for chapter in story.chapters()]
    freed = [wrapped("what it holds:", *held)] if (held := (states or {}).get(query)) else []
    return "\n".join([_headline(network), *_fold(story.headline(), ""), *inferred, *chapters, *freed]) + "\n"


def _headline(network: Network) -> str:
    counts = explain_counts(network)
    parts = [count(counts["nodes"], "node"), count(counts["joins"], "join")]
    parts += [count(counts["queries"], "query", "queries"), count(network.depth, "stage")]
    return f"network version {network.version}: {', '.join(parts)}"


def explain_counts(network: Network) -> dict[str, int]:
    """How many nodes, joins and queries there are."""
    joins = sum(node.is_join for node in network.nodes.values())
    return {"nodes": len(network.nodes), "joins": joins, "queries": len(network.queries)}


def _text(line: NodeLine) -> str:
    return wrapped(_head(line.node, line.text), *line.details, _sharing(line))


def _head(node: Node, text: str) -> str:
    inputs = "".join(f" #{i}" for i in node.inputs)
    return f"#{node.id} {node.kind}{inputs} [stage {node.stage}]: {text}"


def wrapped(head: str, *details: str) -> str:
    """A head and what belongs to it, in lines of a legible length."""
    lines = [part for text in details for part in _fold(text, "    ")]
    return "\n".join([*_fold(head, ""), *lines])


def _fold(text: str, indent: str) -> list[str]:
    """Lines that break before AND, or after a comma."""
    lines = [indent]
    for part in _BREAKS.split(printable(text)):
        if len(lines[-1]) + len(part) > LINE_LENGTH and lines[-1].strip():
            lines.append(" " * 8 + part.lstrip())
        else:
            lines[-1] += part
    return lines


def _sharing(line: NodeLine) -> str:
    names = enumerate_names(line.users) or "queries to come"
    return f"shared by {names}: {line.reason}" if line.reason else f"for {names}"


def explain_json(
    network: Network,
    streams: Streams,
    query: str | None = None,
    *,
    relations: Relations | None = None,
    states: States | None = None,
) -> dict[str, Any]:
    """The same as JSON values: counts, the nodes with inputs, users and full definition, and states."""
    lines = explain_lines(network, streams, query, relations=relations)
    return {
        "version": network.version,
        **explain_counts(network),
        "depth": network.depth,
        "network": [_form(line) for line in lines],
        "states": {name: list(held) for name, held in (states or {}).items() if query in (None, name)},
    }


def _form(line: NodeLine) -> dict[str, Any]:
    return {
        "id": line.node.id,
        "kind": line.node.kind,
        "inputs": list(line.node.inputs),
        "stage": line.node.stage,
        "stateful": line.node.stateful,
        "description": line.text,
        "details": list(line.details),
        "users": list(line.users),
        "shared": line.reason,
        "node": node_to_json(line.node),
    }


def explain_dot(
    network: Network,
    streams: Streams,
    query: str | None = None,
    *,
    relations: Relations | None = None,
    templates: Templates | None = None,
) -> str:
    """The same as a Graphviz digraph, streams on the left; shared nodes are filled, templates are notes."""
    lines = explain_lines(network, streams, query, relations=relations)
    nodes = [
        f"  n{line.node.id} [label={_quoted(f'#{line.node.id} {line.node.kind}', line.text)}"
        + (", style=filled, fillcolor=lightgrey" if line.reason else "")
        + "];"
        for line in lines
    ]
    edges = [f"  n{i} -> n{line.node.id};" for line in lines for i in line.node.inputs]
    head = ["digraph seine {", "  rankdir=LR;", "  node [shape=box, fontname=Helvetica];"]
    notes = [
        f"  t{number} [shape=note, label={_quoted('template', *_template_lines(text, users))}];"
        for number, (text, users) in enumerate((templates or {}).items(), 1)
    ]
    return "\n".join([*head, *nodes, *edges, *notes, "}"]) + "\n"


def _template_lines(text: str, users: Sequence[str]) -> tuple[str, str]:
    return text, f"{count(len(users), 'query', 'queries')}: {enumerate_names(users)}"


def _quoted(*lines: str) -> str:
    escaped = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def explain_html(
    network: Network,
    streams: Streams,
    query: str | None = None,
    *,
    relations: Relations | None = None,
    states: States | None = None,
    templates: Templates | None = None,
) -> str:
    """The same as one self-contained page with a picture of the network."""
    lines = explain_lines(network, streams, query, relations=relations)
    return draw(lines, _headline(network), states, templates)


def template_text(plans: Mapping[str, Plan], query: str | None = None) -> str:
    """The templates of all queries, or those of one query and how many others have each; empty if none."""
    by_template = queries_by_template(plans)
    shown = list(by_template) if query is None else [row.template for row in templates_of(plans[query])]
    if not shown:
        return ""
    if query is not None:
        others = [(template, len(by_template[template]) - 1) for template in shown]
        lines = [
            f"{template}: {count(number, 'other query', 'other queries')}" for template, number in others
        ]
        return wrapped("its template:" if len(lines) == 1 else "its templates:", *lines) + "\n"
    lines = [
        f"{template}: {count(len(names), 'query', 'queries')}: {enumerate_names(names)}"
        for template, names in by_template.items()
    ]
    return wrapped(f"templates of XSCL queries: {len(lines):,}", *lines) + "\n"


def template_users(plans: Mapping[str, Plan], query: str | None = None) -> Templates:
    """The templates of all queries, or of one, each in words with the queries that have it."""
    return {
        str(template): names
        for template, names in queries_by_template(plans).items()
        if query is None or query in names
    }


def template_json(plans: Mapping[str, Plan], query: str | None = None) -> list[dict[str, Any]]:
    """The templates of all queries, or of one, with the queries that have each."""
    return [
        {"template": template, "queries": [*names]}
        for template, names in template_users(plans, query).items()
    ]
