"""Made-up items of 400 channels over two days: news that others post again, answer, and write more about.

An item is an RSS item: title, link, author, category, source (the channel), pubDate, description, and
`related`, the link of the item that it answers. A few items in a hundred repeat the title of another
channel's item, and a few answer one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
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
