"""How frequent the edges of a document join are, by samples of the documents that come together.

    channel = channel    one pair in 100        level 5
    title = title        one pair in 100,000    level 0: rarer than can be seen

Of each step with new documents on both sides a few hundred of them are compared, all with all, and the
counts are kept in the state. An edge's *level* is the logarithm of its share, coarse enough to be steady.
Levels order the edges of classes: a pair of documents is formed by the rarest edge of a class, so a value
that very many documents have costs only queries that ask for nothing rarer.

Law: levels depend on the documents that came, not on their order within a step, and no answer depends on
levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seine.algebra.arrays import IntArray
from seine.operators.documents.held_documents import FlatWitnesses, NewDocuments
from seine.operators.documents.join_classes import JoinClasses, Orientation, known_places
from seine.operators.state.store import Store
from seine.rows.pairs import ranges

_SAMPLED_DOCUMENTS = 256  # of each side, in one step
_MOST_PAIRS_COUNTED = 1 << 24  # then older samples count half
_LEAST_MATCHES = 4  # fewer may be chance
_RAREST = -16  # the binary logarithm of the share at which levels begin


def edge_levels(
    orientation: Orientation, left: NewDocuments | None, right: NewDocuments | None, store: Store
) -> IntArray:
    """The level of each edge, after a look at the new documents."""
    kept = store.head.setdefault("frequency", {})
    counts: dict[str, Any] = kept.setdefault(str(orientation.left), {"pairs": 0, "edges": {}})
    if left is not None and right is not None:
        _count(orientation, left, right, counts)
    return _levels(orientation.classes, counts)


def _count(orientation: Orientation, left: NewDocuments, right: NewDocuments, counts: dict[str, Any]) -> None:
    classes = orientation.classes
    sides = [(left, _sampled(left)), (right, _sampled(right))]
    places = _matches(classes, *(_part(new, chosen) for new, chosen in sides), same=left is right)
    if counts["pairs"] > _MOST_PAIRS_COUNTED:
        counts["pairs"] //= 2
        counts["edges"] = {code: count // 2 for code, count in counts["edges"].items() if count > 1}
    counts["pairs"] += len(sides[0][1]) * len(sides[1][1])
    edges, numbers = np.unique(places, return_counts=True)
    for code, number in zip(classes.codes[edges].tolist(), numbers.tolist(), strict=True):
        counts["edges"][str(code)] = counts["edges"].get(str(code), 0) + number


def _sampled(new: NewDocuments) -> IntArray:
    """The documents with the least keys: as good as any, and the same in whichever order they came."""
    return np.argsort(new.keys, kind="stable")[:_SAMPLED_DOCUMENTS]


def _part(new: NewDocuments, chosen: IntArray) -> FlatWitnesses:
    mask = np.zeros(len(new.keys), bool)
    mask[chosen] = True
    return new.witnesses.take(np.flatnonzero(mask[new.witnesses.document]))


def _matches(classes: JoinClasses, left: FlatWitnesses, right: FlatWitnesses, *, same: bool) -> IntArray:
    """The edge of each two equal values."""
    left = left.take(known_places(left.pattern, classes.left_patterns))
    right = right.take(known_places(right.pattern, classes.right_patterns))
    order = np.argsort(right.value, kind="stable")
    ordered = right.value[order]
    low, high = np.searchsorted(ordered, left.value), np.searchsorted(ordered, left.value, "right")
    edges = [np.zeros(0, np.int64)]
    for ours, theirs in ranges(low, high):
        others = order[theirs]
        places = classes.places(left.pattern[ours], right.pattern[others])
        held = places >= 0
        if same:
            held &= left.document[ours] != right.document[others]
        edges.append(places[held])
    return np.concatenate(edges)


def _levels(classes: JoinClasses, counts: dict[str, Any]) -> IntArray:
    levels = np.zeros(len(classes.codes), np.int64)
    matched = {int(code): n for code, n in counts["edges"].items() if n >= _LEAST_MATCHES}
    if matched:
        codes = np.array(sorted(matched), np.int64)
        shares = np.array([matched[code] for code in codes.tolist()]) / max(counts["pairs"], 1)
        places = np.searchsorted(classes.codes, codes)
        places[places == len(classes.codes)] = 0
        known = classes.codes[places] == codes
        steps = np.maximum(np.floor(np.log2(shares)).astype(np.int64) - _RAREST, 0) // 2 + 1
        levels[places[known]] = steps[known]
    return levels
