"""The bindings of a flat tree pattern: one step, and steps to leaves below it, nothing more.

    //item->v0[./title->v1][.//author->v2][./link]       flat
    //item->v0[./author->v1[./name]]                     not: a step below a leaf
    //item->v0[./price->v1[. > 10]]                      not: a condition

Most subscriptions to feeds are of this form, and for it looking up names in the order of the document is all
there is to do.

Law: the bindings, and the selected node of each, are those of `match_pattern`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import product
from math import prod

from seine.algebra.tree_pattern import CHILD, PatternNode, TreePattern
from seine.documents.document import Document, DocumentNode

FlatBindings = dict[tuple[DocumentNode, ...], DocumentNode]
WORK_PER_BINDING = 20  # nodes and combinations that may be tried for each binding that is allowed
LEAST_WORK = 500_000  # that may be tried however few bindings are allowed


def is_flat(pattern: TreePattern) -> bool:
    """Whether `flat_bindings` can evaluate a pattern."""
    known = pattern.__dict__  # frozen, but this follows from its fields
    if "_flat" not in known:
        root = pattern.root
        known["_flat"] = _is_plain(root) and all(_is_plain(one) and not one.children for one in root.children)
    flat: bool = known["_flat"]
    return flat


def _is_plain(step: PatternNode) -> bool:
    return not step.tests and not step.is_attribute and not step.name.startswith("{")


def flat_bindings(pattern: TreePattern, document: Document, limit: int) -> FlatBindings | None:
    """The bindings of a flat pattern, and what is selected with each.

    None if there are more than `limit`, or if far more nodes and combinations have to be tried.
    """
    root, total, work = pattern.root, FlatBindings(), max(LEAST_WORK, limit * WORK_PER_BINDING)
    for top in document.named(root.name, pattern.any_namespace):
        if root.axis == CHILD and top:
            break  # there is one root
        parts: list[Sequence[int]] = [(top,)] if root.variable is not None else []
        selected: int | None = top if root.selected else None
        place = -1  # of the selected leaf in a binding
        for leaf in root.children:
            nodes, tried = _below(leaf, document, top, pattern.any_namespace)
            work -= tried
            if not nodes or work < 0:
                break
            if leaf.variable is not None:
                place = len(parts) if leaf.selected else place
                parts.append(nodes)
            elif leaf.selected:
                selected = nodes[0]
        else:
            count = prod(map(len, parts))
            work -= count
            if count > limit:
                return None
            for key in product(*parts):
                chosen = key[place] if selected is None else selected
                known = total.get(key)
                if known is None or chosen < known:  # type: ignore[operator]  # both are elements
                    total[key] = chosen
        if work < 0 or len(total) > limit:
            return None
    return total


def _below(leaf: PatternNode, document: Document, top: int, any_namespace: bool) -> tuple[Sequence[int], int]:
    """The elements to which a step leads from an element, ascending, and how many were tried."""
    numbers = document.named(leaf.name, any_namespace)
    inside = numbers[bisect_right(numbers, top) : bisect_left(numbers, document.end[top])]
    if leaf.axis == CHILD:
        parent = document.parent
        return [node for node in inside if parent[node] == top], len(inside)
    return inside, len(inside)
