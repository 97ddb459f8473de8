"""The network as the console draws it: boxes in their places, as `seine explain --html` has them; figures.

What does alike is one box where there are many; so a picture of a hundred thousand queries is as small as one
of ten. It is made again when the network has changed, but no more than a part of the time is spent on that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from seine.errors import printable
from seine.frontends.script.script import Declarations
from seine.lifecycle.view import MissingError, View
from seine.network.network import Network
from seine.network.show.labels import NodeLine, explain_lines
from seine.network.show.picture import Box, box_texts, box_title, cut_text, make_boxes, place_boxes
from seine.service.console.console_answers import BoxAnswer, NetworkAnswer, NodeAnswer
from seine.service.costs import NodeCost
from seine.service.figures import DeliveryFigures

_MOST_NAMED = 50  # nodes of a box, or queries of a node, that are named
_LEAST_REST = 20.0  # times as long as making a picture took, before another one is made

Look = Callable[[Callable[[Network], "DrawnNetwork"]], "DrawnNetwork"]


@dataclass(frozen=True)
class DrawnNetwork:
    """A picture of one version of the network, without figures."""

    version: int
    boxes: list[Box]
    stages: list[tuple[int, int]]
    box_of: Mapping[int, int]  # of each node, parts of boxes too


def drawn(network: Network, declared: Declarations) -> DrawnNetwork:
    """The picture of a network as it is now."""
    boxes = make_boxes(explain_lines(network, declared.streams, relations=declared.relations))
    stages = place_boxes(boxes)
    box_of = {line.node.id: box.number for box in boxes for line in (*box.parts, *box.lines)}
    return DrawnNetwork(network.version, boxes, stages, box_of)


class NetworkPictures:
    """Keeps the last picture; any thread may ask for one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last: DrawnNetwork | None = None
        self._due = 0.0  # when another picture may be made

    def newest(self, view: View, look: Look) -> DrawnNetwork:
        """The picture of the network as it is now, or was a short while ago."""
        with self._lock:
            if self._last is None or (self._last.version != view.version and time.monotonic() >= self._due):
                began = time.monotonic()
                self._last = look(lambda network: drawn(network, view.declared))
                ended = time.monotonic()
                self._due = ended + _LEAST_REST * (ended - began)
            return self._last


def network_answer(
    picture: DrawnNetwork,
    figures: DeliveryFigures,
    rates: Mapping[int, float],
    costs: Mapping[int, NodeCost],
    used: tuple[int, ...],
) -> NetworkAnswer:
    """A picture with what its nodes hold and send; the boxes of the nodes `used` are named."""
    chosen = {picture.box_of[node] for node in used if node in picture.box_of}
    return {
        "version": picture.version,
        "stages": [{"stage": stage, "left": left} for stage, left in picture.stages],
        "boxes": [_box(box, figures, rates, costs) for box in picture.boxes],
        "used": sorted(chosen),
    }


def _box(
    box: Box, figures: DeliveryFigures, rates: Mapping[int, float], costs: Mapping[int, NodeCost]
) -> BoxAnswer:
    nodes = [line.node.id for line in box.lines]
    users = box.users
    return {
        "number": box.number,
        "x": box.x,
        "y": box.y,
        "stage": box.stage,
        "kind": box.kind,
        "title": box_title(box),
        "lines": [cut_text(printable(text)) for text in box_texts(box)],
        "inputs": list(box.inputs),
        "nodes": nodes[:_MOST_NAMED],
        "count": len(nodes),
        "users": len(users),
        "named_users": [printable(name) for name in users[:_MOST_NAMED]],
        "reason": box.lines[0].reason,
        "held": sum(_held(node, figures) for node in nodes),
        "rate": round(sum(rates.get(node, 0.0) for node in nodes), 2),
        "cpu_seconds": round(sum(costs[node].cpu for node in nodes if node in costs), 6),
    }


def _held(node: int, figures: DeliveryFigures) -> int:
    counts = (figures.state_rows, figures.group_rows, figures.punctuation_rows)
    return sum(count.get(node, 0) for count in counts)


def node_answer(
    picture: DrawnNetwork,
    number: int,
    figures: DeliveryFigures,
    rates: Mapping[int, float],
    costs: Mapping[int, NodeCost],
) -> NodeAnswer:
    """One node of a picture: what it does, what passes it, who uses it and why they share it."""
    line = _line(picture, number)
    return {
        "node": number,
        "kind": line.node.kind,
        "stage": line.node.stage,
        "stateful": line.node.stateful,
        "inputs": list(line.node.inputs),
        "text": printable(line.text),
        "details": [printable(text) for text in line.details],
        "users": len(line.users),
        "named_users": list(line.users[:_MOST_NAMED]),
        "reason": line.reason,
        "state_rows": figures.state_rows.get(number, 0),
        "group_rows": figures.group_rows.get(number, 0),
        "punctuations": figures.punctuation_rows.get(number, 0),
        "rate": round(rates.get(number, 0.0), 2),
        "cost": costs.get(number, NodeCost()).to_json(),
        "box": picture.box_of[number],
    }


def _line(picture: DrawnNetwork, number: int) -> NodeLine:
    if number not in picture.box_of:
        raise MissingError(f"there is no node {number}", hint="the network may have changed")
    box = picture.boxes[picture.box_of[number]]
    return next(line for line in (*box.parts, *box.lines) if line.node.id == number)
