"""Value-join normal form: a join predicate becomes equalities of variables, its paths part of the blocks.

before: S//book->b FOLLOWED BY{b//author = g//author, 5} S//blog->g
after:  S//book->b[.//author->u] FOLLOWED BY{u = v, 5} S//blog->g[.//author->v], u and v not reported

A path whose definition is that of a variable *is* that variable, so the same path written twice joins the
same node: `S//book->b[.//author->x]` with `b//author = y` says x = y.

Cites: MMQJP 2 (value-join normal form)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from seine.algebra.tree_pattern import PatternNode, TreePattern, definition
from seine.algebra.tree_pattern_text import print_term


@dataclass(frozen=True)
class JoinTerm:
    """A side of an equality: a variable, perhaps with predicates of its node and a path below it."""

    variable: str
    block: int  # that binds the variable, by number
    at: int  # its offset in the script
    conditions: PatternNode | None = None  # a node that only has the predicates
    path: PatternNode | None = None  # its end is selected


def conditioned(pattern: TreePattern, term: JoinTerm) -> TreePattern:
    """The pattern with the predicates of a term; `x[p] = y` says that x satisfies p."""
    if term.conditions is None:
        return pattern
    tests, children = term.conditions.tests, term.conditions.children

    def add(node: PatternNode) -> PatternNode:
        return replace(node, tests=tuple(dict.fromkeys((*node.tests, *tests)))).with_children(children)

    return pattern.changed(term.variable, add)


def bind_path(pattern: TreePattern, term: JoinTerm) -> tuple[TreePattern, str]:
    """The pattern in which the path of a term ends in a variable, and that variable."""
    if term.path is None:
        return pattern, term.variable
    known = variable_of(pattern, term.variable, term.path)
    if known is not None:
        return pattern, known
    name = print_term(term.variable, term.path)
    path = _hidden(term.path, name)
    return pattern.changed(term.variable, lambda node: node.with_children([path])), name


def variable_of(pattern: TreePattern, above: str, path: PatternNode) -> str | None:
    """The variable whose definition is a path below another variable, if there is one."""
    wanted = definition(_chain(path))
    start = pattern.node_of(above)
    for variable in pattern.variables:
        nodes = pattern.path_to(variable)
        if variable != above and any(node is start for node in nodes):
            below = nodes[next(i for i, node in enumerate(nodes) if node is start) + 1 :]
            if definition(below) == wanted:
                return variable
    return None


def _chain(path: PatternNode) -> tuple[PatternNode, ...]:
    nodes = [path]
    while not nodes[-1].selected:
        nodes.append(next(child for child in nodes[-1].children if child.leads_to_selected))
    return tuple(nodes)


def _hidden(node: PatternNode, name: str) -> PatternNode:
    """A path with a hidden variable at its end."""
    if node.selected:
        return replace(node, variable=name, hidden=True, selected=False)
    return replace(
        node,
        children=tuple(_hidden(one, name) if one.leads_to_selected else one for one in node.children),
    )
