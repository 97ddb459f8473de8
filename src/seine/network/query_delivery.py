"""A query placed whole: the plan as which it runs is made, and a builder lets its rows be delivered."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.plan import Plan, Query
from seine.algebra.search_plan import Search
from seine.algebra.star import star_limit
from seine.errors import SeineError
from seine.network.build import Builder
from seine.network.plan.output_form import form_of
from seine.network.plan.running_plan import running_plan, scan_since
from seine.optimizer.block import Blocks
from seine.optimizer.estimates import Estimates
from seine.optimizer.optimise import optimise
from seine.optimizer.plain_block import plain_block
from seine.safety.states.item_facts import emits_all_ends


@dataclass(frozen=True)
class QueryDelivery:
    """How queries become plans: in a `live` network they count from their birth on.

    `ordering` are the estimates by which joins are ordered; None if they are not.
    """

    live: bool
    ordering: Estimates | None

    def plan_of(self, query: Query, birth_epoch: int) -> Plan:
        """The plan as which a query runs."""
        return running_plan(query, birth_epoch if self.live else None, self.ordering)

    def deliver(self, builder: Builder, query: Query, birth_epoch: int) -> Plan:
        """Place all that a query needs, and its deliver; the plan as which it runs."""
        plan = self._deliver(builder, query, birth_epoch)
        builder.finish()
        return plan

    def _deliver(self, builder: Builder, query: Query, birth_epoch: int) -> Plan:
        form = form_of(query)
        if isinstance(query.plan, DocumentQuery):
            builder.deliver_documents(query.plan, form, birth_epoch if self.live else None)
            return query.plan
        if isinstance(query.plan, Search) and query.plan.engine != "auto":
            builder.deliver_networks(self._networks(query.plan), form)
            return query.plan
        plan = self._prepared(query, birth_epoch, builder.blocks)
        builder.deliver(plan, form, form.changelog and not emits_all_ends(plan))
        return plan

    def _networks(self, plan: Search) -> list[Plan]:
        """The plans as which a search runs by joins: of candidate networks, optimised."""
        if self.live:
            message = f"a service does not search by the engine {plan.engine!r}"
            raise SeineError(message, hint="leave the engine out: joins do not follow a schema that changes")
        from seine.network.searches.network_plans import network_plans  # few searches ask for joins

        return [optimise(one, estimates=self.ordering) for one in network_plans(plan)]

    def _prepared(self, query: Query, birth_epoch: int, blocks: Blocks) -> Plan:
        """The plan as which a query runs; a plain one is not rebuilt, only its block is made."""
        if isinstance(query.plan, Search) or star_limit(query) is not None:
            return self.plan_of(query, birth_epoch)
        block = plain_block(
            query.plan,
            lambda scan: scan_since(scan, birth_epoch) if self.live else (scan, ()),
            estimates=self.ordering,
        )
        if block is None:
            return self.plan_of(query, birth_epoch)
        blocks.know(query.plan, block)
        return query.plan
