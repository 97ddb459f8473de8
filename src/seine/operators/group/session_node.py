"""The node of sessions: it tells of every row the session that it belongs to.

    SELECT bidder, COUNT(*), session_window.start FROM bid GROUP BY bidder, session_window(ts, 5)

    rows ── fan (tag, ts + gap, ts, bidder) ── sessions ── fan ── aggregate by (tag, session, bidder)

How long a gap is, is a constant of the fan: a thousand gaps are rows of its table. Its operator is
`sessions.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.graph.node_words import NodeWords
from seine.operators.group.breaker_node import SetOperatorNode
from seine.operators.group.sessions import SessionOperator
from seine.operators.step.working_nodes import HostFlow, StatefulNode


@dataclass(frozen=True)
class SessionNode(SetOperatorNode, StatefulNode):
    """Each row with its session instead of its time: columns are the tag, time + gap, the session, others.

    The port's key is the tag and the keys of which there are sessions.
    """

    kind = "session"
    reason = "same sessions"

    def make_operator(self, flow: HostFlow) -> SessionOperator:
        return SessionOperator(self)

    @property
    def row_inputs(self) -> int:
        return len(self.ports)

    def describe(self, words: NodeWords) -> str:
        return "sessions"
