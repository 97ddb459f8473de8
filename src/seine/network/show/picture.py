"""The network as one self-contained page: an SVG by stages that zooms, with search and paths of queries.

The frame of the picture: HTML, style and script, which lie in files beside this module.

What is filled in stands between double @ signs: @@STYLE@@ and @@SCRIPT@@ here, the rest when a network is
drawn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from seine.errors import printable
from seine.graph.node_words import BoxContent
from seine.network.show.labels import NodeLine, States
from seine.network.show.picture_boxes import BOX_HEIGHT, BOX_WIDTH, MARGIN, Box, make_boxes, place_boxes

MOST_LISTED = 200  # nodes that the panel describes for one box
MOST_CHARACTERS = 40  # of a line in a box
Templates = Mapping[str, Sequence[str]]  # the queries of each template of XSCL, which is in words


def draw(
    lines: list[NodeLine], headline: str, states: States | None = None, templates: Templates | None = None
) -> str:
    """A page that shows these lines; it fetches nothing, and every name in it is escaped."""
    boxes = make_boxes(lines)
    stages = place_boxes(boxes)
    names = list(dict.fromkeys(user for line in lines for user in line.users))
    number = {name: i for i, name in enumerate(names)}
    facts = {
        "queries": [printable(name) for name in names],
        "states": [[printable(text) for text in (states or {}).get(name, ())] for name in names],
        "templates": [
            [printable(text), [number[name] for name in users if name in number]]
            for text, users in (templates or {}).items()
        ],
        "boxes": [_facts(box, number) for box in boxes],
    }
    filling = {
        "HEADLINE": escape(headline),
        "SVG": _svg(boxes, stages),
        "DATA": _inert(json.dumps(facts, ensure_ascii=True, separators=(",", ":"))),
    }
    return "".join(filling.get(part, part) for part in page_template().split("@@"))


def _inert(data: str) -> str:
    """No "<" in the data: nothing in it can end the script element."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _facts(box: Box, number: dict[str, int]) -> dict[str, Any]:
    """What the page's script knows of a box.

    `users` is null if every query uses it; `own` has the users of each node of a pile.
    """
    listed = [*box.parts, *box.lines][:MOST_LISTED]
    users = [number[user] for user in box.users]
    return {
        "inputs": list(box.inputs),
        "title": box_title(box),
        "stage": box.stage,
        "nodes": [_node_texts(line) for line in listed],
        "own": [[number[user] for user in line.users] for line in listed] if len(box.lines) > 1 else None,
        "hidden": len(box.parts) + len(box.lines) - len(listed),
        "users": None if len(users) == len(number) else users,
        "reason": box.lines[0].reason if len(box.lines) == 1 else None,
    }


def _node_texts(line: NodeLine) -> list[str]:
    """A node in the panel: what it is, then what passes it."""
    head = f"#{line.node.id} {line.node.kind}: {line.text}"
    return [printable(text) for text in (head, *line.details)]


def box_title(box: Box) -> str:
    """What a box is: a node, or so many of a kind."""
    count = len(box.lines)
    return f"{box.kind} #{box.lines[0].node.id}" if count == 1 else f"{count} x {box.kind}"


def _svg(boxes: list[Box], stages: list[tuple[int, int]]) -> str:
    width = max((box.x for box in boxes), default=0) + BOX_WIDTH + MARGIN
    height = max((box.y for box in boxes), default=0) + BOX_HEIGHT + MARGIN
    heads = [_stage_head(stage, left, height) for stage, left in stages]
    edges = [_edge(boxes[i], box) for box in boxes for i in box.inputs]
    body = "".join([*heads, *edges, *map(_box, boxes)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="net" data-width="{width}" data-height="{height}" '
        f'role="img" aria-label="operator network"><g id="world">{body}</g></svg>'
    )


def _stage_head(stage: int, left: int, height: int) -> str:
    name = "as tuples arrive" if stage == 0 else f"stage {stage}"
    line = f'<line class="stage" x1="{left - 24}" y1="8" x2="{left - 24}" y2="{height - 8}"/>'
    return f'{line}<text class="stage" x="{left}" y="28">{name}</text>'


def _edge(source: Box, target: Box) -> str:
    x1, y1 = source.x + BOX_WIDTH, source.y + BOX_HEIGHT // 2
    x2, y2 = target.x, target.y + BOX_HEIGHT // 2
    bend = min(max(40, (x2 - x1) // 2), 120)
    path = f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
    return f'<path class="edge" data-from="{source.number}" data-to="{target.number}" d="{path}"/>'


def _box(box: Box) -> str:
    users = len(box.users)
    badge = f'<text class="badge" x="{BOX_WIDTH - 10}" y="19">{users} queries</text>' if users > 1 else ""
    classes = f"box {box.kind}{' shared' if users > 1 else ''}"
    tint = box.lines[0].node.tint
    style = f' style="--tint: {tint}"' if tint else ""
    texts = "".join(
        f'<text x="10" y="{y}">{escape(cut_text(printable(text)))}</text>'
        for y, text in zip((37, 53), box_texts(box), strict=False)
    )
    stack = f'<rect class="pile" x="5" y="5" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>'
    return (
        f'<g class="{classes}"{style} data-box="{box.number}" '
        f'transform="translate({box.x} {box.y})" tabindex="0">'
        f"<title>{escape(printable(box.lines[0].text))}</title>{stack if len(box.lines) > 1 else ''}"
        f'<rect width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>'
        f'<text class="kind" x="10" y="19">{escape(box_title(box))}</text>{badge}'
        f'<svg width="{BOX_WIDTH - 8}" height="{BOX_HEIGHT}">{texts}</svg></g>'
    )


def box_texts(box: Box) -> Sequence[str]:
    """The two lines of text in a box."""
    line = box.lines[0]
    part_details = [detail for part in box.parts for detail in part.details]
    content = BoxContent(line.text, line.details, part_details, box.users, len(box.lines) > 1)
    return line.node.box_lines(content)


def cut_text(text: str) -> str:
    """A text as long as a box is wide."""
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


@cache
def page_template() -> str:
    """The page, complete but for the network that it shows."""
    template = _read("page.html")
    return template.replace("@@STYLE@@", _read("page.css")).replace("@@SCRIPT@@", _read("page.js"))


def _read(name: str) -> str:
    return files("seine.network.show").joinpath(name).read_text(encoding="utf-8")
