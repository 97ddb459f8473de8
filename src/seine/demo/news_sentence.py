"""Records of the demonstration `feeds` as sentences: what a reader would want to see of their items."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

_SENTENCES = {
    "ada": "{first} is posted again by {source}",
    "bruno": "{first} is answered by {author}: {last}",
    "chen": "{before} writes {first}, and then {last}",
    "dora": "{first} is answered, and {source} posts the answer again: {last}",
}


def sentence(record: dict[str, Any]) -> str:
    """A record of a query that is followed.

    >>> items = [
    ...     f"<item><title>Mayor opens a wind farm</title><source>{source}</source></item>"
    ...     for source in ("Harbour Gazette", "River Wire")
    ... ]
    >>> row = {"doc": f"<result>{''.join(items)}</result>"}
    >>> print(sentence({"query": "ada", "t_start": "2026-11-14T09:30:00Z", "row": row}))
    14 Nov 09:30  ada    \u201cMayor opens a wind farm\u201d (Harbour Gazette) is posted again by River Wire
    """
    first, *_, last = ElementTree.fromstring(record["row"]["doc"])  # Seine's own text
    text = _SENTENCES[record["query"]].format(
        first=f"{_quoted(first)} ({first.findtext('source')})",
        before=first.findtext("author"),
        last=_quoted(last),
        source=last.findtext("source"),
        author=last.findtext("author"),
    )
    when = record["t_start"]
    return f"{when[8:10]} Nov {when[11:16]}  {record['query']:<6} {text}"


def _quoted(item: ElementTree.Element) -> str:
    return f"\u201c{item.findtext('title')}\u201d"
