"""From an optimised plan to nodes: blocks and pipeline breakers, bottom-up, each found or built.

A block's joins stand on prefilters; its rows, with the conditions that remain, are either delivered
or fanned into a pipeline breaker (an aggregate or set operator), whose rows are an item of the next block.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import chain

from seine.algebra.definitions import StreamDef
from seine.algebra.document_plan import DocumentQuery
from seine.algebra.event_windows import UNTIL, session_of
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.functions import resolve_call
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Lookup,
    PartnerLookup,
    Plan,
    Query,
    Scan,
    SetOperation,
    UnionAll,
)
from seine.algebra.rank_plan import Over, Partitioned, Rank, has_event_time
from seine.algebra.search_plan import Search
from seine.algebra.star import star_limit
from seine.algebra.types import BIGINT
from seine.graph.node import Filter
from seine.graph.snapshot import Claim
from seine.network.document_placing import DocumentPlacer
from seine.network.groups.final_results import (
    final_parts,
    grouped_item,
    is_final_input,
    partners_of,
    place_final,
    refuse_expiring,
    release,
    united_groups,
    united_results,
    with_arrival,
    with_rising,
)
from seine.network.groups.kin_groups import KinGroups
from seine.network.groups.pipeline_breakers import BreakerRows, PipelineBreakers
from seine.network.groups.session_placing import place_session_groups
from seine.network.groups.set_placing import SetPlacer, rows_as_set
from seine.network.groups.vertical_expansion import Place, Regrouping, RegroupLimits, WantedGrouping
from seine.network.joins.block_placing import BlockItems, BlockPlacer, TagCondition
from seine.network.joins.join_keys import ItemRows
from seine.network.joins.join_placing import JoinPlacer, Prefilters, place_stream, streams_of
from seine.network.joins.join_punctuations import HeardJoins
from seine.network.joins.limited_joins import place_limited
from seine.network.plan.block_conditions import split_constants
from seine.network.plan.output_form import RecordForm, asks_for_partners, importance_of
from seine.network.plan.strategy import Strategy
from seine.network.searches.search_scopes import SearchScopes, place_search
from seine.network.site.node_memo import NO_TABLE, NodeMemo
from seine.network.site.placing import UNPLACED, BlockRows, Placer, port_of
from seine.operators.match.deliver import DeliverNode, deliver_signature
from seine.operators.state.working_nodes import Form
from seine.optimizer.block import Block, Blocks
from seine.optimizer.estimates import Estimates
from seine.optimizer.fixed_frames import fixed_reach
from seine.optimizer.rules.drop_contradictions import NEVER
from seine.safety.states.clock_constants import all_clocks, clocks_of_starts, with_constants
from seine.safety.states.final_groups import Finality, GroupedBlock, freeing_of, groupings_of
from seine.safety.verdict_story import Nested

_FORM_AND_ROW = (Literal(0, BIGINT), Literal(0, BIGINT))


class Builder:
    """Places the nodes of one query, bottom-up: blocks of joins, pipeline breakers, then its deliver."""

    def __init__(
        self,
        site: NodeMemo,
        query: Query,
        strategy: Strategy,
        estimates: Estimates | None = None,
        stages: int | None = None,
        left: Set[Place] = frozenset(),
        scopes: SearchScopes | None = None,
        birth_epoch: int = 0,
        kin: KinGroups | None = None,
    ) -> None:
        """`stages` is how many stages there are, if no others may be opened for speed alone.

        Groups at places that are `left` are about to be removed and must not be shared. A search is placed
        within `scopes`, and counts tuples of the epoch `birth_epoch` and later. `kin` are groups of other
        births, which may go over to those of this query.
        """
        self._site = site
        self._query = query
        self._is_final = query.option("emit") == "final"
        self.blocks, self._whole_blocks = Blocks(), Blocks(largest=None)
        self._groupings_of: dict[int, tuple[Plan, list[GroupedBlock]]] = {}
        self._freeing_of: dict[int, tuple[Plan, Finality]] = {}
        self._final_item: Plan | None = None
        self._scopes, self._birth_epoch = scopes, birth_epoch
        self._placer = Placer(site, query.name, strategy)
        shared = strategy.share and strategy.breakers
        limits = RegroupLimits(strategy.regroup if shared else 0, stages, left)
        grouping = self._placer.of_breakers()
        self.regrouping = Regrouping(grouping, limits, estimates)
        self._prefilters = Prefilters(self._placer, strategy, estimates)
        self._breakers = PipelineBreakers(grouping, self.regrouping, strategy.panes, kin)
        self._sets = SetPlacer(self._breakers, self._rows, self._rows_as_they_change)
        self._heard = HeardJoins(self._placer)
        self._memory = star_limit(query)
        self._placed = BlockPlacer(
            self._placer,
            self._prefilters,
            JoinPlacer(self._placer, self._prefilters, query, strategy),
            self._heard,
            BlockItems(self._item, self._inlined),
            strategy,
            estimates,
            stages,
        )
        self.joined: list[Nested] = self._placed.joined  # streams of blocks that punctuations free, as joined

    def finish(self) -> None:
        """Let go of those who call it back, now that all is placed: without cycles it is freed at once, and
        not by garbage collections, which would look through all other queries.
        """
        del self._placed, self._sets
        self._groupings_of.clear()
        self._freeing_of.clear()

    @cached_property
    def _streams(self) -> dict[str, StreamDef]:
        return streams_of(self._query.plan)

    @property
    def claims(self) -> list[Claim]:
        """The claims of the query on everything that it uses."""
        return self._placer.claims

    @property
    def grouped(self) -> list[tuple[WantedGrouping, int]]:
        """The groupings that the query needs, each with the id of its aggregate."""
        return self._breakers.grouped

    def deliver(self, plan: Plan, form: RecordForm, tell_ends: bool) -> None:
        """The rows of a plan become records; the last of their outputs may be their importance."""
        if isinstance(plan, Search):  # very many come at once, and their rows are delivered as they are
            self._deliver(_rows_of(self._breaker(plan)), form)
            return
        block = self.blocks.of(plan)
        if NEVER in block.conditions:  # whatever else it asks for, there is nothing to be told
            self._deliver(self._block(block), form)
            return
        if self._is_final and asks_for_partners(plan):
            for part in final_parts(plan, self._inlined):
                self._final_item = partners_of(part, self._inlined)
                self._deliver(self._joined(part), form)
            return
        if self._is_final:
            for branch in (branches := united_groups(block, self.blocks.of)):
                self._final_item = grouped_item(branch)
                self._deliver(self._joined(branch), form)
            if branches:
                return
            self._final_item = grouped_item(block)
            if self._final_item is None and not block.is_of_tables:
                self._deliver(self._settled(block), form)
                return
        if (alert := self._query.once) is not None:
            placed = self._breakers.firsts(self._joined(block), alert.columns, alert.per)
            self._deliver(_rows_of(placed), form)
            return
        if not tell_ends:
            # Each with the groups that it is of: a row of one that ends and begins as it was is told by none.
            for branch in (branches := united_results(block, self.blocks.of)):
                self._deliver(self._joined(branch), form)
            if branches:
                return
            weight = None if form.changelog else importance_of(block, form.importance)
            weights = () if weight is None else (weight,)
            weighed = replace(block, outputs=block.outputs + weights)
            self._deliver(self._joined(weighed), form)
            return
        self._deliver(_rows_of(self._tell_ends(block)), form)

    def deliver_documents(self, plan: DocumentQuery, form: RecordForm, born: int | None) -> None:
        """The bindings of a query of documents become records."""
        self._deliver(DocumentPlacer(self._placer, self._query, plan, born).results(), form)

    def deliver_networks(self, plans: Sequence[Plan], form: RecordForm) -> None:
        """The rows of several plans become records of the query, each with its life."""
        for plan in plans:
            self._deliver(self._block(self.blocks.of(plan)), form)

    def _joined(self, block: Block) -> BlockRows:
        """The rows of a block, within the memory of its query if there is one."""
        if self._memory is None:
            return self._block(block)
        return place_limited(self._placer, self._prefilters, block, self._memory)

    def _deliver(self, rows: BlockRows, form: RecordForm) -> None:
        shape, _ = split_constants(rows.conditions)
        form_shape, computed = split_constants((), rows.checks, rows.outputs)
        identity = deliver_signature(rows.node.id, shape.shape, self._placer.owner)
        node = self._site.find(identity)
        if node is None:
            common = self._placer.like(rows.node)
            ports = (port_of(rows.node),)
            candidate = DeliverNode(ports=ports, filter=Filter(shape.shape, UNPLACED), forms=(), **common)
            node = self._placer.insert_with_table(candidate, [*shape.constants, *_FORM_AND_ROW], identity)
        assert isinstance(node, DeliverNode)
        self._placer.claim_node(node.id)
        outputs, weight = computed[: len(form.names)], computed[len(form.names) :]
        written = Form(
            NO_TABLE,
            form_shape.others,
            outputs,
            form.names,
            form.changelog,
            form.domain,
            form.limit,
            weight[0] if weight else None,
            form.in_time,
        )
        place = self._placer.claim_form(node.id, written, form_shape.constants)
        self._placer.claim_row(
            node.filter.table, [*shape.constants, *(Literal(number, BIGINT) for number in place)]
        )

    def _settled(self, block: Block) -> BlockRows:
        """The rows of a block with groups or set operators in it, each once, when nothing changes it."""
        widened, clocks = with_rising(block, self._inlined)
        rows = self._block(widened, minimal=True)
        if not clocks:
            return rows
        with self._breakers.freed_by(with_constants(chain(*chain(*clocks)))):
            return _rows_of(self._breakers.settled(rows, len(block.outputs), clocks))

    def _tell_ends(self, block: Block) -> BreakerRows:
        """The rows of a block, with every end emitted as a retraction."""
        if block.is_plain and isinstance(block.items[0], UnionAll):
            return self._breakers.changelog_of(self._breaker(block.items[0]))
        return self._sets.changelog(self._block(block))

    def _breaker(self, plan: Plan, alone: bool = True) -> BreakerRows:
        if isinstance(plan, Aggregate | Distinct | SetOperation | Partitioned):
            self._heard.ask(self._groupings(plan))
        match plan:
            case Aggregate():
                return self._released(plan, self._aggregate(plan, self._rows(plan.input), alone))
            case Distinct(input):
                return self._released(plan, self._distinct(input, alone))
            case SetOperation():
                with self._breakers.freed_by(all_clocks(self._freeing(plan))):
                    placed = self._sets.operation(plan)
                return self._released(plan, placed)
            case Over(input):
                return self._released(plan, self._framed(plan, self._rows(input)))
            case Rank(input):
                return self._released(plan, self._ranked(plan, self._rows(input)))
            case UnionAll():
                return self._sets.union_all(plan)
            case PartnerLookup():
                return self._sets.looked_up(plan)
            case Search():
                assert self._scopes is not None
                trees = place_search(self._placer, self._scopes, plan, self._birth_epoch)
                return trees if plan.top is None else self._breakers.best_trees(trees, plan.top)
        return self._breakers.merge([self._rows_as_they_change(plan)])  # a projection that has to stay

    def _distinct(self, plan: Plan, alone: bool) -> BreakerRows:
        """The distinct rows of a plan: groups without functions, or a union of two and more branches."""
        rows = self._sets.branches(plan)
        if len(rows) > 1:
            return self._union(Distinct(plan), rows)
        if (breaker := rows_as_set(rows[0])) is not None:
            return breaker
        columns = tuple(Column(i, field.type) for i, field in enumerate(plan.schema))
        groups = Aggregate(plan, columns, (), tuple(field.name for field in plan.schema))
        return self._aggregate(groups, rows[0], alone)

    def _aggregate(
        self, plan: Aggregate, rows: BlockRows, expandable: bool, final: bool = False
    ) -> BreakerRows:
        """The groups of some rows, which end or last for ever."""
        lasting = all(grouping.lasts for grouping in self._groupings(plan))
        if any(session_of(key) is not None for key in plan.keys):
            return place_session_groups(self._breakers, plan, rows, expandable=expandable, lasting=lasting)
        with self._breakers.freed_by(clocks_of_starts(self._freeing(plan))):
            return self._breakers.aggregate(plan, rows, expandable=expandable, lasting=lasting, final=final)

    def _union(self, plan: Distinct, branches: list[BlockRows]) -> BreakerRows:
        """The distinct rows of branches."""
        with self._breakers.freed_by(all_clocks(self._freeing(plan))):
            return self._sets.union(branches)

    def _framed(self, plan: Over, rows: BlockRows) -> BreakerRows:
        """Rows with the values of frames around them."""
        reach = fixed_reach(plan, self._inlined(plan.input))
        with self._breakers.freed_by(all_clocks(self._freeing(plan))):
            return self._breakers.framed(plan, rows, timed=has_event_time(plan.input), reach=reach)

    def _ranked(self, plan: Rank, rows: BlockRows) -> BreakerRows:
        """The first rows of partitions; those of streams, not of groups, have an event time."""
        lasting = all(grouping.lasts for grouping in self._groupings(plan))
        with self._breakers.freed_by(all_clocks(self._freeing(plan))):
            return self._breakers.ranked(plan, rows, timed=has_event_time(plan.input), lasting=lasting)

    def _released(self, plan: Plan, breaker: BreakerRows) -> BreakerRows:
        """A pipeline breaker, freed by punctuations where they can free its groups."""
        return release(self._placer, self._streams, breaker, self._freeing(plan), self._heard)

    def _freeing(self, plan: Plan) -> Finality:
        """What frees the groups of a pipeline breaker."""
        known = self._freeing_of.get(id(plan))
        if known is None:
            known = self._freeing_of[id(plan)] = (plan, freeing_of(self._groupings(plan)))
        return known[1]

    def _groupings(self, plan: Plan) -> list[GroupedBlock]:
        """The blocks whose rows an aggregate, DISTINCT or EXCEPT groups."""
        known = self._groupings_of.get(id(plan))
        if known is None:
            known = self._groupings_of[id(plan)] = (plan, groupings_of(plan, self._inlined))
        return known[1]

    def _inlined(self, plan: Plan) -> Block:
        """The block of a plan whose columns are not computed: no expression is too large to be inlined."""
        block = self.blocks.of(plan)
        return block if block.is_of_tables else self._whole_blocks.of(plan)

    def _final(self, plan: Plan) -> BreakerRows:
        """The groups of an aggregate, or the rows of a set operator, each once."""
        if isinstance(plan, SetOperation) and plan.kind.is_of_pairs:
            return self._sets.operation(plan, final=True)
        groupings = self._groupings(plan)
        refuse_expiring(plan, groupings)
        self._heard.ask(groupings)
        if isinstance(plan, Aggregate):
            more = with_arrival(plan, groupings)
            # When a group got its result must not depend on what others ask of it.
            grouped = self._aggregate(more, self._rows(more.input), False, final=more is not plan)
            breaker = self._released(plan, grouped)
        elif isinstance(plan, Distinct):
            branches = self._sets.branches(plan.input)
            breaker = self._released(plan, self._union(plan, branches))
        else:
            breaker = self._breaker(plan)
        return place_final(self._placer, self._streams, breaker, groupings, self._heard)

    def _final_input(self, plan: Plan) -> BreakerRows:
        """The groups of an aggregate, or the rows of a set operator, that what is above reads once they are
        final.
        """
        groupings = self._groupings(plan)
        self._heard.ask(groupings)
        if isinstance(plan, Aggregate):
            grouped = self._aggregate(plan, self._rows(plan.input), False, final=groupings[0].lasts)
            breaker = self._released(plan, grouped)
        else:
            breaker = self._breaker(plan, False)
        return place_final(self._placer, self._streams, breaker, groupings, self._heard, as_input=True)

    def _rows(self, plan: Plan) -> BlockRows:
        """The rows that feed a pipeline breaker, their conditions in one form."""
        return self._block(self.blocks.of(plan), minimal=True)

    def _rows_as_they_change(self, plan: Plan) -> BlockRows:
        """The same rows for who passes all changes on: they change in nothing but what is read."""
        return self._block(self.blocks.of(plan), minimal=True, passes_over=False)

    def _block(self, block: Block, *, minimal: bool = False, passes_over: bool = True) -> BlockRows:
        """The rows of a block, which end with the first of the query's own windows."""
        placed = self._placed.place(block, minimal=minimal, passes_over=passes_over)
        return self._ended(placed.rows, placed.ends) if placed.ends else placed.rows

    def _ended(self, rows: BlockRows, ends: Sequence[Expression]) -> BlockRows:
        """Rows until the first of these ends."""
        first = ends[0] if len(ends) == 1 else resolve_call("least", list(ends))
        until = Call(UNTIL, (first,), first.type)
        merged = self._breakers.merge([replace(rows, outputs=(*rows.outputs, until))])
        outputs = tuple(Column(i, merged.node.types[i]) for i in merged.columns[:-1])
        return BlockRows(merged.node, tuple(merged.tag_condition(0)), (), outputs)

    def _item(self, plan: Plan, alone: bool) -> tuple[ItemRows, TagCondition]:
        """Where an item's rows are, and what selects them there."""
        everything = tuple(range(len(plan.schema)))
        if isinstance(plan, Lookup):
            return ItemRows(None, plan.relation.name, len(everything), everything), _all_rows
        if isinstance(plan, Scan):
            node = place_stream(self._placer, plan.stream).id
            return ItemRows(node, None, len(everything), everything), _all_rows
        if plan is self._final_item:
            breaker = self._final(plan)
        elif self._is_final and is_final_input(plan, self._inlined):
            breaker = self._final_input(plan)
        else:
            breaker = self._breaker(plan, alone)
        rows = ItemRows(breaker.node.id, None, len(breaker.node.types), breaker.columns)
        return rows, breaker.tag_condition


def _rows_of(breaker: BreakerRows) -> BlockRows:
    """The rows of a pipeline breaker as they are."""
    outputs = tuple(Column(i, breaker.node.types[i]) for i in breaker.columns)
    return BlockRows(breaker.node, tuple(breaker.tag_condition(0)), (), outputs)


def _all_rows(_: int) -> list[Expression]:
    """The condition of rows that nobody else has."""
    return []
