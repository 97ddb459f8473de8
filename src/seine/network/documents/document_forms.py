"""From the plan of a query of documents to its forms: numbered variables, paths, bounds of time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery
from seine.algebra.tree_pattern import PatternNode, TreePattern
from seine.documents.path_automaton import path_pattern
from seine.operators.documents.document_form import DocumentForm, FormBlock, FormItem
from seine.operators.documents.join_classes import NO_TIME_BOUND

T = TypeVar("T")
Bounds = tuple[int, int]  # of right time - left time, inclusive


def chain_of(plan: DocumentJoin | DocumentBlock) -> tuple[DocumentBlock, list[DocumentJoin]]:
    """The first block of a chain, and its joins from left to right."""
    joins: list[DocumentJoin] = []
    while isinstance(plan, DocumentJoin):
        joins.insert(0, plan)
        plan = plan.left
    return plan, joins


def bounds_of(join: DocumentJoin) -> Bounds:
    """How far apart the operands of a join may be in time."""
    most = NO_TIME_BOUND if join.within is None else join.within
    return (1 if join.ordered else -most), most


def rounded(bounds: Bounds) -> Bounds:
    """Bounds that are at least as wide, and few: ends of a power of two.

    >>> rounded((1, 100)), rounded((-5, 5)), rounded((1, 0))
    ((1, 128), (-8, 8), (1, 1))
    """
    low, high = bounds
    most = min(1 << max(high - 1, 0).bit_length(), NO_TIME_BOUND)
    return (low if low > 0 else -most if low < 0 else min(low, 0), most)


def form_block(pattern: TreePattern, alone: bool) -> FormBlock:
    """A pattern with its variables called by number; one alone without any tells selected nodes apart."""
    return _remembered(pattern, f"_form{alone}", lambda: _form_block(pattern, alone))


def _form_block(pattern: TreePattern, alone: bool) -> FormBlock:
    names, reported = list(pattern.variables), [pattern.variables.index(one) for one in pattern.reported]
    telling = list(reported)
    if alone and not reported:
        pattern = TreePattern(_with_selected_bound(pattern.root), pattern.any_namespace)
        names = list(pattern.variables)
        telling = [names.index(next(n.variable for n in pattern.root.walk() if n.selected) or "")]
    numbers = {name: str(number) for number, name in enumerate(names)}
    plain = TreePattern(_numbered(pattern.root, numbers), pattern.any_namespace)
    return FormBlock(plain, tuple(names), tuple(reported), tuple(telling))


def _with_selected_bound(node: PatternNode) -> PatternNode:
    if node.selected:
        return node if node.variable is not None else replace(node, variable=" selected", hidden=True)
    return replace(node, children=tuple(map(_with_selected_bound, node.children)))


def _numbered(node: PatternNode, numbers: dict[str, str]) -> PatternNode:
    variable = None if node.variable is None else numbers[node.variable]
    children = tuple(_numbered(child, numbers) for child in node.children)
    return replace(node, variable=variable, hidden=False, children=children)


def path_text(pattern: TreePattern, variable: str | None) -> str:
    """The steps from the root to a variable, or to the selected node, without predicates, as JSON."""
    return _remembered(pattern, f"_path {variable}", lambda: _path_text(pattern, variable))


def _remembered(pattern: TreePattern, name: str, make: Callable[[], T]) -> T:
    """What follows from a pattern, kept with it: queries of a script share the patterns of their blocks."""
    known = pattern.__dict__  # frozen, but this follows from its fields
    if name not in known:
        known[name] = make()
    value: T = known[name]
    return value


def _path_text(pattern: TreePattern, variable: str | None) -> str:
    if variable is not None:
        return json.dumps(path_pattern(pattern, variable), separators=(",", ":"))
    path = _selected_path(pattern.root)
    return json.dumps([[node.axis, node.name, node.is_attribute] for node in path], separators=(",", ":"))


def _selected_path(node: PatternNode) -> tuple[PatternNode, ...]:
    trunk = [child for child in node.children if child.leads_to_selected]
    return (node, *(_selected_path(trunk[0]) if trunk else ()))


def single_form(plan: DocumentQuery, block: DocumentBlock, most: int | None) -> DocumentForm:
    """The form of a query of one block that delivers at most so many records."""
    return DocumentForm(None, form_block(block.pattern, True), (), _items(plan), most=_wanted(plan, most))


def join_form(
    plan: DocumentQuery, first: DocumentBlock, joins: Sequence[DocumentJoin], place: int, most: int | None
) -> DocumentForm:
    """The form of one join of a chain, of a query that delivers at most so many records."""
    join, is_last = joins[place], place == len(joins) - 1
    left = form_block(first.pattern, False) if place == 0 else None
    later = {name for one in joins[place + 1 :] for name, _ in one.equalities}
    bound = {
        name
        for part in (first, *(one.right for one in joins[: place + 1]))
        for name in part.pattern.variables
    }
    carried = None if is_last else tuple(sorted(later & bound))
    right, wanted = form_block(join.right.pattern, False), _wanted(plan, most) if is_last else None
    return DocumentForm(left, right, join.equalities, _items(plan), carried, wanted)


def _wanted(plan: DocumentQuery, most: int | None) -> int | None:
    """How many bindings of one pair are wanted at most; what a query publishes is not limited."""
    return None if plan.publish is not None else most


def _items(plan: DocumentQuery) -> tuple[FormItem, ...] | None:
    if plan.select is None:
        return None
    return tuple(FormItem(item.variable, item.path) for item in plan.select)
