"""The page of trees: a box for each tuple and a line for each edge, and nothing that a text could break."""

from __future__ import annotations

from xml.etree import ElementTree

from seine.demo.tree_page import FoundTuple, SearchResults, tree_page


def test_each_tuple_is_a_box_and_each_edge_a_line() -> None:
    leaves = tuple(FoundTuple("person", f"<Ada & {i}>", (f"w{i}",), ()) for i in range(3))
    tree = FoundTuple("film", "T" * 99, (), leaves)
    page = tree_page(
        "Trees", {"q": SearchResults("SEARCH '<w>'", 7, [("from 1", tree)]), "none": SearchResults("", 0, [])}
    )
    drawing = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    assert len(drawing.findall("rect")) == 4 and len(drawing.findall("line")) == 3
    texts = [text.text for text in drawing.findall("text")]
    assert {"w0", "w1", "w2", "<Ada & 0>"} <= {*texts} and all(len(text or "") < 40 for text in texts)
    assert "<w>" not in page and "7 records" in page and "0 records" in page
    heights = sorted(int(rect.get("y", "")) for rect in drawing.findall("rect"))
    assert heights[-1] + 58 <= int(drawing.get("height", ""))
