"""Quotas: how much the queries of one owner may be, hold and do.

Law: queries and joins are counted when they are registered, and what goes over is refused. State rows,
candidates and records are counted after each micro-batch, never timed: of an owner who is over, the heaviest
queries are paused until the rest is within the quota, and of that micro-batch nothing of theirs is delivered.
A node that queries share counts once for each owner, wholly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from seine.lifecycle.edit import Edit
from seine.lifecycle.view import RegisteredQuery, View
from seine.network.network import Network
from seine.runtime.folder.failures import Failure
from seine.runtime.output.task_report import TaskReport
from seine.service.access.principal import ForbiddenError

Weights = Mapping[int, int]  # by node


@dataclass(frozen=True)
class Quota:
    """The most of each owner; None for as much as there is."""

    queries: int | None = None
    joins: int | None = None
    state_rows: int | None = None
    candidates: int | None = None
    records: int | None = None

    @property
    def counts_work(self) -> bool:
        """Whether micro-batches have to be looked at."""
        return any(most is not None for most in (self.state_rows, self.candidates, self.records))

    def refuse_queries(self, edit: Edit, view: View) -> None:
        """Refuse an edit that leaves an owner with too many queries."""
        if self.queries is None or not edit.come.keys() - view.registered.keys():
            return
        kept = sum(one.owner == edit.by for key, one in view.registered.items() if key not in edit.go)
        count = kept + sum(edit.owner(view, key) == edit.by for key in edit.come)
        if count > self.queries:
            hint = "drop some first; seine serve --owner-queries says how many"
            raise ForbiddenError(
                f"{edit.by} would have {count:,} queries, more than {self.queries:,}", hint=hint
            )

    def refuse_joins(self, edit: Edit, view: View, network: Network) -> None:
        """Refuse an edit that leaves an owner with too many joins; `network` has undergone it."""
        begin = edit.begin(view)
        if self.joins is None or not begin:
            return
        for owner in {edit.owner(view, key) for key in begin}:
            running = [
                one.query.name
                for key, one in view.registered.items()
                if one.owner == owner and one.nodes and key not in edit.go | begin.keys()
            ]
            begun = [query.name for key, query in begin.items() if edit.owner(view, key) == owner]
            used = {node for name in (*running, *begun) for node in network.used_nodes(name)}
            count = sum(network.nodes[node].is_join for node in used)
            if count > self.joins:
                hint = "drop some of its queries first; seine serve --owner-joins says how many"
                raise ForbiddenError(
                    f"{owner} would have {count:,} joins, more than {self.joins:,}", hint=hint
                )

    def judge(self, entry: int, reports: Sequence[TaskReport], view: View) -> dict[str, Failure]:
        """The queries that are paused for what their owners held and did in an entry, and why."""
        if not self.counts_work:
            return {}
        held, candidates, records = _added(reports)
        over: dict[str, Failure] = {}
        for owner, queries in view.owned.items():
            for most, weights, what in (
                (self.state_rows, held, "rows of state"),
                (self.candidates, candidates, "candidates"),
            ):
                if most is not None and _weigh(view.nodes_of_owner(owner), weights) > most:
                    standing = [one for one in queries if one.query.name not in over]
                    over.update(_over_nodes(owner, standing, weights, most, what, entry))
            if self.records is not None:
                standing = [one for one in queries if one.query.name not in over]
                over.update(_over_records(owner, standing, records, self.records, entry))
        return over


def _weigh(nodes: Iterable[int], weights: Weights) -> int:
    return sum(weights.get(node, 0) for node in nodes)


def _added(reports: Sequence[TaskReport]) -> tuple[dict[int, int], dict[int, int], dict[str, int]]:
    """Rows held and candidates by node, and records by query, of a micro-batch."""
    held: dict[int, int] = {}
    candidates: dict[int, int] = {}
    records: dict[str, int] = {}
    for report in reports:
        for rows in (report.state.state_rows, report.state.group_rows):
            _add(held, rows)
        _add(candidates, report.state.candidates)
        if report.results is not None:
            for query, count in report.results.counts.items():
                records[query] = records.get(query, 0) + count
    return held, candidates, records


def _add(into: dict[int, int], counts: Weights) -> None:
    for node, count in counts.items():
        into[node] = into.get(node, 0) + count


def _over_nodes(
    owner: str, queries: Iterable[RegisteredQuery], weights: Weights, most: int, what: str, entry: int
) -> dict[str, Failure]:
    """The queries of an owner that must go, so that the nodes of the others weigh no more than `most`.

    Queries that use the same nodes go together: one alone would free nothing.
    """
    alike: dict[frozenset[int], list[str]] = {}
    for one in queries:
        nodes = frozenset(node for node in one.nodes if node in weights)
        if nodes:
            alike.setdefault(nodes, []).append(one.query.name)
    reason = f"{owner} had {_weigh(_union(alike), weights):,} {what} in one micro-batch, more than {most:,}"
    over: dict[str, Failure] = {}
    for nodes in sorted(alike, key=lambda nodes: (-_weigh(nodes, weights), sorted(nodes))):
        if _weigh(_union(alike), weights) <= most:
            break
        over.update(dict.fromkeys(alike.pop(nodes), _failure(entry, reason)))
    return over


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*sets)


def _over_records(
    owner: str, queries: Iterable[RegisteredQuery], records: Mapping[str, int], most: int, entry: int
) -> dict[str, Failure]:
    """The queries of an owner that must go, so that the others deliver no more than `most`."""
    delivered = {one.query.name: records[one.query.name] for one in queries if one.query.name in records}
    left = total = sum(delivered.values())
    reason = f"{owner} had {total:,} records in one micro-batch, more than {most:,}"
    over: dict[str, Failure] = {}
    for name in sorted(delivered, key=lambda name: (-delivered[name], name)):
        if left <= most:
            break
        left -= delivered[name]
        over[name] = _failure(entry, reason)
    return over


def _failure(entry: int, reason: str) -> Failure:
    return Failure(entry, "quota", f"{reason} (entry {entry})")
