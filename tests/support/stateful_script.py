"""A small script with everything in it that keeps state, and enough input for many micro-batches."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

SCRIPT = """\
CREATE STREAM orders (oid BIGINT, cust BIGINT, amount DOUBLE, note STRING, ts BIGINT)
  TIMESTAMP BY ts WINDOW 50 LATENESS 3 IMPORTANCE BY amount FROM 'orders.jsonl';
CREATE STREAM pays (oid BIGINT, amount DOUBLE, ts BIGINT)
  TIMESTAMP BY ts WINDOW 40 RETRACTABLE FROM 'pays.jsonl';
CREATE RELATION customer (cust BIGINT, name STRING) FROM 'customer.jsonl';
CREATE QUERY big AS SELECT o.oid AS oid, o.note AS note FROM orders o WHERE o.amount > 80;
CREATE QUERY paid AS SELECT o.oid AS oid, p.amount AS amount, p.ts - o.ts AS gap
  FROM orders o, pays p WHERE o.oid = p.oid;
CREATE QUERY named AS SELECT c.name AS name, o.oid AS oid, p.ts AS pts
  FROM orders o, pays p, customer c WHERE o.oid = p.oid AND o.cust = c.cust;
CREATE QUERY twice AS SELECT a.ts AS t1, b.ts AS t2, c.ts AS t3 FROM orders a, orders b, orders c
  WHERE a.cust = b.cust AND b.cust = c.cust AND a.ts < b.ts AND b.ts < c.ts AND c.amount > a.amount + 40;
CREATE QUERY kept WITH (memory = 21, shed = 'rand', seed = 3) AS SELECT a.ts AS t1, b.ts AS t2
  FROM orders a, customer c, orders b WHERE a.cust = c.cust AND c.cust = b.cust AND a.amount < b.amount;
CREATE QUERY best WITH (memory = 20) AS SELECT a.ts AS t1, b.ts AS t2
  FROM orders a, orders b WHERE a.oid = b.oid AND a.ts < b.ts;
CREATE QUERY totals AS SELECT cust, COUNT(*) AS n, SUM(amount) AS total, MAX(amount) AS top
  FROM orders GROUP BY cust;
CREATE QUERY busy AS SELECT oid, COUNT(*) AS n, SUM(amount) AS total, MIN(note) AS note
  FROM orders GROUP BY oid HAVING COUNT(*) >= 6;
CREATE QUERY unpaid AS SELECT oid FROM orders EXCEPT SELECT oid FROM pays;
CREATE QUERY seen AS SELECT oid FROM orders WHERE amount > 50 UNION SELECT oid FROM pays WHERE amount > 50;
CREATE QUERY dearest AS SELECT cust, oid, ROW_NUMBER() OVER (PARTITION BY cust ORDER BY amount DESC) AS place
  FROM orders QUALIFY place <= 2;
CREATE QUERY latest AS SELECT oid, amount FROM pays ORDER BY ts DESC, oid LIMIT 3;
CREATE QUERY moving AS SELECT oid, SUM(amount) OVER (PARTITION BY oid ORDER BY ts ROWS 2 PRECEDING) AS three,
  LAG(amount) OVER (PARTITION BY oid ORDER BY ts) AS before FROM orders;
CREATE QUERY words AS SELECT array_join(split(note, '"'), '-') AS word, corr(amount, ts) AS along,
  to_json(named_struct('n', COUNT(*))) AS told FROM orders GROUP BY array_join(split(note, '"'), '-');
CREATE STREAM items (item STRING, seller BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (item)
  FROM 'items.jsonl';
CREATE STREAM bids (item STRING, price BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (item)
  PUNCTUATED ON (price) LIFESPAN 9 FROM 'bids.jsonl';
CREATE QUERY auction WITH (unbounded = true) AS SELECT i.item AS item, i.seller AS seller, b.price AS price
  FROM items i, bids b WHERE i.item = b.item;
CREATE QUERY sold WITH (unbounded = true, emit = 'final') AS
  SELECT item, COUNT(*) AS bids, MAX(price) AS price FROM bids GROUP BY item;
CREATE QUERY soon WITH (unbounded = true) AS SELECT i.item AS item, b.ts AS bid FROM items i, bids b
  WHERE b.ts BETWEEN i.ts - 3 AND i.ts + 2;
CREATE STREAM hops (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) PUNCTUATED ON (b)
  FROM 'hops.jsonl';
CREATE QUERY ways AS SELECT x.ts AS first, y.ts AS second, z.ts AS third FROM hops x, hops y, hops z
  WHERE x.b = y.a AND y.b = z.a;
CREATE STREAM posts (doc XML, ts BIGINT) TIMESTAMP BY ts LATENESS 2 FROM 'posts.jsonl';
CREATE QUERY replies AS XSCL $$ posts//post->p[./id->x] FOLLOWED BY{x = y, 30} posts//post->r[./to->y]
  PUBLISH answered $$;
CREATE QUERY threads AS XSCL $$ posts//id->x JOIN{x = y, 12} posts//to->y JOIN{x = z, 12} posts//to->z $$;
CREATE QUERY later AS XSCL $$ answered//id->x FOLLOWED BY{x = y, 9} posts//to->y $$;
CREATE STREAM films (film BIGINT, title STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 20 LATENESS 2
  FROM 'films.jsonl';
CREATE STREAM casts (film BIGINT, person BIGINT, part STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 15
  FROM 'casts.jsonl';
CREATE STREAM reviews (film BIGINT, verdict STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 12 RETRACTABLE
  FROM 'reviews.jsonl';
CREATE RELATION people (person BIGINT, name STRING, since BIGINT, until BIGINT) VALID FROM since TO until
  FROM 'people.jsonl';
CREATE JOIN films.film = casts.film;
CREATE JOIN casts.person = people.person;
CREATE JOIN reviews.film = films.film;
CREATE QUERY lone AS SEARCH 'amb*' OVER (films, reviews);
CREATE QUERY linked AS SEARCH 'amber basil' OVER (films, casts) MAX 3 TUPLES;
CREATE QUERY played AS SEARCH 'amber cedar|delta' OVER (films, casts, people) MAX 3 TUPLES;
CREATE QUERY judged AS SEARCH 'amber basil' OVER (films, casts, reviews) MAX 3 TUPLES;
CREATE QUERY leading AS SEARCH 'amber basil' OVER (films, casts) MAX 3 TUPLES TOP 3;
CREATE QUERY praised AS SEARCH 'amber basil' OVER (films, casts, reviews) MAX 3 TUPLES TOP 2;
CREATE QUERY weekly AS SEARCH 'amber basil' OVER (films, casts, reviews, people) MAX 3 TUPLES TOP 2 PER 7;
"""
_WORDS = ("amber", "basil", "cedar", "delta")


def write_story(folder: Path, lines: int = 600, seed: int = 3) -> Path:
    """Write the script and its input; the path of the script."""
    rng = random.Random(seed)
    orders, pays, live = [], [], []
    for i in range(lines):
        ts = i // 3
        orders.append(
            {
                "oid": rng.randrange(40),
                "cust": rng.randrange(8),
                "amount": rng.randrange(400) / 4,
                "note": rng.choice(["a", 'quo"te', "東京", None]),
                "ts": max(0, ts - rng.randrange(5)),
            }
        )
        pay = {"oid": rng.randrange(40), "amount": rng.randrange(400) / 4, "ts": ts}
        if live and rng.random() < 0.3:
            pay = {"@op": "-", **live.pop(rng.randrange(len(live))), "ts": ts}
        else:
            live = [*live[-20:], pay]
        pays.append(pay)
    _write(folder / "orders.jsonl", orders)
    _write(folder / "pays.jsonl", pays)
    _write(folder / "customer.jsonl", [{"cust": i, "name": f"c{i}"} for i in range(6)])
    _write_auction(folder, lines)
    _write_hops(folder, lines)
    _write_posts(folder, lines, rng)
    _write_films(folder, lines)
    script = folder / "story.sql"
    script.write_text(SCRIPT, encoding="utf-8")
    return script


def _write_posts(folder: Path, lines: int, rng: random.Random) -> None:
    posts = []
    for i in range(lines // 3):
        tags = "".join(f"<to>{rng.randrange(max(i, 1))}</to>" for _ in range(rng.randrange(3)))
        posts.append({"doc": f"<post><id>{i}</id>{tags}</post>", "ts": max(0, i - rng.randrange(3))})
    _write(folder / "posts.jsonl", posts)


def _write_films(folder: Path, lines: int) -> None:
    """Films, who plays in them and what is said of them; one review in four is taken back."""
    rng = random.Random(11)
    films, casts, reviews, standing = [], [], [], []
    for ts in range(lines // 3):
        films.append(
            {"film": rng.randrange(12), "title": rng.choice(_WORDS), "ts": max(0, ts - rng.randrange(3))}
        )
        casts.append(
            {"film": rng.randrange(12), "person": rng.randrange(9), "part": rng.choice(_WORDS), "ts": ts}
        )
        review = {"film": rng.randrange(12), "verdict": rng.choice(_WORDS), "ts": ts}
        if standing and rng.random() < 0.25:
            review = {"@op": "-", **standing.pop(rng.randrange(len(standing))), "ts": ts}
        else:
            standing = [*standing[-8:], review]
        reviews.append(review)
    people = [
        {"person": i, "name": _WORDS[i % 4], "since": 5 * i, "until": None if i % 2 else 5 * i + 90}
        for i in range(9)
    ]
    for name, records in (("films", films), ("casts", casts), ("reviews", reviews), ("people", people)):
        _write(folder / f"{name}.jsonl", records)


def _write_auction(folder: Path, lines: int) -> None:
    """Bids come for the latest ten items; an item is promised when it comes, its bids when it closes."""
    rng = random.Random(5)
    items, bids = [], []
    for i in range(lines // 3):
        items += [{"item": f"i{i}", "seller": i % 7, "ts": i}, {"@punctuate": {"item": f"i{i}"}, "ts": i}]
        bids += [
            {"item": f"i{max(0, i - rng.randrange(10))}", "price": rng.randrange(99), "ts": i} for _ in "ab"
        ]
        bids.append({"@punctuate": {"item": f"i{i - 10}"}, "ts": i})
    _write(folder / "items.jsonl", items)
    _write(folder / "bids.jsonl", bids)


def _write_hops(folder: Path, lines: int) -> None:
    """From one of the latest places to a later one; what is left behind is promised."""
    rng = random.Random(7)
    hops: list[dict[str, object]] = []
    for i in range(lines // 3):
        hops.append({"a": i + rng.randrange(4), "b": i + rng.randrange(2, 6), "ts": i})
        hops += [{"@punctuate": {"a": i}, "ts": i}, {"@punctuate": {"b": i}, "ts": i}]
    _write(folder / "hops.jsonl", hops)


def _write(path: Path, records: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def silent_queries(records: list[dict[str, object]]) -> set[str]:
    """The queries of the script that have no record."""
    return {*re.findall(r"CREATE QUERY (\w+)", SCRIPT)} - {str(record["query"]) for record in records}


def sorted_records(records: list[dict[str, object]]) -> list[str]:
    return sorted(json.dumps(record, sort_keys=True) for record in records)


def sorted_file(path: Path) -> list[str]:
    return sorted_records([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
