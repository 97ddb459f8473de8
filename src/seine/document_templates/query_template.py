"""Query templates: join graphs up to isomorphism. Queries of one template differ in variables alone.

The template of a query is its graph minor without names, its nodes in canonical order: `var1`, `var2`, ...
are the left ones from the root down, then the right ones. What is left of the query is the name at each of
them, a row of the template relation. The first two queries of the paper are of one template:

    template           var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6
    Q1                 x1   x2    x3      x4   x5    x6
    Q2                 x1   x2    x7      x4   x5    x8

How many templates there are depends on the number of value joins, not on the number of queries.

Differs: mirror images are two templates, as in Table 3 and not as in 6.1: FOLLOWED BY is not symmetric.

Cites: MMQJP 4.1 (Figure 5), 4.2 (Table 3)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seine.document_templates.canonical_labelling import Parents, ValueJoins, canonical_form
from seine.document_templates.graph_minor import reduce_to_minor
from seine.document_templates.join_graph import JoinGraph, VariableTree


@dataclass(frozen=True, order=True)
class QueryTemplate:
    """A join graph without names, in canonical form; hashable, equal for isomorphic graphs."""

    left: Parents
    right: Parents
    value_joins: ValueJoins

    @property
    def nodes(self) -> int:
        """How many metavariables there are."""
        return len(self.left) + len(self.right)

    @property
    def mirrored(self) -> QueryTemplate:
        """The template with its sides exchanged."""
        joins = tuple((right, left) for left, right in self.value_joins)
        return QueryTemplate(*canonical_form(self.right, self.left, joins)[0])

    def __str__(self) -> str:
        shift = len(self.left)
        joins = ", ".join(f"var{a + 1} = var{b + shift + 1}" for a, b in self.value_joins)
        return f"{_nested(self.left, 1)} x {_nested(self.right, shift + 1)}, {joins}"


def _nested(parents: Parents, first: int) -> str:
    """
    >>> _nested((-1, 0, 0, 1, 1), 1)
    'var1(var2(var4, var5), var3)'
    """

    def text(node: int) -> str:
        below = ", ".join(text(child) for child, parent in enumerate(parents) if parent == node)
        return f"var{node + first}({below})" if below else f"var{node + first}"

    return text(0)


@dataclass(frozen=True)
class TemplateRow:
    """A query as its template and the names of its variables, in the order of the metavariables."""

    template: QueryTemplate
    variables: tuple[str, ...]

    @property
    def left(self) -> tuple[str, ...]:
        """The variables of the left block."""
        return self.variables[: len(self.template.left)]

    @property
    def right(self) -> tuple[str, ...]:
        """The variables of the right block."""
        return self.variables[len(self.template.left) :]


def template_row(graph: JoinGraph, minor: bool = True) -> TemplateRow:
    """The template of a join graph and its row; `minor=False` keeps the whole graph.

    Graphs that are equal but for the order in which their nodes are written have the same row.

    >>> book = VariableTree(("x1", "x2", "x3"), (-1, 0, 0))
    >>> blog = VariableTree(("x4", "x5", "x6"), (-1, 0, 0))
    >>> row = template_row(JoinGraph(book, blog, ((1, 1), (2, 2))))
    >>> print(row.template, row.variables)
    var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6 ('x1', 'x2', 'x3', 'x4', 'x5', 'x6')
    """
    reduced = reduce_to_minor(graph) if minor else graph
    left, left_numbers = _ordered(reduced.left, {})
    partners: dict[int, list[int]] = {}
    for one, other in reduced.value_joins:
        partners.setdefault(other, []).append(left_numbers[one])
    right, right_numbers = _ordered(reduced.right, partners)
    joins = tuple(sorted((left_numbers[a], right_numbers[b]) for a, b in reduced.value_joins))
    form, order = canonical_form(left.parents, right.parents, joins)
    names = left.names + right.names
    return TemplateRow(QueryTemplate(*form), tuple(names[node] for node in order))


def _ordered(tree: VariableTree, partners: Mapping[int, Sequence[int]]) -> tuple[VariableTree, list[int]]:
    """The tree with its nodes in an order that depends on names alone, and the new number of each node.

    Level by level: large subtrees first, then by partners of earlier numbers, then by name. So graphs that
    look alike mostly come to be the same already, and few have to be labelled.
    """
    sizes, reached = [1] * len(tree.parents), [sorted(partners.get(n, ())) for n in range(len(tree.parents))]
    for node in range(len(tree.parents) - 1, 0, -1):
        sizes[tree.parents[node]] += sizes[node]
        reached[tree.parents[node]] = sorted(reached[tree.parents[node]] + reached[node])
    order, numbers = [0], [0] * len(tree.parents)
    for number, node in enumerate(order):  # grows while it is read
        numbers[node] = number
        order += sorted(tree.children(node), key=lambda n: (-sizes[n], reached[n], tree.names[n]))
    parents = tuple(-1 if not number else numbers[tree.parents[node]] for number, node in enumerate(order))
    return VariableTree(tuple(tree.names[node] for node in order), parents), numbers
