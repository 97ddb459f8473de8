"""Templates of XSCL texts: the paper's examples, predicates that are part of a name, several operators."""

from __future__ import annotations

from seine.algebra.plan import Plan
from seine.document_templates.templates_of_plans import join_graph_of, queries_by_template, templates_of
from tests.support.front_end import parse

STREAM = "CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW 100 FROM 's.jsonl';\n"
Q1 = (
    "S//book->x1[.//author->x2][.//title->x3] "
    "FOLLOWED BY{x2=x5 AND x3=x6, 5} S//blog->x4[.//author->x5][.//title->x6]"
)
Q2 = (
    "S//book->x1[.//author->x2][.//category->x7] "
    "FOLLOWED BY{x2=x5 AND x7=x8, 5} S//blog->x4[.//author->x5][.//category->x8]"
)
Q3 = (
    "S//blog->x4[.//author->x5][.//title->x6] "
    "FOLLOWED BY{x5=y5 AND x6=y6, 5} S//blog->y4[.//author->y5][.//title->y6]"
)


def _plans(*texts: str) -> dict[str, Plan]:
    script = STREAM + "".join(f"CREATE QUERY q{n} AS XSCL $$ {text} $$;\n" for n, text in enumerate(texts, 1))
    return {name: query.plan for name, query in parse(script).declarations.queries.items()}


def test_the_examples_have_one_template() -> None:
    """Q1, Q2 and Q3 of Table 2; another query by the same author alone has another."""
    plans = _plans(Q1, Q2, "S//book[.//author->a] FOLLOWED BY{a=b, 5} S//blog[.//author->b]", Q3, "S//blog")
    assert {str(template): names for template, names in queries_by_template(plans).items()} == {
        "var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6": ["q1", "q2", "q4"],
        "var1 x var2, var1 = var2": ["q3"],
    }


def test_names_are_definitions_whatever_variables_are_called() -> None:
    """The left block of Q3 and its right block have the same variables, as in Table 4(a)."""
    (row,) = templates_of(_plans(Q3)["q1"])
    assert row.left == row.right == ("s.doc//blog", "s.doc//blog//author", "s.doc//blog//title")


def test_what_the_minor_removes_is_part_of_names() -> None:
    plain, tested = (
        next(templates_of(plan))
        for plan in _plans(
            "S//a[.//b->x] FOLLOWED BY{x=y, 5} S//c->y",
            "S//a[d[e]][@k = 'v'][.//b->x[. > 3]] FOLLOWED BY{x=y, 5} S//c->y",
        ).values()
    )
    assert plain.template == tested.template
    assert plain.variables == ("s.doc//a//b", "s.doc//c")
    assert tested.variables == ("s.doc//a[./@k[. = 'v']][./d[./e]]//b[. > 3]", "s.doc//c")


def test_paths_in_predicates_are_variables() -> None:
    (written,), (in_predicate,) = (
        templates_of(plan)
        for plan in _plans(
            "S//a->p[.//b->x] FOLLOWED BY{x=y, 5} S//c->q[d->y]", "S//a->p FOLLOWED BY{p//b=q/d, 5} S//c->q"
        ).values()
    )
    assert written == in_predicate


def test_each_operator_has_a_template() -> None:
    text = "S//a->x FOLLOWED BY{x=y, 5} S//b->y[c->z] FOLLOWED BY{x=u AND z=v, 5} S//d[e->u][f->v]"
    first, second = templates_of(_plans(text)["q1"])
    assert str(first.template) == "var1 x var2, var1 = var2"
    assert str(second.template) == "var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6"
    assert second.left == ("blocks", "0 s.doc//a", "1 s.doc//b/c")


def test_equal_definitions_in_one_block_stay_apart() -> None:
    """Where they were bound as two variables they are two nodes."""
    (plan,) = _plans("S//a[b->x][b->z] FOLLOWED BY{x=y AND z=w, 5} S//c[d->y][e->w]").values()
    graph = join_graph_of(plan.inputs[0])  # type: ignore[arg-type]
    assert graph.left.names == ("s.doc//a", "s.doc//a/b", "s.doc//a/b #2")
