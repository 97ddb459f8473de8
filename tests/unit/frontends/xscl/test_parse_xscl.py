"""XSCL texts: read in full, printed back, wrong ones refused where they are wrong."""

from __future__ import annotations

import json
from random import Random

import pytest

from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery, SelectedPath, publication
from seine.algebra.plan import Query, tables_of
from seine.algebra.plan_text import print_plan
from seine.algebra.serialise import plan_from_json, plan_to_json
from seine.algebra.tree_pattern import COMPARISONS, PatternNode, ValueTest
from seine.errors import ScriptError
from seine.frontends.text.lexer import ScriptText
from seine.frontends.xscl import parse_xscl as xscl_parser
from seine.frontends.xscl.parse_xscl import KnownBlocks, parse_xscl
from tests.support.cpu_limit import at_most_cpu_seconds
from tests.support.front_end import parse, place, refusal
from tests.support.seeds import seed_range, seeds
from tests.support.xscl_text import print_xscl

STREAMS = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE STREAM r (doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'r.jsonl'
  WITH (namespaces = 'a=urn:a b=urn:b');
CREATE STREAM loose (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'l.jsonl' WITH (namespaces = 'ignore');
CREATE STREAM timed (doc XML, tm TIMESTAMP) TIMESTAMP BY tm FROM 't.jsonl';
CREATE STREAM two (doc XML, note XML, ts BIGINT) TIMESTAMP BY ts FROM '2.jsonl';
CREATE STREAM fickle (doc XML, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'f.jsonl';
CREATE STREAM bid (item BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'bid.jsonl';
"""
DECLARED = parse(STREAMS).declarations.streams
BLOCK_STREAMS = parse(
    """CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
    CREATE STREAM t (doc XML, tm TIMESTAMP) TIMESTAMP BY tm FROM 't.jsonl';"""
).declarations.streams
LEFT = ["s//a->x", "s/a->x[b->z]", "S//a[e = 'it']->x[b->z]", "SELECT * FROM s//a->x", "t//a->x"]
RIGHT = ["s//c->y", "S//c->y[./d->w]", "s//c->y'", "t//b->y", "s//JOIN->y"]
ODD = ["q//a->x", "SELECT x FROM s//a->x", "s//a->x PUBLISH p", "s//a->", "s//FOLLOWED->x", "s", '"s"//a->x']
CONDITIONS = ["x=y", "y = x", "x=y AND z=w", "x=y and x = y", "x=y'"]
ODD_CONDITIONS = ["x/b=y", "x=x", "x=q", "x<y", "and=y", "", "x=y, x=y", "x=y AND"]
TIMES = ["5", "0", "INF", "inf", " 7 "]
ODD_TIMES = ["-1", "1.5", "INTERVAL '1' DAY", "9" * 30, "", "²"]


def xscl(text: str) -> DocumentQuery:
    return parse_xscl(ScriptText(text, "q"), 0, len(text), DECLARED)


def test_a_text_of_slashes_is_read_once():
    with at_most_cpu_seconds(20), pytest.raises(ScriptError, match="expected"):
        xscl("SELECT " + "/" * 1_000_000 + "( FROM s//a->x")


def test_blocks_become_tree_patterns():
    query = xscl(
        "S//book->x1[.//author->x2][@id] FOLLOWED BY{x2=x5', 100} R/blog/*->x4[title->x5'] PUBLISH Out"
    )
    join = query.input
    assert isinstance(join, DocumentJoin) and isinstance(join.left, DocumentBlock)
    author, number = PatternNode("//", "author", variable="x2"), PatternNode("/", "id", is_attribute=True)
    book = PatternNode("//", "book", variable="x1", children=(author, number), selected=True)
    assert join.left.pattern.root == book
    assert join.right.pattern.variables == ("x4", "x5'")
    assert [block.input.stream.name for block in query.blocks] == ["s", "r"]
    assert (join.ordered, join.within, join.equalities) == (True, 100, (("x2", "x5'"),))
    assert query.publish == "out" and query.select is None
    assert print_plan(query) == (
        "DocumentQuery PUBLISH out\n"
        "  DocumentJoin FOLLOWED BY{x2 = x5', 100}\n"
        "    DocumentBlock //book->x1[.//author->x2][./@id]\n"
        "      Scan s AS s\n"
        "    DocumentBlock /blog/*->x4[./title->x5']\n"
        "      Scan r AS r"
    )


def test_equalities_are_oriented():
    join = xscl("select * from s/a->x[b->z] JOIN{y=x AND z=y, INF} s/a->y").input
    assert isinstance(join, DocumentJoin)
    assert (join.ordered, join.within, join.equalities) == (False, None, (("x", "y"), ("z", "y")))


def test_records_have_two_times_the_bindings_and_a_document():
    query = xscl("timed//a->x JOIN{x=y, INTERVAL '2' HOUR} timed//b->y")
    assert [field.name for field in query.schema] == ["left_ts", "right_ts", "bindings", "doc"]
    assert {str(field.type) for field in query.schema[:2]} == {"TIMESTAMP"}
    assert isinstance(query.input, DocumentJoin) and query.input.within == 7_200_000_000
    assert tables_of(Query("q", query)) == {"timed"}


SAME = [  # texts that say the same
    ("s//a AS x[b AS y] JOIN{y=z, 3} s//c[d]AS z", "s//a->x[./b->y] JOIN{y=z, 3} s//c->z[./d]"),
    ("s", "s/*"),
    ("SELECT * FROM s//a", "s//a"),
    ("s//a[b and c > 1]", "s//a[b][c > 1]"),
    ("s//a[b/c->x]", "s//a[b[c->x]]"),
    ("s//a[contains(., \"it's\")][@k='v']", "s//a[contains(., 'it''s')][@k[. = 'v']]"),
    ("s//a[contains(@k, 'v')]", "s//a[@k[contains(., 'v')]]"),
    ("s//a[contains(b, 'x')]", "s//a[b[contains(., 'x')]]"),
    ("s//a[contains(b[c]->x, 'x') and d]", "s//a[b[c][contains(., 'x')]->x][d]"),
    ("s//a[starts-with(.//b/c, 'x')]", "s//a[.//b/c[starts-with(., 'x')]]"),
    ("s//a[starts-with(b//@k, 'x')]", "s//a[b//@k[starts-with(., 'x')]]"),
    ("s//a[contains(@*, 'x')]", "s//a[@*[contains(., 'x')]]"),
    ("r//a:t[@b:k]", "r//Q{urn:a}t[@Q{urn:b}k]"),
    ("loose//x:t", "loose//t"),
    ("s//a->x JOIN{x/b=y, 3} s//c->y", "s//a->x JOIN{y = x/b, 3} s//c->y"),
    # a path with the definition of a variable is that variable
    ("s//a->x[b->z] JOIN{x/b=y, 3} s//c->y", "s//a->x[b->z] JOIN{z=y, 3} s//c->y"),
    ("s//a->x[b[c]/d->z] JOIN{x/b[c]/d=y, 3} s//c->y", "s//a->x[b[c]/d->z] JOIN{z=y, 3} s//c->y"),
    ("SELECT x/b FROM s//a->x[b->z]", "SELECT z FROM s//a->x[b->z]"),
    ("s//a->x JOIN{x[b]=y, 3} s//c->y", "s//a->x[b] JOIN{x=y, 3} s//c->y"),
    ("two.note//a", "TWO.Note//a"),
    ('"s"//a', "`s`//a"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_texts_of_one_query(one, other):
    assert xscl(one) == xscl(other)


def test_a_path_in_a_predicate_is_a_hidden_variable():
    query = xscl("s//a->x JOIN{x//b[c]/@k = y AND x//b[c]/@k = z, 3} s//c->y[d->z]")
    assert isinstance(query.input, DocumentJoin)
    left, right = (block.pattern for block in query.blocks)
    assert left.reported == ("x",) and left.variables == ("x", "x//b[./c]/@k")
    assert query.input.equalities == (("x//b[./c]/@k", "y"), ("x//b[./c]/@k", "z"))
    assert right.reported == right.variables == ("y", "z")


def test_operators_associate_to_the_left():
    query = xscl("s//a->x FOLLOWED BY{x=y, 3} r//b->y JOIN{x=z AND y=z, INF} s//c->z")
    outer = query.input
    assert isinstance(outer, DocumentJoin) and isinstance(outer.left, DocumentJoin)
    assert outer.equalities == (("x", "z"), ("y", "z")) and outer.left.equalities == (("x", "y"),)
    assert (outer.ordered, outer.left.ordered) == (False, True)


def test_selected_paths():
    query = xscl("SELECT y, x/t//u/@k FROM s//a->x[b->y]")
    assert query.select is not None and query.select[0] == SelectedPath("y")
    assert query.select[1].variable == "x"
    assert print_xscl(query) == "SELECT y, x/t//u/@k FROM s//a->x[./b->y]"


def test_tests_of_values():
    node = xscl("s//a[. != 'x'][price >= -1.5e1][starts-with(., \"y\")]").blocks[0].pattern.root
    assert node.tests == (ValueTest("!=", "x"), ValueTest("starts-with", "y"))
    assert node.children[0].tests == (ValueTest(">=", -15.0),)


REFUSED = [
    ("s//a->x[b", 10, "expected ']'"),
    ("s//a->x JOIN{x=y, 5}", 21, "expected a stream"),
    ("s//a->x JOIN{x=y} s//b->y", 17, "expected AND or ','"),
    ("s//a->x JOIN{x<y, 5} s//b->y", 15, "expected '='"),
    ("s//a->x JOIN{x=y OR x=z, 5} s//b->y[c->z]", 18, "expected AND or ','"),
    ("s//a->x JOIN{x=y, -5} s//b->y", 19, "length of time or INF"),
    ("s//a->x JOIN{x=y, 1.5} s//b->y", 19, "length of time or INF"),
    ("s//a->x JOIN{x=y, 99999999999999999999} s//b->y", 19, "too long"),
    ("s//a->x JOIN{x=y, INTERVAL '1' DAY} s//b->y", 19, "plain units"),
    ("timed//a->x JOIN{x=y, 5} timed//b->y", 23, "needs an interval"),
    ("timed//a->x JOIN{x=y, INTERVAL 5 YARDS} timed//b->y", 34, "unit of time"),
    ("timed//a->x JOIN{x=y, INTERVAL 0.0000001 SECOND} timed//b->y", 42, "microseconds"),
    ("s//a->x JOIN{x=y, 5} timed//b->y", 22, "different kinds of time"),
    ("s//a->x JOIN{x=y, 5} bid//b->y", 22, "no XML column"),
    ("s//a->x JOIN{x=y, 5} q//b->y", 22, "no stream q"),
    ("s//a->x JOIN{x=y, 5} fickle//b->y", 22, "RETRACTABLE"),
    ("two//a", 1, "several XML columns"),
    ("two.ts//a", 1, "no XML column ts"),
    ("s//a->x JOIN{x=w, 5} s//b->y", 16, "no variable w"),
    ("s//a->x JOIN{x=x, 5} s//b->y", 14, "does not relate"),
    ("s//a->x JOIN{x=x, 5} s//b->x", 22, "x is bound twice"),
    ("s//a->x[b->x]", 1, "x is bound twice"),
    ("s//a->x[b]->y", 11, "one variable"),
    ("s//a-> JOIN{x=y, 5} s//b->y", 12, "expected FOLLOWED BY"),
    ("s//a->x JOIN{x=y, 5} s//b->y extra", 30, "expected the end of the query"),
    ("s//a->x JOIN{x=y, 5", 20, "never closed"),
    ("s//a[b or c]", 11, "conjunction"),
    ("s//a[//b]", 6, "expected a name"),
    ("s//a[..]", 6, "downwards"),
    ("s//a[1]", 6, "expected a name"),
    ("s//a[.]", 7, "comparison"),
    ("s//a[text()='x']", 6, "no function text"),
    ("s//a[contains(b)]", 16, "expected ','"),
    ("s//a[contains('x', b)]", 15, "expected a name"),
    ("s//a[contains(b, c)]", 18, "expected a string in quotes"),
    ("s//a[contains(../b, 'x')]", 15, "downwards"),
    ("s//a[contains(b = 1, 'x')]", 17, "expected ','"),
    ("s//a[b = c]", 10, "expected a string in quotes or a number"),
    ("s//a[b = 1e999]", 10, "too large"),
    ("s//a/@k/b", 6, "below an attribute"),
    ("s//a/@k[b]", 6, "below an attribute"),
    ("s//a/@k->x JOIN{x/b=y, 5} s//b->y", 17, "below the attribute"),
    ("s//a->x JOIN{x/b->z=y, 5} s//b->y", 14, "binds no variable"),
    ("s//p:a", 4, "prefix p is not declared"),
    ("r//c:a", 4, "prefix c is not declared"),
    ("SELECT FROM s//a->x", 8, "no variable FROM"),
    ("SELECT x s//a->x", 17, "expected FROM"),
    ("SELECT *, x FROM s//a->x", 9, "expected FROM"),
    ("SELECT y FROM s//a->x", 8, "no variable y"),
    ("SELECT x[b] FROM s//a->x", 8, "variables with steps"),
    ("", 1, "expected a stream"),
    ("s//a PUBLISH", 13, "the name of the stream to publish"),
    ("s" + "//a" * 201, 604, "more than 200 steps"),
    ("s//a" + "[b" * 40, 70, "more than 32 predicates"),
    (" JOIN{x0=x0, 1} ".join(["s//a->x0"] * 2), 25, "bound twice"),
]


@pytest.mark.parametrize(("text", "column", "message"), REFUSED)
def test_refused(text, column, message):
    with pytest.raises(ScriptError) as caught:
        xscl(text)
    assert message in caught.value.message
    assert place(caught.value) == (1, column)


def test_at_most_eight_blocks():
    blocks = [f"s//a->x{n}" for n in range(9)]
    text = blocks[0] + "".join(f" JOIN{{x0=x{n}, 1}} {blocks[n]}" for n in range(1, 9))
    with pytest.raises(ScriptError, match="at most 8 blocks"):
        xscl(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("s//a->x JOIN s//b->y", "write {x = y AND ..., T}"),
        ("s//a->x JOIN{x = '5', 3} s//b->y", "a constant belongs to a block"),
        ("s//a->x JOIN{7 = x, 3} s//b->y", "a constant belongs to a block"),
        ("s//a/..", "a path only leads downwards"),
        ("bid//a", "columns of type XML"),
        ("s//a[. = 'x\x00']", "leave it out"),
    ],
)
def test_a_hint_says_what_to_write(text, hint):
    refused = refusal(f"{STREAMS}CREATE QUERY q AS XSCL $$ {text} $$;")
    assert hint in (refused.hint or ""), refused.render()


@seeds(200)
def test_printed_text_reads_back_as_the_same_plan(seed):
    text = _random_query(Random(seed))
    query = xscl(text)
    assert xscl(print_xscl(query)) == query, text
    assert plan_from_json(json.loads(json.dumps(plan_to_json(query)))) == query, text
    assert print_xscl(xscl(print_xscl(query))) == print_xscl(query)


def _random_query(random: Random) -> str:
    names = iter(f"v{n}{random.choice(['', chr(39)])}" for n in range(1000))
    blocks: list[tuple[str, list[str]]] = []
    for _ in range(random.randint(1, 4)):
        bound: list[str] = []
        blocks.append(
            (f"s{_steps(random, names, bound, 2)}->{bound.append(last := next(names)) or last}", bound)
        )
    text, known = blocks[0]
    for block, bound in blocks[1:]:
        pairs = {f"{_term(random, known)} = {_term(random, bound)}" for _ in range(random.randint(1, 3))}
        time = random.choice(["INF", "0", "17"])
        text += f" {random.choice(['FOLLOWED BY', 'join'])} {{{' AND '.join(sorted(pairs))}, {time}}} {block}"
        known = known + bound
    items = [
        random.choice(known) + random.choice(["", "/b", "//c[d]/@k"]) for _ in range(random.randint(0, 3))
    ]
    select = f"SELECT {', '.join(items)} FROM " if items else random.choice(["", "SELECT * FROM "])
    return select + text + random.choice(["", " PUBLISH p", ' PUBLISH "P q"'])


def _steps(random: Random, names, bound: list[str], depth: int) -> str:
    text = ""
    for _ in range(random.randint(1, 3)):
        text += random.choice(["/", "//"]) + random.choice(["a", "b", "c-d", "*", "Q{urn:x}e", "Q{urn:x}*"])
        if random.random() < 0.4:
            bound.append(next(names))
            text += random.choice(["->", " AS "]) + bound[-1]
        for _ in range(random.randint(0, depth)):
            text += f"[{_predicate(random, names, bound, depth)}]"
    return text + "/e"


def _predicate(random: Random, names, bound: list[str], depth: int) -> str:
    kind = random.randrange(5)
    if kind == 0:
        return random.choice(
            ["contains(., 'it''s')", 'starts-with(@k, "x")', "contains(@k, '')", "starts-with(.//b/@k, 'x')"]
        )
    if kind == 1:
        constant = random.choice(["1", "-2.5", "1e30", "''"])
        return f". {random.choice(COMPARISONS)} {constant}"
    if kind == 2:
        return random.choice(["@k", ".//@k = 'x'", "@*", "a and b > 1"])
    path = "." + _steps(random, names, bound, depth - 1)
    return path + random.choice(["", " = 'y'", " < 7"])


def _term(random: Random, bound: list[str]) -> str:
    return random.choice(bound) + random.choice(["", "", "/a", "//b[c]/@k", "[d]/e", "[. = 'x']"])


def test_a_published_stream_has_documents_and_the_shortest_window():
    text = "CREATE QUERY q AS XSCL $$ s//a->x JOIN{x=y, 5} r//b->y PUBLISH p $$;"
    query = parse(STREAMS + text).declarations.queries["q"]
    stream = publication(query)
    assert stream is not None and (stream.name, stream.window, stream.domain) == ("p", 9, "plain")
    assert [str(field.type) for field in stream.fields] == ["XML", "BIGINT"]


def test_prefixes_of_a_published_stream_are_those_of_its_streams():
    text = "CREATE QUERY q AS XSCL $$ r//a:a->x JOIN{x=y, 5} s//b->y PUBLISH p $$;\n"
    text += "CREATE QUERY n AS XSCL $$ p//a:a[b:b] $$;"
    plan = parse(STREAMS + text).declarations.queries["n"].plan
    assert isinstance(plan, DocumentQuery)
    assert [node.name for node in plan.blocks[0].pattern.root.walk()] == ["{urn:a}a", "{urn:b}b"]


PUBLISHER = STREAMS + "CREATE QUERY q AS XSCL $$ r//a->x JOIN{x=y, 5} r//b->y PUBLISH p $$;\n"


def test_what_is_published_can_be_read():
    text = PUBLISHER + "CREATE QUERY next AS XSCL $$ P//a->x JOIN{x=y, 3} s//c->y $$;"
    assert tables_of(parse(text).declarations.queries["next"]) == {"p", "s"}
    count = parse(PUBLISHER + "CREATE QUERY c AS SELECT ts FROM p;").declarations.queries["c"]
    assert tables_of(count) == {"p"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE QUERY n AS XSCL $$ p//a $$; DROP QUERY q;", "q is used by query n"),
        ("CREATE QUERY n AS SELECT ts FROM p; DROP QUERY q;", "q is used by query n"),
        ("CREATE QUERY n AS XSCL $$ s//a PUBLISH p $$;", "the name p is taken"),
        ("CREATE QUERY n AS XSCL $$ s//a PUBLISH bid $$;", "the name bid is taken"),
        ("CREATE STREAM p (a INT, ts BIGINT) TIMESTAMP BY ts FROM 'p';", "publishes p already"),
        ("DROP QUERY q; CREATE QUERY n AS XSCL $$ p//a $$;", "no stream p"),
        ("CREATE QUERY n WITH (emit = 'final') AS XSCL $$ s//a $$;", "only SELECT takes the option emit"),
    ],
)
def test_publishing_is_refused(text, message):
    assert message in refusal(PUBLISHER + text).message


def outcome(read, *arguments) -> object:
    try:
        return read(*arguments)
    except ScriptError as error:
        return error.render()


def random_text(random: Random) -> str:
    def one(usual: list[str], odd: list[str]) -> str:
        return random.choice(usual if random.random() < 0.85 else odd)

    operator = random.choice(["JOIN", "join ", "FOLLOWED BY", "followed\n by"])
    condition = f"{one(CONDITIONS, ODD_CONDITIONS)}, {one(TIMES, ODD_TIMES)}"
    return f" {one(LEFT, ODD)} {operator}{{{condition}}} {one(RIGHT, ODD)} "


def test_as_the_parser_reads_it():
    blocks, read = KnownBlocks(BLOCK_STREAMS), 0
    for seed in seed_range(3_000):
        text = random_text(Random(seed))
        expected = outcome(parse_xscl, ScriptText(text, "q"), 0, len(text), BLOCK_STREAMS)
        assert outcome(blocks.query, ScriptText(text, "q"), 0, len(text)) == expected, text
        read += not isinstance(expected, str)
    assert read > 300


def test_blocks_are_read_once_and_shared(monkeypatch):
    texts: list[str] = []

    def counted(source, start, end, streams):
        texts.append(source.text[start:end])
        return parse_xscl(source, start, end, streams)

    monkeypatch.setattr(xscl_parser, "parse_xscl", counted)
    blocks = KnownBlocks(BLOCK_STREAMS)
    queries = []
    for time in range(50):
        text = f"s//a->x FOLLOWED BY{{x = y, {time}}} s//b->y"
        queries.append(blocks.query(ScriptText(text, "q"), 0, len(text)))
    assert texts == ["s//a->x", "s//b->y"]
    assert len({id(block) for query in queries for block in query.blocks}) == 2
    assert [query.input.within for query in queries] == list(range(50))
    monkeypatch.setattr(xscl_parser, "MOST_BLOCKS_KNOWN", 2)
    text = "s//a->x JOIN{x = y, 1} s//c->y"
    source = ScriptText(text, "q")
    assert blocks.query(source, 0, len(text)) == parse_xscl(source, 0, len(text), BLOCK_STREAMS)
    assert len(blocks._blocks) <= 2


LONG = [
    "s//a" + " " * 50_000 + "JOIN",
    "s" + "//a JOIN" * 5_000,
    "{" * 50_000,
    "s//a JOIN{" + "x=y AND " * 9_000,
]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_texts_are_refused_at_once(text):
    with pytest.raises(ScriptError):
        KnownBlocks(BLOCK_STREAMS).query(ScriptText(text, "q"), 0, len(text))
