"""Placing pipeline breakers: aggregates and set operators, each with the fans that feed it.

Queries that differ in constants share a pipeline breaker: the rows of each have a tag of its own there.
Aggregates of the same rows by the same keys are one node with all functions that a
query asks for; a node that has run cannot learn another function, so then there is a further one, with the
functions of both, to which the older queries go over in time (`kin_groups.py`).

Cites: ARGUS 5.3 (horizontal expansion), 5.4 (set operators)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import count

from seine.algebra.event_windows import is_closing, windows_of
from seine.algebra.expressions import Call, Column, Expression, Literal, shift_columns, substitute
from seine.algebra.plan import Aggregate, AggregateCall, LookupKind, PartnerLookup, Scan, SetKind, walk
from seine.algebra.rank_plan import FrameReach, Over, Rank
from seine.algebra.search_plan import Top
from seine.algebra.types import BIGINT, BOOLEAN, INT, Type
from seine.graph.node import Node, Port
from seine.network.groups.aggregate_inputs import (
    TAG_VALUE,
    AggregateInput,
    FromPanes,
    FromRows,
    fan_of,
    pane_span,
)
from seine.network.groups.kin_groups import KinGroups, coarser_kin, finest_of, with_functions_of
from seine.network.groups.lookup_terms import LookupTerms
from seine.network.groups.partial_aggregates import group_keys
from seine.network.groups.vertical_expansion import (
    FromFiner,
    Regrouping,
    WantedGrouping,
    has_window,
    with_window_parameters,
)
from seine.network.plan.block_conditions import split_constants
from seine.network.site.node_memo import NotStandingError
from seine.network.site.placing import BlockRows, Placer, columns_of_types, needs_exchange, port_of
from seine.operators.group.aggregate import AggregateNode
from seine.operators.group.changelog import ChangelogNode
from seine.operators.group.final import SettledNode
from seine.operators.group.final_partners import FinalPartnersNode
from seine.operators.group.once import OnceNode
from seine.operators.group.partner_lookup import PartnerLookupNode
from seine.operators.group.session import SessionNode
from seine.operators.group.set_operations import (
    DistinctNode,
    ExceptNode,
    MergeNode,
    MultisetNode,
    breaker_signature,
)
from seine.operators.join.final_time import FinalTime
from seine.operators.rank.over import OverNode
from seine.operators.rank.rank import RankNode
from seine.operators.search.alive_top import AliveTopNode
from seine.operators.search.period_top import PeriodTopNode
from seine.optimizer.canonical.simplify import simplify
from seine.safety.states.final_groups import Clocks

ALL_ROWS = 2**62  # how many are wanted of a partition of which there is no limit

SetNode = (
    DistinctNode
    | ExceptNode
    | MultisetNode
    | FinalPartnersNode
    | PartnerLookupNode
    | MergeNode
    | ChangelogNode
    | SessionNode
    | RankNode
    | OverNode
    | SettledNode
    | PeriodTopNode
    | AliveTopNode
    | OnceNode
)


@dataclass(frozen=True)
class BreakerRows:
    """A query's rows of a pipeline breaker: those with its tag, and where its columns are in them."""

    node: Node
    tag: int | None
    columns: tuple[int, ...]
    session_end: int | None = None  # where the end of a session is, which is among its keys

    def tag_condition(self, position: int) -> list[Expression]:
        """The condition that selects its rows, with the tag at a position."""
        if self.tag is None:
            return []
        return [Call("eq", (Column(position, BIGINT), Literal(self.tag, BIGINT)), BOOLEAN)]

    def with_columns(self, order: Sequence[int]) -> BreakerRows:
        """The rows with these of their columns, by number."""
        return replace(self, columns=tuple(self.columns[number] for number in order))


class PipelineBreakers:
    """Places the pipeline breakers of one query."""

    def __init__(
        self, placer: Placer, regrouping: Regrouping, counted_by_one: int, kin: KinGroups | None = None
    ) -> None:
        """`kin` are the groups of other births, if queries may come to share these; `counted_by_one`: in how
        many windows a tuple is counted one by one, before there are panes.
        """
        self._kin = kin
        self._counted_by_one = counted_by_one
        self.grouped: list[tuple[WantedGrouping, int]] = []  # groupings, and the ids of their aggregates
        self._placer = placer
        self._site = placer.site
        self._regrouping = regrouping

    def freed_by(self, clocks: Collection[Expression]) -> AbstractContextManager[None]:
        """Let what is placed meanwhile be shared with that alone which clocks of the same constants free."""
        return self._placer.freed_by(clocks)

    # ---- aggregates

    def aggregate(
        self, plan: Aggregate, rows: BlockRows, *, expandable: bool, lasting: bool, final: bool = False
    ) -> BreakerRows:
        """The groups of some rows, made of finer groups of the same rows where an aggregate has these.

        A group's row ends and begins anew when anything in it changes. Who delivers it, or counts it, can
        pass over what is not its own; a join cannot, so for it there is a node with just its functions. So
        there is for users' code: where it fails, it fails for those alone who ask for it.
        `lasting`: whether the rows never end. `final`: whether only final results of windows are read.
        """
        written = [simplify(substitute(key, rows.outputs)) for key in plan.keys]
        plain, _ = split_constants(rows.conditions, rows.checks)
        shape, given = with_window_parameters(plain, written)
        keys = tuple(sorted(dict.fromkeys(given), key=lambda key: (sorted(key.columns), str(key))))
        calls = [
            replace(call, args=tuple(simplify(substitute(arg, rows.outputs)) for arg in call.args))
            for call in plan.calls
        ]
        streams = tuple(
            {scan.stream.name: scan.stream for scan in walk(plan) if isinstance(scan, Scan)}.values()
        )
        wanted = WantedGrouping(rows.node, shape, keys, tuple(calls), bool(keys), streams, lasting)
        is_plain = not has_window(keys)
        expandable = expandable and not wanted.calls_user_code
        may_join = self._kin if expandable and is_plain else None
        kin = may_join.of(self._site, wanted, self._placer.owner) if may_join else []
        paned = final and lasting and not is_plain and not any(map(is_closing, keys))
        paned = paned and not wanted.calls_user_code
        panes = self._panes(wanted) if paned and not self._site.closed else None
        feeding: AggregateInput
        if panes is not None:
            node, feeding = panes.node(), panes
        elif self._site.closed:
            node, feeding = self._standing_aggregate(wanted, expandable)
        else:
            node, feeding = self._placed_aggregate(wanted, expandable, kin)
        tag = feeding.claim(node)
        self._keep_coarser(wanted, node, kin)
        if is_plain:
            self.grouped.append((wanted, node.id))
        first = len(node.ports[0].key)
        over = [feeding.over(node, call) for call in calls]
        results = [first + node.calls.index(call) for call in over if call is not None]
        by = [int(wanted.tagged) + keys.index(key) for key in given]
        return BreakerRows(node, tag, (*by, *results))

    def _placed_aggregate(
        self, wanted: WantedGrouping, expandable: bool, kin: Sequence[AggregateNode]
    ) -> tuple[AggregateNode, AggregateInput]:
        """A node with these groups, found or built, to which kin of other births can go over."""
        wanted = with_functions_of(self._site, wanted, kin)
        finer = self._regrouping.finer(wanted, kin)
        if finer is None:
            feeding: AggregateInput = FromRows(self._placer, wanted)
        else:
            if finer.tag is None:
                tag = self._placer.claim_breaker(finer.node, [wanted.shape.constants], True)
                finer = replace(finer, tag=tag)
            feeding = FromFiner(self._placer, wanted, finer)
        return self._aggregate_node(wanted, feeding, expandable), feeding

    def _keep_coarser(
        self, wanted: WantedGrouping, node: AggregateNode, kin: Sequence[AggregateNode]
    ) -> None:
        """Have the coarser groups of kin, too, made of the groups that these are made of or have."""
        finest = finest_of(self._site, node)
        for coarse in coarser_kin(self._site, wanted, kin):
            fine = self._site.nodes[finest.id]
            assert isinstance(fine, AggregateNode)
            finer = self._regrouping.serving(coarse, fine, group_keys(self._site, fine))
            if finer is not None and self._kin is not None:
                feeding = FromFiner(self._placer, coarse, finer)
                kept = self._aggregate_node(coarse, feeding, True)
                feeding.claim(kept)
                self._kin.enter(self._site, coarse, kept)

    def _panes(self, wanted: WantedGrouping) -> FromPanes | None:
        """The panes of final windows, where a tuple would be counted in many windows one by one."""
        length, slide, start = (literal.value for literal in wanted.shape.constants[-3:])
        (window,) = windows_of(wanted.keys)
        span = pane_span((length, slide, start), window.time.type)
        standing = self._site.find(FromRows(self._placer, wanted).identity(-1))
        sizes = (
            0 if standing is None else len(self._site.tables[self._site.nodes[standing.inputs[0]].tables[0]])
        )
        if span is None or -(-length // slide) + sizes <= self._counted_by_one:
            return None
        panes = FromPanes(self._placer, wanted, span)
        has_stages = self._regrouping.has_stage(wanted.below.stage + panes.stages)
        return panes if has_stages and panes.can_serve() else None

    def _aggregate_node(
        self, wanted: WantedGrouping, feeding: AggregateInput, expandable: bool
    ) -> AggregateNode:
        """A node with these groups that has these functions, or can still get them."""
        for node in self._serving(wanted, feeding, expandable):
            return node
        for node in self._generations(wanted, feeding, True) if expandable else ():
            if self._site.is_new(node.id):
                return feeding.expanded(node, _missing(wanted, feeding, node))
        generations = (number if expandable else -1 - number for number in count())
        free = next(one for one in generations if self._site.find(feeding.identity(one)) is None)
        return feeding.new(wanted.calls, free, feeding.identity(free))

    def _standing_aggregate(
        self, wanted: WantedGrouping, expandable: bool
    ) -> tuple[AggregateNode, AggregateInput]:
        """A node that has these very groups already, with these functions, made of whatever it is."""
        finer = self._regrouping.all_finer(wanted)
        inputs: list[AggregateInput] = [FromFiner(self._placer, wanted, one) for one in finer]
        inputs.append(FromRows(self._placer, wanted))
        standing = [
            (node, feeding)
            for feeding in inputs
            for node in self._serving(wanted, feeding, expandable)
            if feeding.has_groups(node)
        ]
        if not standing:
            raise NotStandingError("an aggregate")
        # Of finer groups at best, else where most others can come, too.
        return max(standing, key=lambda one: (one[0].regroups, len(one[0].calls)))

    def _serving(
        self, wanted: WantedGrouping, feeding: AggregateInput, expandable: bool
    ) -> list[AggregateNode]:
        """The nodes that have these groups and functions already: those with just these, which joins read,
        and in front of them, for who can pass over changes of others, those with more.
        """
        others = self._generations(wanted, feeding, True) if expandable else []
        staying = [node for node in others if not self._regrouping.is_left(wanted, node)]
        fixed = self._generations(wanted, feeding, False)
        return [
            *(node for node in staying if not _missing(wanted, feeding, node)),
            *(node for node in fixed if _has_just(wanted, feeding, node)),
        ]

    def _generations(
        self, wanted: WantedGrouping, feeding: AggregateInput, expandable: bool
    ) -> list[AggregateNode]:
        """The nodes with these groups, whatever their functions, those with fixed ones apart; the first is
        the oldest.
        """
        alike = [
            node
            for node, keys in self._site.family(self._regrouping.rows(wanted))
            if {*keys} == {*wanted.keys}
            and isinstance(node, AggregateNode)
            and (node.generation >= 0) == expandable
            and feeding.identity(node.generation) == node.signature(self._site)
        ]
        return sorted(alike, key=lambda node: abs(node.generation))

    # ---- set operators

    def set_operator(
        self, cls: type[DistinctNode] | type[ExceptNode] | type[ChangelogNode], inputs: Sequence[BlockRows]
    ) -> BreakerRows:
        """A stateful node of whole rows: a row goes to the bucket of all its columns."""

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            return cls(ports=ports, **self._placer.common(ports[0].types, streams, streams, 1, stage + 1))

        return self._placed_breaker(inputs, columns_of_types, candidate)

    def multiset(self, rule: SetKind, inputs: Sequence[BlockRows]) -> BreakerRows:
        """Rows of the first input as often as a rule makes of their counts in both."""

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            common = self._placer.common(ports[0].types, streams, streams, 1, stage + 1)
            return MultisetNode(ports=ports, rule=rule.value, **common)

        return self._placed_breaker(inputs, columns_of_types, candidate)

    def final_partners(self, rule: SetKind, inputs: Sequence[BlockRows], closes: int | None) -> BreakerRows:
        """Rows of the first input with their lives, once each, as a rule makes of pairs in the second; an
        output of theirs may be their closing time.
        """
        place = None if closes is None else closes + 1  # a tag is first

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            common = self._placer.common(ports[0].types, streams, streams, 0, stage + 1)
            return FinalPartnersNode(ports=ports, rule=rule.value, closes=place, **common)

        return self._placed_breaker(inputs, columns_of_types, candidate)

    def settled(self, rows: BlockRows, width: int, parts: Sequence[Sequence[Clocks]]) -> BreakerRows:
        """The first columns of rows, as soon as these can end no more: behind them are the columns that rise
        in each part, with these clocks.
        """
        places = count(width + 1)  # a tag is first
        rising = tuple(tuple(FinalTime(next(places), clocks) for clocks in part) for part in parts)

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            common = self._placer.common(ports[0].types, streams, streams, 0, stage + 1)
            return SettledNode(ports=ports, rising=rising, **common)

        placed = self._placed_breaker([rows], columns_of_types, candidate)
        return replace(placed, columns=placed.columns[:width])

    def merge(self, inputs: Sequence[BlockRows]) -> BreakerRows:
        """All rows of all inputs."""
        most = max(rows.node.identities for rows in inputs)
        hold = [stream for rows in inputs for stream in rows.node.hold]

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            common = self._placer.common(ports[0].types, streams, hold, most + 1 if most else 0, stage)
            return MergeNode(ports=ports, **common)

        return self._placed_breaker(inputs, lambda types: (), candidate)

    def looked_up(self, rows: BlockRows, plan: PartnerLookup, lookup: LookupTerms) -> BreakerRows:
        """Rows that are asked for partners in a relation, with the tuples behind them in an outer lookup."""
        relation, most = plan.relation.relation, rows.node.identities
        behind = relation.types if plan.kind is LookupKind.LEFT else ()

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            types = (*ports[0].types, *behind)
            common = self._placer.common(types, streams, rows.node.hold, most + 1 if most else 0, stage)
            return PartnerLookupNode(
                ports=ports,
                relation=relation.name,
                relation_types=relation.types,
                row_key=lookup.row_key,
                relation_key=lookup.relation_key,
                predicate=lookup.predicate,
                rule=plan.kind.value,
                **common,
            )

        return self._placed_breaker([rows], lambda types: (), candidate)

    def best_trees(self, trees: BreakerRows, top: Top) -> BreakerRows:
        """The best trees of a search; how many, and of which period, is in the rows."""
        cls = AliveTopNode if top.per is None else PeriodTopNode
        wanted = (Literal(top.count, BIGINT), Literal(top.per or 0, BIGINT))
        outputs = (*wanted, *(Column(i, trees.node.types[i]) for i in trees.columns))
        rows = BlockRows(trees.node, tuple(trees.tag_condition(0)), (), outputs)

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            identities = 1 if top.per is None else trees.node.identities
            return cls(
                ports=ports, **self._placer.common(ports[0].types, streams, streams, identities, stage + 1)
            )

        best = self._placed_breaker([rows], lambda types: (Column(0, BIGINT),), candidate)
        return replace(best, columns=best.columns[len(wanted) :])

    def firsts(self, rows: BlockRows, keys: Sequence[int], per: int) -> BreakerRows:
        """The first row of each key in periods, and how many followed; the period is in the rows."""
        given = replace(rows, outputs=(Literal(per, BIGINT), *rows.outputs))

        def key(types: Sequence[Type]) -> tuple[Expression, ...]:
            return tuple(Column(i, types[i]) for i in (0, *(2 + column for column in keys)))

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            types = (*ports[0].types, BIGINT)
            return OnceNode(ports=ports, **self._placer.common(types, streams, streams, 0, stage + 1))

        placed = self._placed_breaker([given], key, candidate)
        return replace(placed, columns=placed.columns[1:])

    def sessions(self, rows: BlockRows, keys: int) -> BreakerRows:
        """Rows with their sessions: the first column says how far a row reaches, the second is its time, for
        which there is the session, and of so many keys behind them there are sessions.
        """

        def key(types: Sequence[Type]) -> tuple[Expression, ...]:
            return tuple(Column(i, types[i]) for i in (0, *range(3, 3 + keys)))

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            common = self._placer.common(ports[0].types, streams, streams, 0, stage + 1)
            return SessionNode(ports=ports, **common)

        return self._placed_breaker([rows], key, candidate)

    def ranked(self, plan: Rank, rows: BlockRows, *, timed: bool, lasting: bool) -> BreakerRows:
        """The first rows of partitions; how many is in the rows, behind the tag."""
        wanted = Literal(ALL_ROWS if plan.most is None else plan.most, BIGINT)
        first = 2  # the column of the node that is the plan's first
        order = tuple(one.moved(first + one.column) for one in plan.order)
        number = (INT,) if plan.name is not None else ()

        def key(types: Sequence[Type]) -> tuple[Expression, ...]:
            return tuple(Column(i, types[i]) for i in (0, *(first + column for column in plan.partition)))

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            common = self._placer.common((*ports[0].types, *number), streams, streams, 1, stage + 1)
            return RankNode(
                ports=ports,
                function=plan.function,
                order=order,
                with_number=plan.name is not None,
                timed=timed,
                lasting=lasting,
                **common,
            )

        placed = self._placed_breaker([replace(rows, outputs=(wanted, *rows.outputs))], key, candidate)
        return replace(placed, columns=placed.columns[1:])

    def framed(self, plan: Over, rows: BlockRows, *, timed: bool, reach: FrameReach | None) -> BreakerRows:
        """Rows with the values of their frames; of fixed ones `reach` says how far they look back."""

        def moved(expression: Expression) -> Expression:
            return shift_columns(expression, lambda index: index + 1)  # behind the tag

        def key(types: Sequence[Type]) -> tuple[Expression, ...]:
            return tuple(Column(i, types[i]) for i in (0, *(1 + column for column in plan.partition)))

        calls = [replace(one.call, args=tuple(map(moved, one.call.args))) for one in plan.functions]
        functions = tuple(replace(one, call=call) for one, call in zip(plan.functions, calls, strict=True))
        order = tuple(one.moved(1 + one.column) for one in plan.order)

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            types = (*ports[0].types, *(call.type for call in calls))
            common = self._placer.common(types, streams, streams, 1, stage + 1)
            return OverNode(ports=ports, functions=functions, order=order, timed=timed, reach=reach, **common)

        return self._placed_breaker([rows], key, candidate)

    def changelog_of(self, breaker: BreakerRows) -> BreakerRows:
        """A changelog straight on a merge: tags stay as they are."""
        node = breaker.node
        common = self._placer.common(node.types, node.streams, node.streams, 1, node.stage + 1)
        candidate = ChangelogNode(ports=(port_of(node, columns_of_types(node.types)),), **common)
        placed = self._placer.find_or_insert(candidate, breaker_signature(candidate, [node]))
        return replace(breaker, node=placed)

    def _placed_breaker(
        self,
        inputs: Sequence[BlockRows],
        key: Callable[[Sequence[Type]], tuple[Expression, ...]],
        candidate: Callable[[tuple[Port, ...], Iterable[str], int], SetNode],
    ) -> BreakerRows:
        """A set operator with its fans, found or built."""
        shapes = [split_constants(rows.conditions, rows.checks, rows.outputs) for rows in inputs]
        fans = [fan_of(self._placer, rows, *shape, True) for rows, shape in zip(inputs, shapes, strict=True)]
        streams = [stream for fan in fans for stream in fan.streams]
        ports = tuple(port_of(fan, key(fan.types)) for fan in fans)
        breaker = candidate(ports, streams, max(fan.stage for fan in fans))
        constants = [shape.constants for shape, _ in shapes]
        identity = breaker_signature(breaker, [*fans])
        node = self._site.find(identity)
        if node is None:
            placed = [
                self._placer.insert_with_table(fan, [*given, *TAG_VALUE])
                for fan, given in zip(fans, constants, strict=True)
            ]
            ports = tuple(port_of(fan, key(fan.types)) for fan in placed)
            breaker = replace(breaker, ports=ports)
            if breaker.stateful and len(placed) == 1:
                breaker = replace(
                    breaker, stage=placed[0].stage + needs_exchange(self._site, placed[0], ports[0].key)
                )
            node = self._site.insert(breaker, identity)
        tag = self._placer.claim_breaker(node, constants, True)
        return BreakerRows(node, tag, tuple(range(1, len(node.types))))


def _has_just(wanted: WantedGrouping, feeding: AggregateInput, node: AggregateNode) -> bool:
    """Whether a node has the functions that are wanted and no others."""
    return not _missing(wanted, feeding, node) and len(set(wanted.calls)) == len(node.calls)


def _missing(wanted: WantedGrouping, feeding: AggregateInput, node: AggregateNode) -> list[AggregateCall]:
    """The functions that a node with the same groups does not have."""
    return [call for call in wanted.calls if feeding.over(node, call) not in node.calls]
