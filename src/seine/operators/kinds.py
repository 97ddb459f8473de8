"""The list of all node kinds; each is defined in one file with its operator or step."""

from __future__ import annotations

from seine.graph.node_kinds import NodeKinds
from seine.operators.documents.complete import CompleteNode
from seine.operators.documents.document_join import DocumentJoinNode
from seine.operators.documents.partial import PartialNode
from seine.operators.documents.publish import PublishNode
from seine.operators.documents.witness import WitnessNode
from seine.operators.group.aggregate import AggregateNode, PaneFanNode, RegroupNode
from seine.operators.group.changelog import ChangelogNode
from seine.operators.group.final import FinalNode, SettledNode
from seine.operators.group.final_partners import FinalPartnersNode
from seine.operators.group.once import OnceNode
from seine.operators.group.partner_lookup import PartnerLookupNode
from seine.operators.group.session import SessionNode
from seine.operators.group.set_operations import DistinctNode, ExceptNode, MergeNode, MultisetNode
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode
from seine.operators.join.join import JoinNode
from seine.operators.join.lookup import LookupNode
from seine.operators.limited.limited_join import LimitedNode
from seine.operators.match.deliver import DeliverNode
from seine.operators.match.fan import FanNode
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.multi_join.multi_join import MultiJoinNode
from seine.operators.rank.over import OverNode
from seine.operators.rank.rank import RankNode
from seine.operators.search.alive_top import AliveTopNode
from seine.operators.search.keyword_search import SearchNode
from seine.operators.search.period_top import PeriodTopNode
from seine.operators.search.spot import SpotNode
from seine.operators.search.watch import WatchNode
from seine.operators.stream.resolve import ResolveNode
from seine.operators.stream.source import PunctuationsNode, SourceNode

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
