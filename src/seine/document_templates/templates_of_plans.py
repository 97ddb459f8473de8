"""Templates of XSCL plans: the join graph of each operator, and which queries have one template.

A pattern node becomes a node of the join graph. It is named by its definition: stream, path, and on every
step the conditions and branches that no value join reaches. So what the graph minor takes out is still in the
names of what stays:

    S//book[isbn]->b[.//author->x][.//title->t] with x and t joined

    names     s//book[./isbn]    s//book[./isbn]//author    s//book[./isbn]//title

The left operand of a later operator has several blocks; they hang from a node of their own, which the minor
removes unless two of them are joined.

Cites: MMQJP 4.1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from seine.algebra.document_plan import DocumentBlock, DocumentJoin, blocks_of
from seine.algebra.plan import Plan, walk
from seine.algebra.tree_pattern import PatternNode, print_path
from seine.document_templates.query_template import (
    JoinGraph,
    QueryTemplate,
    TemplateRow,
    VariableTree,
    template_row,
)


def templates_of(plan: Plan) -> Iterator[TemplateRow]:
    """The template and the variables of each join operator of an XSCL query, the innermost first."""
    joins = [part for part in walk(plan) if isinstance(part, DocumentJoin)]
    return (template_row(join_graph_of(join)) for join in reversed(joins))


def queries_by_template(plans: Mapping[str, Plan]) -> dict[QueryTemplate, list[str]]:
    """The names of the queries that have each template, largest first; none of queries without a join."""
    queries: dict[QueryTemplate, list[str]] = {}
    for name, plan in plans.items():
        for template in dict.fromkeys(row.template for row in templates_of(plan)):
            queries.setdefault(template, []).append(name)
    return dict(sorted(queries.items(), key=lambda item: (-len(item[1]), item[0])))


def join_graph_of(join: DocumentJoin) -> JoinGraph:
    """The join graph of one operator."""
    joined = {name for pair in join.equalities for name in pair}
    left, right = (_Tree.of(operand, joined) for operand in (join.left, join.right))
    joins = dict.fromkeys((left.variables[a], right.variables[b]) for a, b in join.equalities)
    return JoinGraph(left.tree, right.tree, tuple(joins))


@dataclass
class _Tree:
    """The tree of one operand as it is put together, and the node of each variable."""

    names: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    variables: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, operand: DocumentJoin | DocumentBlock, joined: Set[str]) -> _Tree:
        tree, blocks = cls(), list(blocks_of(operand))
        above = tree.add("blocks", -1) if len(blocks) > 1 else -1
        for number, block in enumerate(blocks):
            stream = block.input.stream
            start = f"{stream.name}.{stream.fields[block.column].name}"
            start = f"{start} any namespace " if block.pattern.any_namespace else start
            tree.grow(block.pattern.root, above, f"{number} {start}" if len(blocks) > 1 else start, joined)
        return tree

    @property
    def tree(self) -> VariableTree:
        return VariableTree(tuple(self.names), tuple(self.parents))

    def grow(self, node: PatternNode, parent: int, above: str, joined: Set[str]) -> None:
        """Add a pattern node, below the node and the definition above it, and all that starts from it."""
        definition = above + _definition(node, joined)
        number = self.add(definition, parent)
        if node.variable is not None:
            self.variables[node.variable] = number
        for child in node.children:
            self.grow(child, number, definition, joined)

    def add(self, name: str, parent: int) -> int:
        """Add a node; one with a name that is there already gets a number to it."""
        again = sum(one.partition(" #")[0] == name for one in self.names)
        self.names.append(f"{name} #{again + 1}" if again else name)
        self.parents.append(parent)
        return len(self.names) - 1


def _definition(node: PatternNode, joined: Set[str]) -> str:
    """A step with its conditions and the branches that no value join reaches."""
    branches = [child for child in node.children if not any(one.variable in joined for one in child.walk())]
    predicates = sorted(f"[.{print_path(_bare(child))}]" for child in branches)
    return print_path(replace(_bare(node), children=())) + "".join(predicates)


def _bare(node: PatternNode) -> PatternNode:
    """A pattern without variables."""
    children = tuple(map(_bare, node.children))
    return replace(node, variable=None, hidden=False, selected=False, children=children)
