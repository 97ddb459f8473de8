"""Line charts as SVG, for light and dark backgrounds.

Both axes are logarithmic, for values that differ by factors; or linear from 0 on, for shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 56, 60  # the right margin holds the names of the curves
_COLOURS = ("#2f7ed8", "#d9534f", "#2ca02c", "#9467bd", "#e08a00", "#17a2a2", "#8c564b", "#7f7f7f")
_DASHES = ("none", "7 4", "2 3", "9 3 2 3", "4 4", "1 4", "12 3", "3 6")
_LABEL_GAP = 16
_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.note { font-size: 11px; fill: #57606a }
.grid { stroke: #d0d7de; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9da7b1 } .grid { stroke: #3d444d }
}"""


@dataclass(frozen=True)
class Curve:
    """A named series of points; coordinates are above 0."""

    name: str
    points: Sequence[tuple[float, float]]


class _Axis:
    """A logarithmic axis: maps values to coordinates."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = math.log10(min(values)), math.log10(max(values))
        room = max((high - low) * 0.06, 0.05)
        self.low, self.high, self.start, self.end = low - room, high + room, start, end

    def place(self, value: float) -> float:
        """The coordinate of a value."""
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """1, 2 and 5 times powers of ten, or the powers alone; equal steps where the range is narrow."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        for steps in ((1, 2, 5), (1,)):
            shown = self._within(step * 10.0**power for power in powers for step in steps)
            if 3 <= len(shown) <= 9:
                return shown
        if len(shown) > 9:
            return shown[:: -(-len(shown) // 9)]
        low, high = 10**self.low, 10**self.high
        step = 10.0 ** math.floor(math.log10(high - low))
        step = next(step / part for part in (1, 2, 5, 10) if (high - low) * part / step >= 3)
        return self._within(step * number for number in range(1, math.ceil(high / step)))[:12]

    def _within(self, values: Iterable[float]) -> list[float]:
        return [value for value in values if 10**self.low <= value <= 10**self.high]


class _EvenAxis:
    """A linear axis from 0 on: maps values to coordinates."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.high, self.start, self.end = max(values) * 1.03, start, end

    def place(self, value: float) -> float:
        """The coordinate of a value."""
        return self.start + value / self.high * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of ten."""
        step = 10.0 ** math.floor(math.log10(self.high))
        step = next(step / part for part in (1, 2, 5, 10) if self.high * part / step >= 4)
        return [step * number for number in range(math.floor(self.high / step) + 1)]


def line_chart(
    title: str, x: str, y: str, curves: Sequence[Curve], note: str = "", even: bool = False
) -> str:
    """The SVG of curves; each x of a point has a tick. `even`: linear axes instead of logarithmic ones.

    >>> line_chart("Cost", "queries", "s", [Curve("all", [(1, 1.0), (10, 2.0)])])[:4]
    '<svg'
    """
    xs = sorted({px for curve in curves for px, _ in curve.points})
    axis = _EvenAxis if even else _Axis
    across = axis(xs, _LEFT, _WIDTH - _RIGHT)
    up = axis([py for curve in curves for _, py in curve.points], _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title, {chr(34): "&quot;"})}">',
        f"<style>{_STYLE}</style>",
        _text(_LEFT, 24, title, "title"),
        _text(_LEFT, 42, y, "note"),
        *(_across_tick(across.place(value), value) for value in xs),
        *(_up_tick(up.place(value), value) for value in up.ticks()),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 24, x, "note", "middle"),
        _text(_LEFT, _HEIGHT - 8, note, "note"),
    ]
    labels = _spread([up.place(curve.points[-1][1]) for curve in curves])
    for number, curve in enumerate(curves):
        parts += _drawn(curve, number, across, up, labels[number])
    return "\n".join([*parts, "</svg>", ""])


def _drawn(
    curve: Curve, number: int, across: _Axis | _EvenAxis, up: _Axis | _EvenAxis, label: float
) -> list[str]:
    colour, dash = _COLOURS[number % len(_COLOURS)], _DASHES[number % len(_DASHES)]
    places = [(across.place(px), up.place(py)) for px, py in curve.points]
    line = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
    x, y = places[-1]
    return [
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" '
        f'stroke-dasharray="{dash}"/>',
        *(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in places),
        f'<line x1="{x + 5:.1f}" y1="{y:.1f}" x2="{x + 18:.1f}" y2="{label:.1f}" stroke="{colour}"/>',
        _text(x + 22, label + 4, curve.name),
    ]


def _spread(wanted: Sequence[float]) -> list[float]:
    """Coordinates for labels, near the wanted ones but without overlap.

    >>> _spread([100, 104, 300])
    [100, 116, 300]
    """
    result = [0.0] * len(wanted)
    last = -math.inf
    for number in sorted(range(len(wanted)), key=lambda n: wanted[n]):
        last = result[number] = max(wanted[number], last + _LABEL_GAP)
    return result


def _across_tick(x: float, value: float) -> str:
    return _text(x, _HEIGHT - _BOTTOM + 18, f"{value:,.0f}", "note", "middle")


def _up_tick(y: float, value: float) -> str:
    line = f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>'
    return line + _text(_LEFT - 8, y + 4, f"{value:,.0f}" if value >= 10 else f"{value:.3g}", "note", "end")


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{escape(text)}</text>'
