"""The safety checking algorithm: which items of a block are purgeable, for all of them at once.

An item's state is purgeable if what is closed for one of its rows is everything, or has an item
whose rows expire. Asking each item by itself would be quadratic. Instead, edges that need one fact
are contracted to components: without generalised edges an item reaches everything if and only if it is
in the only component that no other leads to, so one pass over the graph decides. With generalised
edges each component learns, as a set of bits, from which components it is reached, in sweeps until
nothing is added.

Cites: SAFETY 4.1 (Thm 1), SAFETY 4.2 (Thm 3), SAFETY 4.3 (safety checking algorithm)

The transformed punctuation graph: streams that close one another merge, until no more do.

A node is a set of streams of which each closes all others. It has an edge to another node if what
its streams know is enough for a closer of one of that node's streams. Nodes on a cycle merge, and
then know more together. If one node is left, every stream closes every other.

Cites: SAFETY 4.3 (Def 11, Thm 5)
Differs: Def 11 adds an edge by a scheme of several columns only from a merged node; a single stream
that knows all of them has one too, else Thm 5 fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from seine.safety.graph.punctuation_graph import Closure, Graph, closure


def components(edges: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """The component of each node, and how many there are.

    `edges` has the successors of each node. Components are numbered so that an edge between two of
    them leads to the smaller number. The work is linear in nodes and edges.

    >>> components([[1], [0, 2], [], [2]])
    ([1, 1, 0, 2], 3)
    """
    count = len(edges)
    order = [-1] * count  # when a node was reached
    low = [0] * count
    component = [-1] * count
    stack: list[int] = []
    reached = count_found = 0
    for root in range(count):
        if order[root] >= 0:
            continue
        path = [(root, 0)]
        while path:
            node, place = path.pop()
            if place == 0:
                order[node] = low[node] = reached
                reached += 1
                stack.append(node)
            following = edges[node]
            if place:
                low[node] = min(low[node], low[following[place - 1]])
            while place < len(following):
                after = following[place]
                place += 1
                if order[after] < 0:
                    path += [(node, place), (after, 0)]
                    break
                if component[after] < 0:
                    low[node] = min(low[node], order[after])
            else:
                if low[node] == order[node]:
                    while True:
                        member = stack.pop()
                        component[member] = count_found
                        if member == node:
                            break
                    count_found += 1
    return component, count_found


def purgeable(graph: Graph) -> list[bool]:
    """For each item whether its rows are finished some day, each after finitely many punctuations."""
    reach = _Reach(graph)
    freed = reach.everything()
    if any(item.expires for item in graph.items):
        freed = [one or other for one, other in zip(freed, reach.expiring(), strict=True)]
    pairs = zip(graph.items, freed, strict=True)
    return [item.expires or (is_freed and not item.deletable) for item, is_freed in pairs]


def _is_based(graph: Graph) -> bool:
    """Whether anything is known or closed before any row is looked at."""
    return bool(graph.given) or any(not closer.needs for item in graph.items for closer in item.closers)


class _Reach:
    """Who reaches whom. Nodes are the items and then the facts that are not there from the start."""

    def __init__(self, graph: Graph) -> None:
        self.items = len(graph.items)
        base = closure(graph) if _is_based(graph) else Closure((), frozenset(), {})
        self.graph, self.base = graph, base
        self.edges: list[list[int]] = [[] for _ in range(self.items + graph.facts)]
        self.joint: list[tuple[list[int], int]] = []  # generalised edges
        for number, item in enumerate(graph.items):
            if number not in base.items:
                self.edges[number] = [self.items + fact for fact in item.gives if fact not in base.causes]
                for closer in item.closers:
                    self._lead(closer.needs, number)
        for rule in graph.rules:
            if rule.gives not in base.causes:
                self._lead(rule.needs, self.items + rule.gives)
        self._contract()

    def _lead(self, needs: frozenset[int], head: int) -> None:
        missing = [self.items + fact for fact in needs if fact not in self.base.causes]
        if len(missing) == 1:
            self.edges[missing[0]].append(head)
        else:
            self.joint.append((missing, head))

    def _contract(self) -> None:
        self.component, self.count = components(self.edges)
        following: list[set[int]] = [set() for _ in range(self.count)]
        for node, heads in enumerate(self.edges):
            tail = self.component[node]
            following[tail].update(self.component[head] for head in heads)
        for number, components_ahead in enumerate(following):
            components_ahead.discard(number)
        self.following = following
        self.open = [number for number in range(self.items) if number not in self.base.items]
        self.starts = {self.component[number] for number in self.open}
        joint = {(frozenset(map(self.component.__getitem__, n)), self.component[h]) for n, h in self.joint}
        self.joint_components = [(needs, head) for needs, head in joint if head not in needs]

    def everything(self) -> list[bool]:
        """For each item whether it reaches all others."""
        if not self.open:
            return [True] * self.items
        if self.joint_components:
            whole = -1
            for start in self.starts:
                whole &= self.reached[start]
            return self._items_in(whole)
        inner = self._inner()
        first = [start for start in self.starts if start not in inner]
        return [len(first) == 1 and self.component[number] == first[0] for number in range(self.items)]

    def _inner(self) -> set[int]:
        """The components that others lead to, beginning at items."""
        inner: set[int] = set()
        ahead = list(self.starts)
        seen = set(ahead)
        while ahead:
            for head in self.following[ahead.pop()]:
                inner.add(head)
                if head not in seen:
                    seen.add(head)
                    ahead.append(head)
        return inner

    def expiring(self) -> list[bool]:
        """For each item whether it reaches one whose rows expire."""
        ends = [number for number, item in enumerate(self.graph.items) if item.expires]
        if any(number in self.base.items for number in ends):
            return [True] * self.items
        if self.joint_components:
            reaching = 0
            for number in ends:
                reaching |= self.reached[self.component[number]]
            return self._items_in(reaching)
        leading = self._leading({self.component[number] for number in ends})
        return [self.component[number] in leading for number in range(self.items)]

    def _leading(self, ends: set[int]) -> set[int]:
        """The components from which some end is reached: an edge leads to a smaller number."""
        leading = set(ends)
        for number, heads in enumerate(self.following):
            if not leading.isdisjoint(heads):
                leading.add(number)
        return leading

    def _items_in(self, bits: int) -> list[bool]:
        return [bool(bits >> self.component[number] & 1) for number in range(self.items)]

    @cached_property
    def reached(self) -> list[int]:
        """For each component, as bits, the components of items from which it is reached.

        Sweeps over the generalised edges, to and fro, until one adds nothing; what is added flows on at
        once along plain edges.
        """
        reached = [1 << number if number in self.starts else 0 for number in range(self.count)]
        for number in range(self.count - 1, -1, -1):  # edges lead to smaller numbers
            for head in self.following[number]:
                reached[head] |= reached[number]
        ordered = sorted(self.joint_components, key=lambda edge: edge[1])
        changed = True
        while changed:
            changed = False
            for needs, head in ordered:
                common = -1
                for need in needs:
                    common &= reached[need]
                if common & ~reached[head]:
                    self._flow(reached, head, common)
                    changed = True
            ordered.reverse()
        return reached

    def _flow(self, reached: list[int], head: int, bits: int) -> None:
        """Let bits flow to a component and from it along plain edges."""
        ahead = [(head, bits)]
        while ahead:
            number, more = ahead.pop()
            if more & ~reached[number]:
                reached[number] |= more
                ahead += [(following, reached[number]) for following in self.following[number]]


def transformed(graph: Graph) -> list[frozenset[int]]:
    """The nodes that are left, in the order of their first streams.

    >>> from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, GraphItem
    >>> def stream(name, gives, *schemes):
    ...     closers = tuple(Closer(frozenset(s), PUNCTUATION, ()) for s in schemes)
    ...     return GraphItem(name, frozenset(gives), closers)
    >>> b, c, a = 0, 1, 2
    >>> s1, s3 = stream("s1", [a, b], [b]), stream("s3", [c, a], [c, a])
    >>> printed = Graph((s1, stream("s2", [b, c], [b]), s3), 3)
    >>> repaired = Graph((s1, stream("s2", [b, c], [b], [c]), s3), 3)
    >>> [[sorted(node) for node in transformed(figure)] for figure in (printed, repaired)]
    [[[0, 1], [2]], [[0, 1, 2]]]
    """
    nodes = [frozenset([number]) for number in range(len(graph.items))]
    while True:
        component, count = components([_ahead(graph, nodes, node) for node in nodes])
        if count == len(nodes):
            return sorted(nodes, key=min)
        merged: list[frozenset[int]] = [frozenset()] * count
        for place, node in enumerate(nodes):
            merged[component[place]] |= node
        nodes = merged


def _ahead(graph: Graph, nodes: list[frozenset[int]], node: frozenset[int]) -> list[int]:
    """The nodes that an edge leads to: one of their streams is closed by what this node's streams know."""
    known = frozenset(facts_of(graph, node))
    return [
        place
        for place, other in enumerate(nodes)
        if other != node
        and any(closer.needs <= known for number in other for closer in graph.items[number].closers)
    ]


def facts_of(graph: Graph, node: frozenset[int]) -> list[int]:
    """The facts that tuples of some streams give by themselves, with the rules and what is given."""
    alone = Graph((), graph.facts, graph.rules, graph.given)
    return [*closure(alone, facts=[f for number in node for f in graph.items[number].gives]).causes]
