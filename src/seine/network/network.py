"""The shared network: all queries as one graph of nodes, each once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from seine.algebra.plan import Query
from seine.errors import SeineError
from seine.network.build import build_query
from seine.network.nodes import Node, OutputNode, node_from_json, node_to_json
from seine.optimizer.pipeline import optimise
from seine.sharing.consing import ConsingIndex


@dataclass(frozen=True)
class Addition:
    """What one query brought: its output, the nodes it added, and the ids it found."""

    output: OutputNode
    added: tuple[Node, ...]
    shared: tuple[int, ...]


class Network:
    """Nodes by id, and the queries that they serve.

    `add` and `remove` cost the size of one query. Changes since the last `commit` belong to
    the next version. Ids are never given twice, also after nodes are freed.
    """

    def __init__(self) -> None:
        self.version = 0
        self.nodes: dict[int, Node] = {}
        self.queries: dict[str, int] = {}
        self._next_id = 1
        self._changed = False
        self._index = ConsingIndex()
        self._consumers: dict[int, dict[int, None]] = {}
        self._stages: dict[int, int] = {}

    def add(self, query: Query) -> Addition:
        """Extend the network by a query; when the query is refused nothing changes."""
        if query.name in self.queries:
            raise SeineError(f"there is already a query {query.name!r}", hint="DROP QUERY it first")
        transaction = _Transaction(self)
        try:
            output = build_query(query, optimise(query.plan), transaction.place)
        except BaseException as error:
            transaction.undo()
            if isinstance(error, RecursionError):
                raise SeineError(f"query {query.name!r} is nested too deeply", hint="split it") from None
            raise
        self.queries[query.name] = output.id
        self._changed = True
        return Addition(output, tuple(transaction.added.values()), tuple(sorted(transaction.found)))

    def remove(self, name: str) -> tuple[Node, ...]:
        """Take a query out, and free every node that nobody uses any more."""
        if name not in self.queries:
            raise SeineError(f"there is no query {name!r}")
        freed: list[Node] = []
        waiting = [self.queries.pop(name)]
        while waiting:
            node = self.nodes[waiting.pop()]
            self._free(node)
            freed.append(node)
            waiting += [i for i in dict.fromkeys(node.inputs) if not self._consumers[i]]
        self._changed = True
        return tuple(freed)

    def commit(self) -> int:
        """Close the changes since the last commit as the next version, if there are any."""
        if self._changed:
            self.version += 1
            self._changed = False
        return self.version

    @property
    def depth(self) -> int:
        """The highest stage: how many stateful stages the pipeline needs."""
        return max(self._stages, default=0)

    def consumers(self, node_id: int) -> tuple[int, ...]:
        """The ids of the nodes that read a node."""
        return tuple(self._consumers[node_id])

    def users(self, node_id: int) -> set[str]:
        """The names of the queries that a node serves."""
        seen = {node_id}
        waiting = [node_id]
        while waiting:
            fresh = [c for c in self._consumers[waiting.pop()] if c not in seen]
            seen.update(fresh)
            waiting += fresh
        outputs = (self.nodes[i] for i in seen)
        return {node.query for node in outputs if isinstance(node, OutputNode)}

    def beneath(self, query: str) -> list[Node]:
        """The nodes of one query, inputs first."""
        seen = {self.queries[query]}
        waiting = list(seen)
        while waiting:
            fresh = [i for i in self.nodes[waiting.pop()].inputs if i not in seen]
            seen.update(fresh)
            waiting += fresh
        return [self.nodes[i] for i in sorted(seen)]

    def to_json(self) -> dict[str, Any]:
        """A form that `from_json` reads back; equal networks with equal histories print the same."""
        nodes = [node_to_json(node) for _, node in sorted(self.nodes.items())]
        return {"version": self.version, "next_id": self._next_id, "nodes": nodes}

    @staticmethod
    def from_json(form: dict[str, Any]) -> Network:
        network = Network()
        for node in map(node_from_json, form["nodes"]):
            network._insert(node)
        network.version = form["version"]
        network._next_id = form["next_id"]
        return network

    def __iter__(self) -> Iterator[Node]:
        """The nodes, inputs before what reads them."""
        return (self.nodes[i] for i in sorted(self.nodes))

    def _insert(self, node: Node) -> None:
        self.nodes[node.id] = node
        self._consumers[node.id] = {}
        self._stages[node.stage] = self._stages.get(node.stage, 0) + 1
        for source in node.inputs:
            self._consumers[source][node.id] = None
        if isinstance(node, OutputNode):
            self.queries[node.query] = node.id
        else:
            self._index.enter(node)

    def _free(self, node: Node) -> None:
        del self.nodes[node.id], self._consumers[node.id]
        self._stages[node.stage] -= 1
        if not self._stages[node.stage]:
            del self._stages[node.stage]
        for source in node.inputs:
            self._consumers[source].pop(node.id, None)
        if not isinstance(node, OutputNode):
            self._index.leave(node)


class _Transaction:
    """The nodes that one query places: found where they exist, inserted where not."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.added: dict[int, Node] = {}
        self.found: set[int] = set()

    def place(self, candidate: Node) -> Node:
        network = self.network
        existing = None if isinstance(candidate, OutputNode) else network._index.find(candidate)
        if existing is not None:
            if existing not in self.added:
                self.found.add(existing)
            return network.nodes[existing]
        node = replace(candidate, id=network._next_id)
        network._next_id += 1
        network._insert(node)
        self.added[node.id] = node
        return node

    def undo(self) -> None:
        for node in reversed(self.added.values()):
            self.network._free(node)


def network_text(network: Network) -> str:
    """The JSON text of a network, the same for the same network."""
    return json.dumps(network.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def build_network(queries: Iterable[Query]) -> Network:
    """A network of these queries, committed as its first version."""
    network = Network()
    for query in queries:
        network.add(query)
    network.commit()
    return network
