"""A plan assembled from templates equals the one that the parser makes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Call
from seine.algebra.plan import Aggregate, AggregateCall, Plan, Project, Scan, Select
from seine.algebra.types import BIGINT, BOOLEAN
from seine.errors import ScriptError
from seine.frontends.sql import plan_templates
from seine.frontends.sql.condition_templates import ConditionTemplates
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.plan_templates import PlanTemplates
from seine.frontends.sql.scope import Table
from seine.frontends.text.lexer import ScriptText, tokenize
from tests.generators.constants import with_strange_constants
from tests.generators.scenario import random_scenario, related_scenario
from tests.support.front_end import TABLES, parse, refusal
from tests.support.same_fields import difference
from tests.support.seeds import seeds

CONDITIONS = (
    "a BETWEEN 1 AND 2 AND b > 1",
    "NOT a BETWEEN 1 AND 2 AND a NOT BETWEEN 3 AND 4 AND k",
    "a BETWEEN 1 AND 2 OR b > 1",
    "a = 1 OR b = 2 AND c = 'x'",
    "(a = 1 OR b = 2) AND c = 'x'",
    "a = 1 AND b = 2 OR c = 'x'",
    "CASE WHEN a = 1 AND b = 2 THEN k ELSE TRUE END AND k",
    "(CASE WHEN a = 1 AND b = 2 THEN k ELSE TRUE END) AND k",
    "d > DATE '2020-01-01' - INTERVAL '1' DAY AND k",
    "d > DATE '2020-01-01' - INTERVAL '1 day' AND k",
    "d > DATE '2020-01-01' - INTERVAL '1' AND k",
    "d > DATE '2020-01-01' - INTERVAL 1 DAY AND k",
    "d + 5 > d AND a IN (1, 2, 3) AND c LIKE 'x%' ESCAPE '!'",
    "c NOT IN ('a', 'b') AND c NOT LIKE '5%' AND c RLIKE 'a+'",
    "c RLIKE '(' AND k",
    "a = -5 AND a - -5 > 0 AND a-5>0 AND 5-a<0",
    "a = - 9223372036854775808 AND k",
    "b * 1.5 > 2.50 AND b / 3 < 1e3",
    "1e5-1 > a AND k",
    "a > 1AND b > 2",
    "a > 1 and b > 2 And k",
    "c = 'a'AND b > 2",
    "c = 'a' 'b' AND k",
    "((a > 1 AND b > 2) AND k) AND NOT (k AND a > 1)",
    "k IS NULL AND c IS NOT NULL AND k IS TRUE AND NOT k IS FALSE",
    "c IS DISTINCT FROM 'x' AND k",
    "NULL AND k",
    "TRUE AND k",
    "EXTRACT(YEAR FROM d) = 2020 AND k",
    "SUBSTRING(c, 1, 2) = 'ab' AND TRIM(c) = 'x' AND CAST(b AS DECIMAL(10, 2)) > 1.25",
    "CAST('2020-01-01' AS DATE) < d AND a % 3 = 1",
    "c || 'x' = 'yx' AND a <=> 3 AND a != 4 AND a <> 5 AND NOT a == 6",
    "COALESCE(a, 5) > 3 AND IF(k, a, 3) > 2 AND GREATEST(a, 1) = 2",
    's.a > 1 AND "a" < 5 AND `a` < 6',
    "current_date = d AND k",
    "nope = 1 AND k",
    "k AND a IN (SELECT a FROM t)",
    "k AND COUNT(*) > 1",
    "k AND",
    "AND k",
    "k AND AND k",
    "a IN (1,) AND k",
    "a + AND k",
    "k ORDER BY a",
    "k AND a > 1 LIMIT 3",
    "k /* a */ AND a > 1",
    "k -- and\n AND a > 1",
    "k AND a > 1 GROUP BY a, c",
    "k AND a > 1 UNION SELECT a, c FROM s WHERE a < 5 AND b > 2",
    "k AND a > 1 EXCEPT SELECT a, c FROM s",
    "k AND a > 1 HAVING a > 1",
    "a -> 1 AND k",
    "a: b AND k",
    "group > 1 AND k",
    "k AND a > 1 union",
)
SELECTS = (
    "SELECT a, c FROM s WHERE {}",
    "SELECT DISTINCT s.a, s.c FROM s, t WHERE {}",
    "SELECT q.a, q.c FROM (SELECT * FROM s WHERE {}) q WHERE q.a > 3 AND q.c = 'x'",
    "SELECT n, q.a FROM (SELECT a, COUNT(*) AS n FROM s WHERE {} GROUP BY a) q WHERE n > 3",
    "SELECT a, COUNT(*) AS n, SUM(b) FILTER (WHERE b > 1 AND k) AS m FROM s WHERE {} GROUP BY 1",
    "SELECT a, COUNT(*) AS n FROM s WHERE {} GROUP BY 1 HAVING COUNT(*) > 2 AND MIN(b) < 5",
    "SELECT s.a, name FROM s JOIN r ON s.a = r.a AND name > 'b' JOIN v USING (a) WHERE {}",
    "SELECT one, a FROM (SELECT 1 AS one, a, c, d, k, b FROM s) s WHERE {} AND one > 0",
    "WITH w AS (SELECT * FROM s WHERE {}) SELECT x.a, y.c FROM w x, w y WHERE x.a = y.a",
)


def _ordinary(text: str, tables: dict[str, Table]) -> Plan | None:
    try:
        return parse_select(ScriptText(text, "q"), 0, len(text), tables)
    except ScriptError:
        return None


def _from_templates(templates: PlanTemplates, text: str) -> Plan | None:
    source = ScriptText(text, "q")
    try:
        tokens = tokenize(source)[:-1]
    except ScriptError:
        return None
    return templates.plan(source, tokens, 0, len(text))


def _agree(texts: list[str], tables: dict[str, Table]) -> int:
    """Compare the two ways for each text; the result is how many were assembled from templates."""
    templates, known = PlanTemplates(tables), 0
    for text in texts:
        plan, expected = _from_templates(templates, text), _ordinary(text, tables)
        assert plan is None or difference(plan, expected) is None, text
        known += plan is not None
    return known


@seeds(12)
def test_templates_agree_with_the_parser(seed: int) -> None:
    rng = Random(seed)
    scenario = (related_scenario if seed % 2 else random_scenario)(seed)
    tables = dict(parse("\n".join(scenario.declarations)).declarations.tables)
    texts = [text for text in scenario.queries.values() for _ in range(2)]
    texts += [with_strange_constants(rng, text) for text in scenario.queries.values() for _ in range(12)]
    assert _agree(texts, tables) >= 20


def test_strange_conditions() -> None:
    tables = dict(parse(TABLES).declarations.tables)
    rng = Random(1)
    plain = 0
    for select in SELECTS:
        texts = [select.format(condition) for condition in CONDITIONS]
        texts += [with_strange_constants(rng, text) for text in texts]
        plain += _agree(texts, tables)
    assert plain > 150


def test_exists_among_outputs_is_more_than_what_is_filled_in() -> None:
    texts = [
        f"SELECT a, {exists} AS x FROM s WHERE b > {n}"
        for exists in ("EXISTS (SELECT 1 FROM t WHERE t.e = s.a)", "NOT EXISTS (SELECT 1 FROM t WHERE e = 2)")
        for n in range(3)
    ]
    assert _agree(texts, dict(parse(TABLES).declarations.tables)) == 0


def test_a_refusal_has_its_place_whatever_came_before() -> None:
    good = "CREATE QUERY q{} AS\n  SELECT a FROM s WHERE a > {} AND c = 'x';\n"
    before = TABLES + "".join(good.format(i, i) for i in range(5))
    for wrong in ("a > 1 AND nope = 2", "a > 1 AND k > DATE '2020-01-01'", "a > 1 AND", "a > 1 AND c"):
        refused = refusal(f"{before}CREATE QUERY q AS\n  SELECT a FROM s WHERE {wrong};")
        alone = refusal(f"{TABLES}{chr(10) * 10}CREATE QUERY q AS\n  SELECT a FROM s WHERE {wrong};")
        assert (str(refused), refused.where, refused.hint) == (str(alone), alone.where, alone.hint)


def test_what_was_learned_of_a_table_goes_with_it() -> None:
    stream = "CREATE STREAM m ({} BIGINT, w STRING, ts BIGINT) TIMESTAMP BY ts FROM 'm.jsonl';\n"
    queries = "".join(f"CREATE QUERY q{{0}}{i} AS SELECT w FROM m WHERE ts > {i};\n" for i in range(3))
    drop = "".join(f"DROP QUERY q1{i};\n" for i in range(3)) + "DROP STREAM m;\n"
    text = stream.format("u") + queries.format(1) + drop + stream.format("v") + queries.format(2)
    parsed = parse(text).declarations.queries
    fresh = parse(stream.format("v") + queries.format(2)).declarations.queries
    assert parsed == fresh and len(parsed) == 3


def test_of_many_skeletons_even_those_are_assembled_that_are_met_once() -> None:
    tables = dict(parse(TABLES).declarations.tables)
    having = "SELECT a, COUNT(*) AS n FROM s WHERE a > {} AND k GROUP BY a HAVING COUNT(*) > {}"
    limits = (*range(40), 9223372036854775807, 9223372036854775808, 1.5, 1.25)
    texts = [having.format(i, limit) for i, limit in enumerate(limits)]
    texts += [f"SELECT a, c FROM s WHERE k GROUP BY {one}, {other}" for one, other in ("12", "21", "13")]
    assert _agree(texts, tables) > 5


def test_names_of_tables_are_no_part_of_the_shape_of_a_condition() -> None:
    templates = ConditionTemplates()
    given = ("a.x > b.y * 2", "b.x > a.y * 3", "r1.x > r10.y * 4", "r1.x > r1.y * 5", "date.x > b.y * 6")
    trees = [condition.tree.sql() for one in given if (condition := templates.condition(one)) is not None]
    assert trees == list(given)


ALIASES = (("a", "b"), ("b", "a"), ("t0", "t1"), ("t1", "t0"), ("x", "X"), ("c", "k"), ("s", "t"))
JOINED = (
    "{0}.a = {1}.a",
    "{0} . b > 5",
    "{1}.c = '{0}.c, {1}.c'",
    "{0}.c = 'it''s {1}.c' AND {1}.b <= {0}.b + 2",
    "{0}.d < {1}.d + INTERVAL '3' DAY",
    "{0}.k AND NOT {1}.k",
    '"{0}".a = 1',
    "`{0}`.a = {1}.b",
    "{0}.w.start > 5",
    "w.start > 5",
    "nope.a > 5",
    "{0}.nope > 5",
    "{0}.a > 1.5 AND {1}.b * .5 < 1.",
    "{2}.a = 3",
    "a = 3",
)


def test_conditions_that_differ_in_aliases_are_bound_each_in_its_scope() -> None:
    tables = dict(parse(TABLES).declarations.tables)
    texts = [
        f"SELECT {one}.a AS first, {two}.c AS second FROM s {one}, s {two} WHERE "
        + condition.format(one, two, one.upper())
        for one, two in ALIASES
        for condition in JOINED
    ]
    rng = Random(5)
    rng.shuffle(texts)
    assert _agree(texts * 2, tables) > len(texts)


SCOPES = (
    "SELECT a, b, e FROM s RIGHT JOIN t USING (a) WHERE a = {}",
    "SELECT a, b, e FROM s NATURAL FULL JOIN (SELECT a, e FROM t) t WHERE a < {}",
    "SELECT a, x.b FROM s x FULL JOIN t USING (a) FULL JOIN s y USING (a) WHERE a = {}",
    "SELECT s.a, q.e FROM s RIGHT JOIN (SELECT * FROM t WHERE e = {}) q ON s.a = q.a",
    "SELECT x.a FROM (SELECT * FROM s WHERE b = {}) x FULL JOIN (SELECT * FROM t WHERE e = {}) y USING (a)",
    "SELECT s.a, q.name FROM s LEFT JOIN (SELECT * FROM r WHERE a = {}) q ON s.a = q.a",
    "SELECT s.a FROM s LEFT SEMI JOIN (SELECT * FROM r WHERE a = {}) q ON s.a = q.a",
    "SELECT s.a FROM s LEFT ANTI JOIN (SELECT * FROM t WHERE e = {}) q ON s.a = q.a WHERE s.b > {}",
    "SELECT COUNT(*) AS n FROM s HAVING COUNT(*) > (SELECT COUNT(*) FROM t WHERE e > {})",
)


def test_conditions_stand_in_scopes_of_every_form() -> None:
    tables = dict(parse(TABLES).declarations.tables)
    for scope in SCOPES:
        assert _agree([scope.replace("{}", str(number)) for number in range(4)], tables) == 3, scope


LEFT_ALONE = (
    ("SELECT a FROM s WHERE window(ts, 10, 5).start > {}", "a refusal of what is not grouped"),
    ("SELECT COUNT(*) - (SELECT COUNT(*) FROM t WHERE e > {}) FROM s", "a name of its own text"),
    ('SELECT X.e FROM s "X", t x WHERE X.a = {}', "aliases that differ in case"),
    (
        'SELECT "0".a FROM (SELECT a, k AS "0" FROM s) p, LATERAL (SELECT * FROM t WHERE e > {}) "0"',
        "LATERAL",
    ),
)


@pytest.mark.parametrize(("text", "why"), LEFT_ALONE)
def test_what_reads_a_where_is_left_to_the_parser(text: str, why: str) -> None:
    assert _agree([text.format(number) for number in range(4)], dict(parse(TABLES).declarations.tables)) == 0


def test_a_column_with_the_name_of_a_hole() -> None:
    stream = "CREATE STREAM o (\"0\" BOOLEAN, a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'o';"
    tables = dict(parse(TABLES + stream).declarations.tables)
    lateral = "SELECT s.a, q.a AS b FROM s, LATERAL (SELECT * FROM o WHERE a > {}) q"
    assert _agree([lateral.format(number) for number in range(4)], tables) == 0
    plain = 'SELECT a FROM o WHERE "0" AND a = {}'
    assert _agree([plain.format(number) for number in range(4)], tables) == 3


def test_a_name_is_exact_where_it_stands_behind_a_constant_of_another_length() -> None:
    texts = [f"SELECT a FROM s WHERE (c = '{value}' OR \"K\")" for value in ("x", "y", "`" * 9, "z")]
    assert _agree(texts, dict(parse(TABLES).declarations.tables)) == 0
    texts = [f"SELECT a FROM s WHERE (c = '{value}' OR `K`)" for value in ("x", "y", '"' * 9, "z")]
    assert _agree(texts, dict(parse(TABLES).declarations.tables)) == 3


def test_what_may_be_too_large_is_left_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = dict(parse(TABLES).declarations.tables)
    texts = [f"SELECT a FROM s WHERE a IN ({', '.join(map(str, range(n, n + 30)))})" for n in range(4)]
    assert _agree(texts, tables) == 3
    monkeypatch.setattr(plan_templates, "_MAX_NODES", 30)
    assert _agree(texts, tables) == 0


def test_an_expression_that_is_no_condition_has_no_place_for_a_where() -> None:
    s = dict(parse(TABLES).declarations.tables)["s"]
    assert isinstance(s, StreamDef)
    slot = Call("where 0", (), BOOLEAN)
    kept = Select(Scan(s, "s"), slot)
    assert plan_templates._slots_of(kept) == [slot]
    for plan in (
        Project(Scan(s, "s"), (slot,), ("x",)),
        Select(Scan(s, "s"), Call("not", (slot,), BOOLEAN)),
        Aggregate(kept, (), (AggregateCall("count", (slot,), BIGINT),), ("n",)),
    ):
        with pytest.raises(plan_templates._NoTemplate):
            plan_templates._slots_of(plan)


def test_a_condition_is_bound_once_for_all_aliases(monkeypatch: pytest.MonkeyPatch) -> None:
    tables, bound = dict(parse(TABLES).declarations.tables), []

    def counted(text: str, *rest: Any) -> Any:
        bound.append(text)
        return bind_condition(text, *rest)

    bind_condition = plan_templates._bind_condition
    monkeypatch.setattr(plan_templates, "_bind_condition", counted)
    texts = [f"SELECT {x}.a FROM s {x}, s {y} WHERE {x}.a = {y}.b" for x, y in (("a", "b"), ("x", "y"))]
    assert _agree(texts * 2, tables) == 2
    assert bound == ["t0.a = t1.b"]
