"""The words and colours of all kinds of nodes, in one table."""

from __future__ import annotations

from typing import Any, cast

from seine.graph.node import Node
from seine.network.show.document_words import (
    CompleteWords,
    DocumentJoinWords,
    PartialWords,
    PublishWords,
    WitnessWords,
)
from seine.network.show.kind_words import AnyNode, KindWords
from seine.network.show.row_words import (
    AggregateWords,
    DeliverWords,
    DerivedPunctuationsWords,
    FanWords,
    FinalPartnersWords,
    FinalWords,
    JoinWords,
    LimitedWords,
    LookupWords,
    MultiJoinWords,
    MultisetWords,
    OnceWords,
    OverWords,
    PaneFanWords,
    PartnerLookupWords,
    PrefilterWords,
    PunctuationsWords,
    RankWords,
    RegroupWords,
    ResolveWords,
    SetOperatorWords,
    SourceWords,
)
from seine.network.show.search_words import SearchWords, SpotWords, WatchWords
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

# of any: a kind's words take nodes of this kind alone
WORDS: dict[type[Node], KindWords[Any]] = {
    SourceNode: SourceWords("same stream", tint="#2f7ed8"),
    PunctuationsNode: PunctuationsWords("same punctuations"),
    ResolveNode: ResolveWords("same deletions", tint="#5c7cfa"),
    PrefilterNode: PrefilterWords("same input of the same join"),
    LookupNode: LookupWords("same lookup", tint="#0c9aa8", passes="pairs", pile_level=3),
    PartnerLookupNode: PartnerLookupWords("same lookup", tint="#0c9aa8"),
    JoinNode: JoinWords("same join", tint="#e8710a", passes="pairs", pile_level=3),
    DerivedPunctuationsNode: DerivedPunctuationsWords("same punctuations of the same join"),
    MultiJoinNode: MultiJoinWords("same join", tint="#e8710a", passes="combinations", pile_level=3),
    LimitedNode: LimitedWords("same join and the same memory"),
    FanNode: FanWords("same conditions, up to constants"),
    MergeNode: SetOperatorWords("same union", tint="#b08900", text="all rows of all inputs"),
    AggregateNode: AggregateWords("same aggregate", tint="#8a55d7", pile_level=2),
    RegroupNode: RegroupWords("same finer groups"),
    PaneFanNode: PaneFanWords("same panes"),
    SessionNode: SetOperatorWords("same sessions", text="sessions"),
    DistinctNode: SetOperatorWords("same distinct rows", tint="#c2458f", text="distinct rows"),
    ExceptNode: SetOperatorWords(
        "same difference", tint="#c2458f", text="rows of the first input that are not in the second"
    ),
    MultisetNode: MultisetWords("same set operation", tint="#c2458f"),
    RankNode: RankWords("same ranks", tint="#c2458f"),
    OverNode: OverWords("same frames", tint="#c2458f"),
    OnceNode: OnceWords("first rows by the same columns", tint="#e8590c"),
    ChangelogNode: SetOperatorWords("same changelog", tint="#a0713d", text="reports the end of every row"),
    FinalNode: FinalWords("same final results"),
    FinalPartnersNode: FinalPartnersWords("same final rows", tint="#c2458f"),
    SettledNode: SetOperatorWords("same final rows", text="the rows that nothing will change, once"),
    WatchNode: WatchWords("same words table", tint="#9c36b5"),
    SpotNode: SpotWords("same search", tint="#9c36b5"),
    SearchNode: SearchWords("same search", tint="#9c36b5", passes="trees"),
    PeriodTopNode: SetOperatorWords("same best trees", tint="#9c36b5", text="the best trees of each period"),
    AliveTopNode: SetOperatorWords("same best trees", tint="#9c36b5", text="the best trees that are alive"),
    WitnessNode: WitnessWords("same documents", tint="#2f7ed8"),
    DocumentJoinNode: DocumentJoinWords("same pair of streams of documents", tint="#e8710a", passes="pairs"),
    CompleteNode: CompleteWords("same pairs of documents", tint="#b08900"),
    PartialNode: PartialWords("same combinations of documents", tint="#2f7ed8"),
    PublishNode: PublishWords("same published stream", tint="#2f7ed8"),
    DeliverNode: DeliverWords("same conditions, up to constants", tint="#2f9e63", pile_level=1),
}


def words_of(node: AnyNode) -> KindWords[AnyNode]:
    """The words of a node's kind."""
    return cast("KindWords[AnyNode]", WORDS[type(node)])
