"""The demonstration `feeds`: 10,000 subscriptions to made-up items of 400 channels over two days.

The items are news that others post again, answer, and write more about.
An item is an RSS item: title, link, author, category, source (the channel), pubDate, description, and
`related`, the link of the item that it answers. A few items in a hundred repeat the title of another
channel's item, and a few answer one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import numpy as np

from seine.algebra.arrays import IntArray

START = datetime(2026, 11, 14, tzinfo=UTC)
_FEED = """\
<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel><title>News of hour {hour}</title>
{items}
</channel></rss>
"""
_SECONDS = 2 * 86_400
_PLACES = (
    *(
        "Harbour",
        "Valley",
        "Northern",
        "River",
        "Coastal",
        "Capital",
        "Mountain",
        "Island",
        "Prairie",
        "Lake",
    ),
    *("Border", "Garden", "Forest", "Market", "Bridge", "Summit", "Desert", "Station", "Meadow", "Castle"),
)
_PAPERS = (
    *("Gazette", "Wire", "Herald", "Courier", "Post", "Observer", "Tribune", "Echo", "Ledger", "Notes"),
    *(
        "Monitor",
        "Chronicle",
        "Review",
        "Bulletin",
        "Dispatch",
        "Letters",
        "Record",
        "Weekly",
        "Voice",
        "Blog",
    ),
)
CHANNELS = tuple(f"{place} {paper}" for paper in _PAPERS for place in _PLACES)
CATEGORIES = (
    *("energy", "sea", "railways", "schools", "music", "chess", "weather", "harvest", "space", "football"),
    *(
        "markets",
        "medicine",
        "bridges",
        "elections",
        "theatre",
        "cycling",
        "water",
        "housing",
        "radio",
        "birds",
    ),
)
_FIRST = ("Ada", "Bruno", "Chen", "Dora", "Emil", "Fatma", "Goran", "Hana", "Igor", "Jun", "Kofi", "Lena")
_LAST = ("Keller", "Okafor", "Silva", "Novak", "Haddad", "Berg", "Costa", "Ivanov", "Mori", "Duarte", "Lund")
AUTHORS = tuple(f"{first} {last}" for first in _FIRST for last in _LAST)
_SUBJECTS = ("Council", "Mayor", "Museum", "Shipyard", "Dairy", "School", "Ferry", "Choir", "Court", "Bank")
_VERBS = (
    "welcomes",
    "delays",
    "rebuilds",
    "doubts",
    "opens",
    "cancels",
    "measures",
    "defends",
    "counts",
    "paints",
)
_OBJECTS = (
    *("the northern line", "a new lighthouse", "the old archive", "its first budget", "the long tunnel"),
    *("a wind farm", "the spring fair", "a record catch", "the night train", "the city pool"),
)
_TIMES = (
    "",
    " again",
    " at last",
    " in secret",
    " for the third time",
    " before winter",
    " after all",
    " by vote",
)
_REPOSTS, _ANSWERS = 0.06, 0.04  # shares of items
_FARTHEST = 400  # items between an item and what repeats or answers it: about two hours
_STREAM = """\
CREATE STREAM news (item XML, ts TIMESTAMP) TIMESTAMP BY ts WINDOW INTERVAL '12' HOUR
  FROM 'feeds' FORMAT XML WITH (feed = 'true');
"""
# name -> what a reader wants to hear of, and the subscription
FOLLOWED = {
    "ada": (
        "what the Harbour Gazette has first and others post again within six hours",
        "news/item[source='Harbour Gazette'][title->t] FOLLOWED BY{t=u, INTERVAL '6' HOUR} "
        "news/item[title->u]",
    ),
    "bruno": (
        "who answers Bruno Keller within six hours",
        "news/item[author='Bruno Keller'][link->l] FOLLOWED BY{l=r, INTERVAL '6' HOUR} news/item[related->r]",
    ),
    "chen": (
        "authors who write twice about energy within two hours",
        "news/item[category='energy'][author->a] FOLLOWED BY{a=b, INTERVAL '2' HOUR} "
        "news/item[category='energy'][author->b]",
    ),
    "dora": (
        "answers to anybody that another channel then posts again",
        "news/item[link->l] FOLLOWED BY{l=r, INTERVAL '6' HOUR} news/item[related->r][title->t] "
        "FOLLOWED BY{t=u, INTERVAL '6' HOUR} news/item[title->u]",
    ),
}
_SENTENCES = {
    "ada": "{first} is posted again by {source}",
    "bruno": "{first} is answered by {author}: {last}",
    "chen": "{before} writes {first}, and then {last}",
    "dora": "{first} is answered, and {source} posts the answer again: {last}",
}


@dataclass(frozen=True)
class NewsItems:
    """Items in the order of their times, as columns; `again` and `answered` are items, or -1."""

    seconds: IntArray
    channel: IntArray
    author: IntArray
    category: IntArray
    title: IntArray
    again: IntArray
    answered: IntArray

    def __len__(self) -> int:
        return len(self.seconds)

    def text(self, item: int) -> str:
        """An item as XML."""
        related = f"<related>{_link(int(self.answered[item]))}</related>" if self.answered[item] >= 0 else ""
        title, channel = title_text(int(self.title[item])), CHANNELS[self.channel[item]]
        return (
            f"<item><title>{escape(title)}</title><link>{_link(item)}</link>"
            f"<author>{AUTHORS[self.author[item]]}</author><category>{CATEGORIES[self.category[item]]}</category>"
            f"<source>{channel}</source><pubDate>{self.time(item)}</pubDate>{related}"
            f"<description>{escape(title)}, writes {channel}.</description></item>"
        )

    def time(self, item: int) -> str:
        """The time of an item, as RSS has it."""
        return format_datetime(START + timedelta(seconds=int(self.seconds[item])), usegmt=True)

    def feeds(self) -> Iterator[tuple[int, str]]:
        """The items of each hour as an RSS feed."""
        hours = self.seconds // 3_600
        for hour in np.unique(hours).tolist():
            items = "\n".join(self.text(item) for item in np.flatnonzero(hours == hour).tolist())
            yield hour, _FEED.format(hour=hour, items=items)


def title_text(number: int) -> str:
    """
    >>> title_text(1234)
    'Dairy doubts the old archive again'
    """
    number, subject = divmod(number, len(_SUBJECTS))
    number, verb = divmod(number, len(_VERBS))
    number, object_ = divmod(number, len(_OBJECTS))
    return f"{_SUBJECTS[subject]} {_VERBS[verb]} {_OBJECTS[object_]}{_TIMES[number % len(_TIMES)]}"


def draw_channels(draw: np.random.Generator, count: int) -> IntArray:
    """So many channels, by Zipf's law."""
    weights = 1 / (np.arange(len(CHANNELS)) + 3) ** 0.8
    return draw.choice(len(CHANNELS), count, p=weights / weights.sum())


def _link(item: int) -> str:
    return f"http://news.example/{item}"


def make_news(items: int, seed: int = 7) -> NewsItems:
    """So many items, the same for the same arguments; at most 8,000, for titles are told apart.

    >>> news = make_news(1_000)
    >>> int((news.again >= 0).sum()) > 30 and int((news.answered >= 0).sum()) > 20
    True
    """
    titles = len(_SUBJECTS) * len(_VERBS) * len(_OBJECTS) * len(_TIMES)
    if items > titles:
        raise ValueError(f"there are {titles} different titles")
    draw = np.random.default_rng(seed)
    title = draw.permutation(titles)[:items]
    author, category = draw.integers(0, len(AUTHORS), items), draw.integers(0, len(CATEGORIES), items)
    again, answered = np.full(items, -1), np.full(items, -1)
    kind = draw.random(items)
    back = np.arange(items) - draw.integers(1, _FARTHEST, items)
    later = np.flatnonzero((back >= 0) & (kind < _REPOSTS + _ANSWERS))
    for item in later.tolist():
        source = int(back[item])
        category[item] = category[source]
        if kind[item] < _REPOSTS:
            again[item], title[item] = source, title[source]
        else:
            answered[item] = source
    channel = draw_channels(draw, items)
    return NewsItems(
        np.sort(draw.integers(0, _SECONDS, items)), channel, author, category, title, again, answered
    )


def write_news(folder: str | Path, *, items: int = 8_000, subscriptions: int = 10_000, seed: int = 7) -> Path:
    """Write feeds, a file an hour, and subscriptions into a folder; returns the path of the script."""
    folder = Path(folder)
    feeds = folder / "feeds"
    feeds.mkdir(parents=True, exist_ok=True)
    for hour, text in make_news(items, seed).feeds():
        feeds.joinpath(f"{hour:02}.xml").write_text(text, encoding="utf-8")
    script = folder / "subscriptions.sql"
    texts = {name: text for name, (_, text) in FOLLOWED.items()}
    texts |= {f"s{number}": text for number, text in enumerate(_others(subscriptions - len(texts), seed))}
    queries = "".join(f"CREATE QUERY {name} AS XSCL $$ {text} $$;\n" for name, text in texts.items())
    script.write_text(_STREAM + queries, encoding="utf-8")
    return script


def _others(count: int, seed: int) -> Iterator[str]:
    """Subscriptions of other readers: three kinds, each with channels, authors and categories of its own."""
    draw = np.random.default_rng(seed)
    channels = np.stack([draw_channels(draw, count) for _ in range(2)], axis=1)
    authors, categories = draw.integers(0, len(AUTHORS), count), draw.integers(0, len(CATEGORIES), count)
    for number in range(count):
        hours = 1 + number % 6
        first, second = (CHANNELS[channel] for channel in channels[number])
        category, author = CATEGORIES[categories[number]], AUTHORS[authors[number]]
        yield (
            f"news/item[source='{first}'][title->t] FOLLOWED BY{{t=u, INTERVAL '{hours}' HOUR}} "
            f"news/item[source='{second}'][title->u]",
            f"news/item[source='{first}'][link->l] FOLLOWED BY{{l=r, INTERVAL '{hours}' HOUR}} "
            f"news/item[category='{category}'][related->r]",
            f"news/item[author='{author}'][title->t][category->c] "
            f"FOLLOWED BY{{t=u AND c=d, INTERVAL '{hours}' HOUR}} news/item[title->u][category->d]",
        )[number % 3]


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
