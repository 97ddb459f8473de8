"""Items of feeds: which elements they are, and that namespaces around them cannot multiply without bound."""

from __future__ import annotations

import pytest

from seine.documents import document
from seine.documents.document import feed_items
from seine.documents.parse_document import DocumentFault


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("<rss><channel><item>1</item><item>2</item></channel></rss>", ["<item>1</item>", "<item>2</item>"]),
        ("<rss><channel><x><item>1</item></x></channel></rss>", []),
        ("<RDF><channel/><item>1</item></RDF>", ["<item>1</item>"]),
        (
            "<feed><entry><source><entry/></source></entry></feed>",
            ["<entry><source><entry/></source></entry>"],
        ),
        ('<feed xmlns="urn:f"><entry/></feed>', ['<entry xmlns="urn:f"/>']),
    ],
)
def test_items(text: str, items: list[str]) -> None:
    assert feed_items(text) == items


def test_namespaces_that_every_item_would_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "MOST_ITEM_CHARACTERS", 10_000)
    declared = "".join(f' xmlns:n{i}="urn:{i}"' for i in range(50))
    assert len(feed_items(f"<rss{declared}><channel>{'<item/>' * 8}</channel></rss>")) == 8
    with pytest.raises(DocumentFault, match="more than 10,000 characters"):
        feed_items(f"<rss{declared}><channel>{'<item/>' * 80}</channel></rss>")
