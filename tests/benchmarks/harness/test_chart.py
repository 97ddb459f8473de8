"""Charts are well-formed pictures."""

from __future__ import annotations

from xml.etree import ElementTree

from benchmarks.harness.chart import Curve, line_chart


def test_charts_are_well_formed() -> None:
    curves = [Curve("a < b & c", [(100, 0.5), (768, 2.0)]), Curve("flat", [(100, 0.5), (768, 0.5)])]
    for chosen in (curves, curves[1:]):
        root = ElementTree.fromstring(line_chart('CPU "seconds"', "queries", "s", chosen, "a note"))
        assert root.tag.endswith("svg")
        lines = [part for part in root if part.tag.endswith("polyline")]
        assert len(lines) == len(chosen)
        points = [tuple(map(float, p.split(","))) for p in lines[0].attrib["points"].split()]
        assert len(points) == 2
        assert all(0 < x < 720 and 0 < y < 420 for x, y in points)
