"""The list of all node kinds; each is defined in its own module, beside its operator or step."""

from __future__ import annotations

from seine.graph.node_kinds import NodeKinds
from seine.operators.documents.complete_node import CompleteNode
from seine.operators.documents.document_join_node import DocumentJoinNode
from seine.operators.documents.partial_node import PartialNode
from seine.operators.documents.publish_node import PublishNode
from seine.operators.documents.witness_node import WitnessNode
from seine.operators.group.aggregate_node import AggregateNode
from seine.operators.group.changelog import ChangelogNode
from seine.operators.group.distinct_node import DistinctNode
from seine.operators.group.except_node import ExceptNode
from seine.operators.group.final import FinalNode
from seine.operators.group.final_partners import FinalPartnersNode
from seine.operators.group.merge_node import MergeNode
from seine.operators.group.multiset_node import MultisetNode
from seine.operators.group.once import OnceNode
from seine.operators.group.pane_fan_node import PaneFanNode
from seine.operators.group.partner_lookup_node import PartnerLookupNode
from seine.operators.group.regroup_node import RegroupNode
from seine.operators.group.session_node import SessionNode
from seine.operators.group.settled_node import SettledNode
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode
from seine.operators.join.join_node import JoinNode
from seine.operators.join.lookup_node import LookupNode
from seine.operators.limited.limited_node import LimitedNode
from seine.operators.match.deliver_node import DeliverNode
from seine.operators.match.fan_step import FanNode
from seine.operators.match.prefilter_node import PrefilterNode
from seine.operators.multi_join.multi_join_node import MultiJoinNode
from seine.operators.rank.over_node import OverNode
from seine.operators.rank.rank_node import RankNode
from seine.operators.search.alive_top import AliveTopNode
from seine.operators.search.period_top_node import PeriodTopNode
from seine.operators.search.search_node import SearchNode
from seine.operators.search.spot_node import SpotNode
from seine.operators.search.watch_node import WatchNode
from seine.operators.stream.punctuations_node import PunctuationsNode
from seine.operators.stream.resolve_node import ResolveNode
from seine.operators.stream.source_node import SourceNode

KINDS = NodeKinds(
    SourceNode,
    PunctuationsNode,
    ResolveNode,
    PrefilterNode,
    LookupNode,
    PartnerLookupNode,
    JoinNode,
    DerivedPunctuationsNode,
    MultiJoinNode,
    LimitedNode,
    FanNode,
    MergeNode,
    AggregateNode,
    RegroupNode,
    PaneFanNode,
    SessionNode,
    DistinctNode,
    ExceptNode,
    MultisetNode,
    RankNode,
    OverNode,
    OnceNode,
    ChangelogNode,
    FinalNode,
    FinalPartnersNode,
    SettledNode,
    WatchNode,
    SpotNode,
    SearchNode,
    PeriodTopNode,
    AliveTopNode,
    WitnessNode,
    DocumentJoinNode,
    CompleteNode,
    PartialNode,
    PublishNode,
    DeliverNode,
)
