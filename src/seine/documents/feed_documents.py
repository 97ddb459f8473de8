"""The items of a feed, each as a document of its own: RSS 0.9 to 2.0, RSS 1.0 (RDF), and Atom.

A document keeps the namespaces that were declared around it.
"""

from __future__ import annotations

from lxml import etree

from seine.documents.document import local_name
from seine.documents.parse_document import LARGEST_DOCUMENT, DocumentFault, parse_document

MOST_ITEM_CHARACTERS = 8 * LARGEST_DOCUMENT  # of all items of a feed, each with the namespaces around it
_TIMES = ("pubDate", "updated", "published", "date", "issued", "modified")  # the first that is there counts


def feed_items(text: str) -> list[str]:
    """The items or entries of a feed in the order of the file; raises a DocumentFault if it is no feed.

    >>> feed_items("<rss><channel><title>T</title><item><title>x</title></item></channel></rss>")
    ['<item><title>x</title></item>']
    """
    root = parse_document(text)
    kind = local_name(root.tag)
    if kind not in ("rss", "RDF", "feed"):
        raise DocumentFault(f"no RSS or Atom feed: its root element is {kind[:80]}")
    wanted = "entry" if kind == "feed" else "item"
    items: list[str] = []
    room = MOST_ITEM_CHARACTERS
    for item in root.iter("{*}" + wanted):
        if item is not root and local_name(item.getparent().tag) in ("channel", "RDF", "rss", "feed"):
            items.append(etree.tostring(item, encoding="unicode", with_tail=False))
            room -= len(items[-1])
            if room < 0:
                raise DocumentFault(
                    f"the items of the feed, with the namespaces declared around each, have more than "
                    f"{MOST_ITEM_CHARACTERS:,} characters"
                )
    return items


def item_time(root: etree._Element) -> str | None:
    """The time that an item has by itself: pubDate of RSS, updated or published of Atom, or another date."""
    texts = {local_name(child.tag): child.text for child in reversed(root) if isinstance(child.tag, str)}
    return next((texts[name] for name in _TIMES if texts.get(name)), None)
