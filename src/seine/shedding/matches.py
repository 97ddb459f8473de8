"""Incrementally maintained match counts: how many results each tuple would make with the other windows.

Tuples of a stream with the same tokens are a *group*: they have the same matches, which are kept once. When a
tuple enters or leaves a window, the counts of the groups that share a token with it change.

Law: matches[i][g] = sum, over the tokens of group g of stream i, of the product, over the other
streams on the token's edge, of how many tuples with that token the stream's window holds.

    >>> both = Matches(2, ((0, 1),))
    >>> left, right = both.enter(0, (7, 8)), both.enter(1, (8,))
    >>> both.hold(1, right), both.hold(1, right)
    (None, None)
    >>> int(both.matches[0][left])
    2

Cites: STAR 3.2 (mn)
"""

from __future__ import annotations

from math import prod

import numpy as np

from seine.algebra.arrays import FloatArray

Edges = tuple[tuple[int, ...], ...]


def others_on(edges: Edges, stream: int) -> Edges:
    """For each edge the other streams on it; none if this stream is not on it.

    >>> others_on(((0, 1), (1, 2)), 0)
    ((1,), ())
    """
    return tuple(tuple(o for o in edge if o != stream) if stream in edge else () for edge in edges)


class Matches:
    """The groups of every stream, and their match counts.

    An edge is the tuple of streams whose tuples have its tokens; token f is of edge f % len(edges).
    `matches[i][g]` is the count of group g of stream i, `fresh[i]` what the current instant added to counts.
    """

    def __init__(self, streams: int, edges: Edges) -> None:
        self._edges = edges
        self._held: list[dict[int, int]] = [{} for _ in range(streams)]
        self._carriers: list[dict[int, list[int]]] = [{} for _ in range(streams)]
        self._groups: list[dict[tuple[int, ...], int]] = [{} for _ in range(streams)]
        self._members: list[list[int]] = [[] for _ in range(streams)]
        self._free: list[list[int]] = [[] for _ in range(streams)]
        self.tokens: list[list[tuple[int, ...]]] = [[] for _ in range(streams)]
        self.matches: list[FloatArray] = [np.zeros(16) for _ in range(streams)]
        self.fresh: list[dict[int, int]] = [{} for _ in range(streams)]

    def enter(self, stream: int, tokens: tuple[int, ...]) -> int:
        """The group of a tuple, created if need be; each `enter` is followed by one `leave`."""
        group = self._groups[stream].get(tokens)
        if group is None:
            group = self._new_group(stream, tokens)
        self._members[stream][group] += 1
        return group

    def leave(self, stream: int, group: int) -> None:
        """A tuple of the group is gone; the last one takes the group with it."""
        self._members[stream][group] -= 1
        if not self._members[stream][group]:
            self._forget(stream, group)

    def hold(self, stream: int, group: int) -> None:
        """A tuple of the group enters its window: add it to the counts of other streams, and to `fresh`."""
        for token in self.tokens[stream][group]:
            for other, more, group_of_other in self._affected(stream, token):
                self.matches[other][group_of_other] += more
                fresh = self.fresh[other]
                fresh[group_of_other] = fresh.get(group_of_other, 0) + more
            self._held[stream][token] = self._held[stream].get(token, 0) + 1

    def release(self, stream: int, group: int) -> None:
        """A tuple of the group leaves its window: subtract it from the counts of other streams."""
        held = self._held[stream]
        for token in self.tokens[stream][group]:
            for other, less, group_of_other in self._affected(stream, token):
                self.matches[other][group_of_other] -= less
            held[token] -= 1
            if not held[token]:
                del held[token]

    def _affected(self, stream: int, token: int) -> list[tuple[int, int, int]]:
        """For one token (other stream, combinations that one tuple more makes, group of that stream)."""
        edge = self._edges[token % len(self._edges)]
        affected = []
        for other in edge:
            if other != stream and (groups := self._carriers[other].get(token)):
                rest = prod(self._held[third].get(token, 0) for third in edge if third not in (stream, other))
                if rest:
                    affected += [(other, rest, group) for group in groups]
        return affected

    def _new_group(self, stream: int, tokens: tuple[int, ...]) -> int:
        if self._free[stream]:
            group = self._free[stream].pop()
            self.tokens[stream][group] = tokens
        else:
            group = len(self.tokens[stream])
            self.tokens[stream].append(tokens)
            self._members[stream].append(0)
            if group == len(self.matches[stream]):
                self.matches[stream] = np.concatenate([self.matches[stream], np.zeros(group)])
        self._groups[stream][tokens] = group
        for token in tokens:
            self._carriers[stream].setdefault(token, []).append(group)
        self.matches[stream][group] = sum(self._combinations(stream, token) for token in tokens)
        return group

    def _combinations(self, stream: int, token: int) -> int:
        edge = self._edges[token % len(self._edges)]
        return prod(self._held[other].get(token, 0) for other in edge if other != stream)

    def _forget(self, stream: int, group: int) -> None:
        carriers = self._carriers[stream]
        for token in self.tokens[stream][group]:
            carriers[token].remove(group)
            if not carriers[token]:
                del carriers[token]
        del self._groups[stream][self.tokens[stream][group]]
        self._free[stream].append(group)
