"""The network as one self-contained page: an SVG by stages, with highlighting and search."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from seine.errors import printable
from seine.network.boxes import BOX_HEIGHT, BOX_WIDTH, MARGIN, Box, make_boxes, place_boxes
from seine.network.lines import Line
from seine.network.page import PAGE

MOST_LISTED = 200  # nodes and queries that the panel lists for one box
TITLE_LENGTH = 30


def draw(lines: list[Line], headline: str) -> str:
    """A page that shows these lines; it fetches nothing, and every name in it is escaped."""
    boxes = make_boxes(lines)
    stages = place_boxes(boxes)
    data = json.dumps([_facts(box) for box in boxes], ensure_ascii=True)
    filling = {
        "HEADLINE": escape(headline),
        "SVG": _svg(boxes, stages),
        # No "<" in the data: nothing in it can end the script element.
        "DATA": data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    }
    return "".join(filling.get(part, part) for part in PAGE.split("@@"))


def _facts(box: Box) -> dict[str, Any]:
    """What the page's script knows of a box."""
    texts = [printable(f"#{line.node.id} {line.text}") for line in box.lines[:MOST_LISTED]]
    users = box.users
    return {
        "inputs": list(box.inputs),
        "title": _title(box),
        "stage": box.stage,
        "texts": texts,
        "hidden": len(box.lines) - len(texts),
        "users": [printable(user) for user in users[:MOST_LISTED]],
        "others": max(0, len(users) - MOST_LISTED),
        "reason": box.lines[0].reason if len(box.lines) == 1 else None,
    }


def _title(box: Box) -> str:
    count = len(box.lines)
    return f"{box.kind} #{box.lines[0].node.id}" if count == 1 else f"{count} x {box.kind}"


def _svg(boxes: list[Box], stages: list[tuple[int, int]]) -> str:
    width = max((box.x for box in boxes), default=0) + BOX_WIDTH + MARGIN
    height = max((box.y for box in boxes), default=0) + BOX_HEIGHT + MARGIN
    heads = [_stage_head(stage, left, height) for stage, left in stages]
    edges = [_edge(boxes[i], box) for box in boxes for i in box.inputs]
    body = "".join([*heads, *edges, *map(_box, boxes)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="net" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="operator network">{body}</svg>'
    )


def _stage_head(stage: int, left: int, height: int) -> str:
    name = "streams and selections" if stage == 0 else f"stage {stage}"
    line = f'<line class="stage" x1="{left - 14}" y1="8" x2="{left - 14}" y2="{height - 8}"/>'
    return f'{line}<text class="stage" x="{left - 4}" y="24">{name}</text>'


def _edge(source: Box, target: Box) -> str:
    x1, y1 = source.x + BOX_WIDTH, source.y + BOX_HEIGHT // 2
    x2, y2 = target.x, target.y + BOX_HEIGHT // 2
    bend = max(40, (x2 - x1) // 2)
    path = f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
    return f'<path class="edge" data-from="{source.number}" data-to="{target.number}" d="{path}"/>'


def _box(box: Box) -> str:
    line = box.lines[0]
    shared = len(box.users) > 1 and box.kind != "deliver"
    text = f"query {line.users[0]}" if box.kind == "deliver" and len(box.lines) == 1 else line.text
    badge = (
        f'<text class="badge" x="{BOX_WIDTH - 8}" y="17">{len(box.users)} queries</text>' if shared else ""
    )
    classes = f"box {box.kind}{' shared' if shared else ''}"
    return (
        f'<g class="{classes}" data-box="{box.number}" transform="translate({box.x} {box.y})" tabindex="0">'
        f"<title>{escape(printable(line.text))}</title>"
        f'<rect width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>'
        f'<text class="kind" x="10" y="17">{escape(_title(box))}</text>{badge}'
        f'<text x="10" y="35">{escape(_cut(printable(text)))}</text></g>'
    )


def _cut(text: str) -> str:
    return text if len(text) <= TITLE_LENGTH else text[: TITLE_LENGTH - 1] + "…"
