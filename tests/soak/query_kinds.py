"""Kinds of queries that come and go, each with its SELECT for the service and one for DuckDB.

The one for DuckDB is over tuples with numbers of arrival and lives that are spelled out: it knows no
changelogs, no watermarks and no sharing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.soak.feeds import KEYS, VALUES, Feed

PANE = 10  # instants of a window in GROUP BY

Births = Mapping[str, int]  # of each stream the first arrival that counts
PlainTruth = Callable[[Births, int, int], str]  # the records that begin in [low, high)
NetTruth = Callable[[Births, int], str]  # the rows at an instant


@dataclass(frozen=True)
class QueryKind:
    """A query: what it is called, the text after its name, and what it must say.

    Exactly one of `plain` and `net` is there. `plain` has the columns `t_start` and `t_end`, if `lives`,
    and those of the row; `begin` says by which instant a record is judged.
    """

    kind: str
    text: str
    streams: Sequence[Feed]
    plain: PlainTruth | None = None
    net: NetTruth | None = None
    lives: bool = True

    @property
    def is_changelog(self) -> bool:
        return self.net is not None

    def instant(self, record: dict[str, object]) -> int:
        """When a record begins; a group of a window is complete with the window."""
        row, start = record["row"], record["t_start"]
        assert isinstance(row, dict)
        if self.kind == "window" and "since" in row:  # else it is of a query that had its name before
            return int(row["since"]) + PANE - 1
        return -1 if start is None else int(str(start))


def some_query(rng: Random, feeds: Sequence[Feed]) -> QueryKind:
    """A query over some of these streams."""
    first, second = rng.choice(feeds), rng.choice(feeds)
    if first is second:
        makers = [_selection, _selection, _pairs, _totals, _kinds, _windows, _best]
        if first.added:
            makers += [_of_added_column] * 2
        return rng.choice(makers)(rng, first)
    return rng.choice([_across, _missing, _alone])(rng, first, second)


def every_row(feed: Feed) -> QueryKind:
    """The query that reports each tuple of a stream."""

    def plain(births: Births, low: int, high: int) -> str:
        return f"{_begun(feed)}, id {_born(feed, births)} AND {_in(low, high)}"

    return QueryKind("every row", f"AS SELECT id FROM {feed.name}", [feed], plain)


def _selection(rng: Random, feed: Feed) -> QueryKind:
    condition = f"v > {rng.randrange(VALUES)} AND k < {rng.randrange(KEYS // 2, KEYS)}"

    def plain(births: Births, low: int, high: int) -> str:
        return f"{_begun(feed)}, id, v {_born(feed, births)} AND {_in(low, high)} AND {condition}"

    return QueryKind("selection", f"AS SELECT id, v FROM {feed.name} WHERE {condition}", [feed], plain)


def _of_added_column(rng: Random, feed: Feed) -> QueryKind:
    column = rng.choice(feed.added)
    condition = f"{column} > {rng.randrange(VALUES)}"

    def plain(births: Births, low: int, high: int) -> str:
        return f"{_begun(feed)}, id, {column} {_born(feed, births)} AND {_in(low, high)} AND {condition}"

    text = f"AS SELECT id, {column} FROM {feed.name} WHERE {condition}"
    return QueryKind("added column", text, [feed], plain)


def _pairs(rng: Random, feed: Feed) -> QueryKind:
    name, condition = feed.name, f"a.v > {rng.randrange(VALUES // 2, VALUES)}"

    def plain(births: Births, low: int, high: int) -> str:
        return f"""SELECT b.ts AS t_start, a.ts + {feed.window} AS t_end, a.id AS x, b.id AS y
            FROM {name} a JOIN {name} b ON a.k = b.k AND a.ts < b.ts AND b.ts < a.ts + {feed.window}
            WHERE {condition} AND b.ts >= {low} AND b.ts < {high} AND a.ts >= {low - feed.window}
              AND a.arrival >= {births[name]} AND b.arrival >= {births[name]}"""

    text = f"AS SELECT a.id AS x, b.id AS y FROM {name} a, {name} b WHERE a.k = b.k AND a.ts < b.ts"
    return QueryKind("pairs", f"{text} AND {condition}", [feed], plain)


def _across(rng: Random, left: Feed, right: Feed) -> QueryKind:
    condition = f"x.v < y.v AND x.v > {rng.randrange(VALUES // 2, VALUES)}"

    def plain(births: Births, low: int, high: int) -> str:
        start = "greatest(x.ts, y.ts)"
        end = f"least(x.ts + {left.window}, y.ts + {right.window})"
        return f"""SELECT {start} AS t_start, {end} AS t_end, x.id AS a, y.id AS b
            FROM {left.name} x JOIN {right.name} y ON x.k = y.k
            WHERE {start} < {end} AND {start} >= {low} AND {start} < {high} AND {condition}
              AND x.arrival >= {births[left.name]} AND y.arrival >= {births[right.name]}"""

    text = f"AS SELECT x.id AS a, y.id AS b FROM {left.name} x, {right.name} y WHERE x.k = y.k"
    return QueryKind("join of two", f"{text} AND {condition}", [left, right], plain)


def _totals(rng: Random, feed: Feed) -> QueryKind:
    select = "SELECT k, COUNT(*) AS n, SUM(v) AS total"
    condition = f"v > {rng.randrange(VALUES // 2, VALUES)}"

    def net(births: Births, at: int) -> str:
        return f"{select} {_alive(feed, births, at)} AND {condition} GROUP BY k"

    return QueryKind("groups", f"AS {select} FROM {feed.name} WHERE {condition} GROUP BY k", [feed], net=net)


def _kinds(rng: Random, feed: Feed) -> QueryKind:
    condition = f"v > {rng.randrange(VALUES // 2, VALUES)}"

    def net(births: Births, at: int) -> str:
        return f"SELECT DISTINCT k {_alive(feed, births, at)} AND {condition}"

    return QueryKind("distinct", f"AS SELECT DISTINCT k FROM {feed.name} WHERE {condition}", [feed], net=net)


def _best(rng: Random, feed: Feed) -> QueryKind:
    condition = f"k < {rng.randrange(KEYS // 2, KEYS)}"

    def net(births: Births, at: int) -> str:
        return f"SELECT id, v {_alive(feed, births, at)} AND {condition} ORDER BY v DESC, id LIMIT 3"

    text = f"AS SELECT id, v FROM {feed.name} WHERE {condition} ORDER BY v DESC, id LIMIT 3"
    return QueryKind("rank", text, [feed], net=net)


def _windows(rng: Random, feed: Feed) -> QueryKind:
    condition = f"k < {rng.randrange(KEYS)}"

    def plain(births: Births, low: int, high: int) -> str:
        start = f"ts // {PANE} * {PANE}"
        return f"""SELECT {start} AS since, COUNT(*) AS n, SUM(v) AS total {_born(feed, births)}
            AND {condition} AND {start} + {PANE - 1} >= {low} AND {start} + {PANE - 1} < {high}
            GROUP BY {start}"""

    text = "WITH (emit = 'final') AS SELECT window.start AS since, COUNT(*) AS n, SUM(v) AS total"
    text = f"{text} FROM {feed.name} WHERE {condition} GROUP BY window(ts, {PANE})"
    return QueryKind("window", text, [feed], plain, lives=False)


def _missing(rng: Random, left: Feed, right: Feed) -> QueryKind:
    condition = f"v > {rng.randrange(VALUES // 2, VALUES)}"

    def net(births: Births, at: int) -> str:
        first = f"SELECT k {_alive(left, births, at)} AND {condition}"
        return f"{first} EXCEPT SELECT k {_alive(right, births, at)}"

    text = f"AS SELECT k FROM {left.name} WHERE {condition} EXCEPT SELECT k FROM {right.name}"
    return QueryKind("except", text, [left, right], net=net)


def _alone(rng: Random, left: Feed, right: Feed) -> QueryKind:
    condition = f"a.v > {rng.randrange(VALUES // 2, VALUES)}"
    partner = f"EXISTS (SELECT 1 FROM {right.name} b WHERE b.k = a.k"

    def net(births: Births, at: int) -> str:
        first = f"SELECT a.id AS id FROM {left.name} a WHERE {_lives('a', left, births, at)} AND {condition}"
        return f"{first} AND NOT {partner} AND {_lives('b', right, births, at)})"

    text = f"AS SELECT a.id AS id FROM {left.name} a WHERE {condition} AND NOT {partner})"
    return QueryKind("without partner", text, [left, right], net=net)


def _begun(feed: Feed) -> str:
    return f"SELECT ts AS t_start, ts + {feed.window} AS t_end"


def _born(feed: Feed, births: Births) -> str:
    return f"FROM {feed.name} WHERE arrival >= {births[feed.name]}"


def _in(low: int, high: int) -> str:
    return f"ts >= {low} AND ts < {high}"


def _alive(feed: Feed, births: Births, at: int) -> str:
    return f"{_born(feed, births)} AND ts <= {at} AND ts + {feed.window} > {at}"


def _lives(alias: str, feed: Feed, births: Births, at: int) -> str:
    born = f"{alias}.arrival >= {births[feed.name]}"
    return f"{born} AND {alias}.ts <= {at} AND {alias}.ts + {feed.window} > {at}"
