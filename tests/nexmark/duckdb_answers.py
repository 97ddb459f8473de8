"""What DuckDB answers to each of Nexmark's queries, by SQL of its own over the events up to an instant.

Nothing is spelled as in the scripts: windows are integer arithmetic, sessions are gaps between neighbours,
winners are found by comparing with all others. An answer that is told once, when it is final, has a last
column: the end of its window in milliseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa

from seine.demo.nexmark.events import side_input
from tests.nexmark.comparable import comparable

Answer = Counter[tuple[Any, ...]]

_RANKS = ("true", "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
_COUNTS = ", ".join(f"sum(({rank})::INT)" for rank in _RANKS)
_BIDDERS = ", ".join(f"count(DISTINCT CASE WHEN {rank} THEN bidder END)" for rank in _RANKS)
_AUCTIONS = ", ".join(f"count(DISTINCT CASE WHEN {rank} THEN auction END)" for rank in _RANKS)
_MEETING = """
    bid b, auction a WHERE b.auction = a.id AND a.date_time <= b.date_time AND b.date_time <= a.expires"""
_BID = "auction, bidder, price, channel, url, date_time, extra"

CHANGES = {
    "q0": "SELECT auction, bidder, price, date_time, extra FROM bid",
    "q1": "SELECT auction, bidder, price * 908 / 1000.0, date_time, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    "q3": """
        SELECT name, city, state, a.id FROM person p, auction a
        WHERE p.id = a.seller AND category = 10 AND state IN ('OR', 'ID', 'CA')""",
    "q4": f"""
        SELECT category, avg(best)
        FROM (SELECT id, any_value(category) category, max(price) best FROM {_MEETING} GROUP BY id)
        GROUP BY category""",
    "q6": f"""
        SELECT seller, avg(best) OVER (PARTITION BY seller ORDER BY latest, best ROWS 10 PRECEDING)
        FROM (
          SELECT id, any_value(seller) seller, max(price) best, max(b.date_time) latest
          FROM {_MEETING} GROUP BY id)""",
    "q9": f"""
        SELECT DISTINCT ON (a.id) a.id, item_name, description, initial_bid, reserve, a.date_time, expires,
          seller, category, a.extra, auction, bidder, price, b.date_time, b.extra
        FROM {_MEETING} ORDER BY a.id, price DESC, b.date_time, bidder, b.extra""",
    "q10": """
        SELECT auction, bidder, price, date_time, extra, strftime(date_time, '%Y-%m-%d'),
          strftime(date_time, '%H:%M')
        FROM bid""",
    "q13": """
        SELECT auction, bidder, price, date_time, value FROM bid, side_input
        WHERE key = auction - auction // 10000 * 10000""",
    "q14": """
        SELECT auction, bidder, price * 908 / 1000.0,
          CASE WHEN extract(hour FROM date_time) BETWEEN 8 AND 18 THEN 'dayTime'
               WHEN extract(hour FROM date_time) IN (7, 19) THEN 'otherTime' ELSE 'nightTime' END,
          date_time, extra, len(list_filter(string_split(extra, ''), lambda x: x = 'c'))
        FROM bid WHERE price * 908 > 1000000000 AND price * 908 < 50000000000""",
    "q15": f"SELECT date_time::DATE::VARCHAR AS d, {_COUNTS}, {_BIDDERS}, {_AUCTIONS} FROM bid GROUP BY d",
    "q16": f"""
        SELECT channel, date_time::DATE::VARCHAR AS d, left(max(date_time)::TIME::VARCHAR, 5),
          {_COUNTS}, {_BIDDERS}, {_AUCTIONS} FROM bid GROUP BY channel, d""",
    "q17": f"""
        SELECT auction, date_time::DATE::VARCHAR AS d, {_COUNTS}, min(price), max(price),
          sum(price) / count(price), sum(price) FROM bid GROUP BY auction, d""",
    "q18": f"SELECT DISTINCT ON (bidder, auction) {_BID} FROM bid ORDER BY date_time DESC, {_BID}",
    "q19": """
        SELECT b.*, n FROM bid b, LATERAL (SELECT 1 + count(*) AS n FROM bid o
            WHERE o.auction = b.auction AND (o.price > b.price OR o.price = b.price AND
              row(o.date_time, o.bidder, o.channel, o.url, o.extra)
                < row(b.date_time, b.bidder, b.channel, b.url, b.extra)))
        WHERE n <= 10""",
    "q20": """
        SELECT auction, bidder, price, channel, url, b.date_time, b.extra, item_name, description,
          initial_bid, reserve, a.date_time, expires, seller, category, a.extra
        FROM auction a, bid b WHERE a.id = b.auction AND category = 10""",
    "q21": r"""
        SELECT auction, bidder, price, channel,
          coalesce(list_position(['apple', 'google', 'facebook', 'baidu'], lower(channel)) - 1,
                   string_split(url, '&channel_id=')[2]::BIGINT)::VARCHAR
        FROM bid
        WHERE contains(url, '&channel_id=') OR channel IN ('Apple', 'Google', 'Facebook', 'Baidu')""",
    "q22": """
        SELECT auction, bidder, price, channel, string_split(url, '/')[4], string_split(url, '/')[5],
          string_split(url, '/')[6] FROM bid""",
}

_HOPS = """
    SELECT auction, (epoch_ms(date_time) // 2000 - k) * 2000 + 10000 AS e, count(*) AS num
    FROM bid, range(5) AS t(k) GROUP BY auction, e"""
_TEN = "(epoch_ms(date_time) // 10000 + 1) * 10000"

FINAL = {
    "q5": f"""
        WITH h AS ({_HOPS})
        SELECT auction, num, e FROM h WHERE num = (SELECT max(num) FROM h o WHERE o.e = h.e)""",
    "q7": f"""
        WITH best AS (SELECT {_TEN} AS e, max(price) AS top FROM bid GROUP BY e)
        SELECT auction, price, bidder, date_time, extra, e FROM bid, best
        WHERE price = top AND epoch_ms(date_time) >= e - 10000 AND epoch_ms(date_time) <= e""",
    "q8": f"""
        WITH come AS (SELECT DISTINCT id, name, {_TEN} AS e FROM person),
          sold AS (SELECT DISTINCT seller, {_TEN} AS e FROM auction)
        SELECT id, name, make_timestamp_ms(e - 10000), e FROM come
        SEMI JOIN sold ON seller = id AND sold.e = come.e""",
    "q11": """
        WITH near AS (SELECT bidder, epoch_ms(date_time) AS ms,
            ms - lag(ms) OVER (PARTITION BY bidder ORDER BY ms) > 10000 AS apart FROM bid),
          told AS (SELECT bidder, ms,
            count(*) FILTER (WHERE apart) OVER (PARTITION BY bidder ORDER BY ms) AS n FROM near)
        SELECT bidder, count(*), make_timestamp_ms(min(ms)), make_timestamp_ms(max(ms) + 10000),
          max(ms) + 10000
        FROM told GROUP BY bidder, n""",
    "q12": f"""
        SELECT bidder, count(*), make_timestamp_ms({_TEN} - 10000) AS s, make_timestamp_ms({_TEN}) AS t,
          {_TEN} AS e
        FROM bid GROUP BY bidder, s, t, e""",
}


class Answers:
    """DuckDB with the events of three tables."""

    def __init__(self, events: Mapping[str, pa.Table]) -> None:
        self._database = duckdb.connect()
        self._database.execute("SET TimeZone = 'UTC'")
        for name, table in events.items():
            self._database.register(f"all_{name}", table)
            self._database.execute(f"CREATE TABLE every_{name} AS FROM all_{name}")
        self._database.register("side_input", side_input())

    def close(self) -> None:
        self._database.close()

    def at(self, query: str, instant: int | None = None) -> Answer:
        """The answer over the events up to an instant in milliseconds, or over all; ends are left out."""
        self._narrow(instant)
        rows = self._database.execute({**CHANGES, **FINAL}[query]).fetchall()
        return Counter(comparable(row[:-1] if query in FINAL else row) for row in rows)

    def of(self, sql: str) -> Answer:
        """The answer to SQL of DuckDB's own over all events."""
        self._narrow(None)
        return Counter(comparable(row) for row in self._database.execute(sql).fetchall())

    def final(self, query: str, watermark: int, *, closed: bool) -> Answer:
        """What is final at a watermark: windows that end before it, or, if `closed`, no later than it."""
        self._narrow(None)
        rows = self._database.execute(FINAL[query]).fetchall()
        return Counter(comparable(row[:-1]) for row in rows if row[-1] < watermark + closed)

    def _narrow(self, instant: int | None) -> None:
        for name in ("person", "auction", "bid"):
            condition = "" if instant is None else f" WHERE epoch_ms(date_time) <= {instant}"
            self._database.execute(f"CREATE OR REPLACE VIEW {name} AS FROM every_{name}{condition}")
