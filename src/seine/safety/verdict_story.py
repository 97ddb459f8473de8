"""The explanation of a verdict: what frees each state of a query, and its punctuation graph.

Cites: SAFETY 3.2 (chained purge), SAFETY 4.1 (Def 7), SAFETY 4.2 (Def 8)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Plan, Scan
from seine.algebra.plan_text import column_name, interval_text
from seine.algebra.search_plan import Search, unread_columns
from seine.errors import printable
from seine.optimizer.closing_groups import with_all_closing_times
from seine.optimizer.known_empty import is_known_empty
from seine.safety.graph.punctuation_graph import CLOCK, Closer, Graph, punctuated
from seine.safety.graph.purgeable import transformed
from seine.safety.held_punctuations import held_schemes
from seine.safety.plans.safe_plans import THROUGHPUT, JoinOf, Tree, is_safe, schemes_used
from seine.safety.states.check_plan import kept_scans
from seine.safety.states.item_facts import Sources
from seine.safety.states.operator_states import column_names, document_states, result_state, states_of

MOST_STREAMS = 40  # of a query that is explained line by line
MOST_PLANNED = 12  # streams of a query whose join plan is shown
Nested = str | tuple["Nested", ...]  # aliases; what is joined at one place is a tuple


def story(plan: Plan) -> list[str]:
    """A line for each state: what is held, and what frees it."""
    if isinstance(plan, Search):
        return [_search_story(scan) for scan in kept_scans(plan)]
    sources = Sources()
    if isinstance(plan, DocumentQuery):
        states = list(document_states(plan))
    else:
        plan = with_all_closing_times(plan)
        states = [*states_of(plan, sources), *result_state(plan, sources)]
    return list(dict.fromkeys(f"{state.what}: {state.why()}" for state in states))


def _search_story(scan: Scan) -> str:
    """Whether the tuples of a stream that a search keeps go."""
    freed = "its window frees them" if scan.window is not None else "nothing frees them"
    return f"search, tuples of {scan.alias}: {freed}"


def _unread_lines(plan: Search) -> list[str]:
    """In which columns a search looks for no words: all but those of type STRING; times are not named."""
    named = [
        f"{', '.join(columns)} of {column_name(table.name)}"
        for table in plan.graph.tables.values()
        if (columns := [f"{column_name(field.name)} ({field.type})" for field in unread_columns(table)])
    ]
    return [f"words are looked for in STRING columns alone, not in {'; '.join(named)}"] if named else []


def safety_lines(plan: Plan, joined: Sequence[Nested] = ()) -> list[str]:
    """What frees each state, the punctuation graph, how streams are joined that punctuations free, and
    the punctuations that stay.

    There is little to say if windows bound all, and nothing if nothing is kept.
    """
    unread = [printable(line) for line in _unread_lines(plan)] if isinstance(plan, Search) else []
    scans = kept_scans(plan)
    if len(scans) > MOST_STREAMS or is_known_empty(plan):
        return unread
    if isinstance(plan, DocumentQuery):
        return [printable(line) for line in story(plan)]
    if all(scan.window is not None for scan in scans):
        if isinstance(plan, Search):
            return unread
        return _punctuation_lines(plan) if any(scan.stream.schemes for scan in scans) else []
    lines = story(plan)
    if isinstance(plan, Search):
        return [*(printable(line) for line in lines), *unread]
    if graph_edges := edges(plan):
        lines.append(f"punctuation graph: {'; '.join(map(str, graph_edges))}")
    if joined and len(scans) <= MOST_PLANNED:
        lines += _plan_lines(plan, joined)
    sets = circles(plan)
    if len(sets) > 1 and any(len(one) > 1 for one in sets):
        lines.append(f"close one another: {', '.join('{' + ', '.join(one) + '}' for one in sets)}")
    lines += [*_timeout_lines(plan), *_reuse_lines(plan), *_punctuation_lines(plan)]
    return [printable(line) for line in lines]


def _punctuation_lines(plan: Plan) -> list[str]:
    """Which punctuations joins and groups keep for good."""
    return [printable(scheme.line()) for scheme in held_schemes(plan) if not scheme.is_bounded]


def _timeout_lines(plan: Plan) -> list[str]:
    """Which pairs the time-outs of punctuations leave out, so that what waits for a missed one goes."""
    return [
        f"time-out: a tuple of {scan.alias} that is more than {length} later than one with the same"
        f" {punctuated([field.name for field in scan.schema], scheme.columns)} does not join it"
        for scan in kept_scans(plan)
        for scheme in scan.stream.schemes
        if scheme.timeout is not None
        for length in [
            interval_text(scheme.timeout) if scan.stream.domain == "timestamp" else str(scheme.timeout)
        ]
    ]


def _reuse_lines(plan: Plan) -> list[str]:
    """Which pairs values that begin anew leave out."""
    return [
        f"reused: a tuple of {scan.alias} joins none with the same"
        f" {punctuated([field.name for field in scan.schema], scheme.columns)}"
        " from before the end of the last punctuation of it"
        for scan in kept_scans(plan)
        for scheme in scan.stream.schemes
        if scheme.reused
    ]


def _plan_lines(plan: Plan, joined: Sequence[Nested]) -> list[str]:
    """How the streams of the top block are joined, and which schemes are enough for that."""
    block, found_graph = Sources().block(plan)
    graph, columns = found_graph.graph, column_names(block, found_graph)
    names = [item.name for item in graph.items]
    matching = [one for one in joined if sorted(aliases_of(one)) == sorted(names)]
    if not matching or len({*names}) < len(names):
        return []
    tree = _tree(matching[0], names)
    used = schemes_used(graph, tree, THROUGHPUT)
    ordered = sorted(used, key=lambda one: (one[0], one[1].columns))
    schemes = [f"{names[number]}.{punctuated(columns[number], closer.columns)}" for number, closer in ordered]
    is_enough = bool(schemes) and is_safe(graph, tree)
    grows = any(not scheme.is_bounded for scheme in held_schemes(plan))
    what = "are enough for tuples" if grows else "are enough"
    enough = f"; punctuations on {', '.join(schemes)} {what}" if is_enough else ""
    return [f"joined as {_tree_words(tree, names)}{enough}"]


def _tree(joined: Nested, names: Sequence[str]) -> Tree:
    if isinstance(joined, str):
        return names.index(joined)
    return JoinOf(tuple(_tree(one, names) for one in joined))


def aliases_of(joined: Nested) -> list[str]:
    """
    >>> aliases_of((("x", "y"), "z"))
    ['x', 'y', 'z']
    """
    return [joined] if isinstance(joined, str) else [alias for one in joined for alias in aliases_of(one)]


@dataclass(frozen=True)
class GraphEdge:
    """An edge of a punctuation graph: a punctuation of values that `tails` have closes `head`.

    With several tails it is a generalised edge.
    """

    tails: tuple[str, ...]
    head: str
    label: str

    def __str__(self) -> str:
        tails = self.tails[0] if len(self.tails) == 1 else f"{{{', '.join(self.tails)}}}"
        return f"{tails} -> {self.head} by {self.label}"


def _tree_words(tree: Tree, names: Sequence[str]) -> str:
    """A plan as nested brackets: an operator is a pair of brackets around its inputs."""
    if isinstance(tree, int):
        return names[tree]
    return f"({', '.join(_tree_words(child, names) for child in tree.inputs)})"


def circles(plan: Plan) -> list[tuple[str, ...]]:
    """The streams of the top block in sets that close one another."""
    graph = Sources().block(plan)[1].graph
    return [tuple(graph.items[number].name for number in sorted(node)) for node in transformed(graph)]


def edges(plan: Plan) -> list[GraphEdge]:
    """The punctuation graphs of all blocks of a plan; a scheme that nothing can use has no edge.

    Punctuations say nothing of words or of what is inside documents: SEARCH and XSCL have no graph.
    """
    if isinstance(plan, Search | DocumentQuery):
        return []
    return list(dict.fromkeys(_edges(plan, Sources())))


def _edges(plan: Plan, sources: Sources) -> Iterator[GraphEdge]:
    block, graph = sources.block(plan)
    columns = column_names(block, graph)
    givers = _givers(graph.graph)
    for number, item in enumerate(graph.graph.items):
        for closer in item.closers:
            label = "watermark" if closer.kind == CLOCK else punctuated(columns[number], closer.columns)
            yield from _of_closer(graph.graph, number, closer, label, givers)
    for number in graph.items:
        breaker = block.items[number]
        if not isinstance(breaker, Scan):
            for child in breaker.inputs:
                yield from _edges(child, sources)


def _givers(graph: Graph) -> dict[int, frozenset[int]]:
    """For each fact the items that give it, through rules of one fact too."""
    givers: dict[int, set[int]] = {}
    for number, item in enumerate(graph.items):
        for fact in item.gives:
            givers.setdefault(fact, set()).add(number)
    changed = True
    while changed:
        changed = False
        for rule in graph.rules:
            if len(rule.needs) == 1:
                known = givers.get(min(rule.needs), set())
                known_here = givers.setdefault(rule.gives, set())
                changed = changed or not known <= known_here
                known_here |= known
    return {fact: frozenset(known) for fact, known in givers.items()}


def _of_closer(
    graph: Graph, head: int, closer: Closer, label: str, givers: dict[int, frozenset[int]]
) -> Iterator[GraphEdge]:
    """An edge from each item that gives all facts needed; if there is none, one from all that give one."""
    needs = [givers.get(fact, frozenset()) - {head} for fact in closer.needs if fact not in graph.given]
    if not all(needs):
        return
    names = [item.name for item in graph.items]
    if not needs:
        yield GraphEdge(("relations",), names[head], label)
        return
    alone = frozenset.intersection(*needs)
    for number in sorted(alone):
        yield GraphEdge((names[number],), names[head], label)
    if not alone:
        yield GraphEdge(tuple(names[n] for n in sorted(frozenset.union(*needs))), names[head], label)


def to_dot(graphs: dict[str, list[GraphEdge]]) -> str:
    """The punctuation graphs of queries as one Graphviz digraph; a generalised edge meets in a point."""
    lines = ["digraph punctuations {", "  rankdir=LR;", "  node [shape=ellipse, fontname=Helvetica];"]
    for place, (query, graph_edges) in enumerate(graphs.items()):
        lines += [f"  subgraph cluster_{place} {{", f"    label={_quoted(query)};"]
        for number, edge in enumerate(graph_edges):
            lines += _dot_edge(place, number, edge)
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_edge(place: int, number: int, edge: GraphEdge) -> list[str]:
    def node(name: str) -> str:
        return _quoted(f"{place}/{name}")

    shown = [f"    {node(name)} [label={_quoted(name)}];" for name in (*edge.tails, edge.head)]
    label = f"[label={_quoted(edge.label)}]"
    if len(edge.tails) == 1:
        return [*shown, f"    {node(edge.tails[0])} -> {node(edge.head)} {label};"]
    point = node(f"+{number}")
    lines = [f"    {point} [shape=point];", f"    {point} -> {node(edge.head)} {label};"]
    return [*shown, *lines, *(f"    {node(tail)} -> {point} [arrowhead=none];" for tail in edge.tails)]


def _quoted(text: str) -> str:
    escaped = printable(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
