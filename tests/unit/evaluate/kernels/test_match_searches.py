"""Searches for all matches: which look far behind a match, by brute force over texts; what is counted."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seine.algebra.expressions import Call, Column, Literal
from seine.algebra.types import BOOLEAN, INT, STRING
from seine.evaluate.evaluate import evaluate
from seine.evaluate.kernels.match_searches import looks_far
from seine.evaluate.kernels.spending import Called, Spender, TooMuchWork

LENGTH = 7  # of the texts that are tried
NEAR = 4  # letters behind a match that a search of a small pattern may need


@lru_cache(maxsize=1)
def texts() -> list[str]:
    return ["".join(letters) for letters in product("abc", repeat=LENGTH)]


def letters_needed(pattern: str) -> int:
    """The most letters behind a first match that a search must see, over all texts.

    A letter is needed if the first match is not the same in all texts that begin alike up to it.
    """
    compiled = re.compile(pattern)
    first = {text: (match.span() if (match := compiled.search(text)) else None) for text in texts()}
    most = 0
    known: dict[str, set[tuple[int, int] | None]] = {}
    for text, span in first.items():
        for size in range(LENGTH + 1):
            known.setdefault(text[:size], set()).add(span)
    for text, span in first.items():
        if span is not None:
            decided = next(size for size in range(LENGTH + 1) if len(known[text[:size]]) == 1)
            most = max(most, decided - span[1])
    return most


def random_pattern(random: Random, depth: int) -> str:
    kind = random.randrange(6) if depth else 0
    if kind < 2:
        return random.choice(["a", "b", "c", "[ab]", "[^a]", "."])
    if kind == 2:
        return f"(?:{random_pattern(random, depth - 1)}|{random_pattern(random, depth - 1)})"
    if kind == 3:
        return f"(?:{random_pattern(random, depth - 1)}){random.choice(['*', '+', '?', '*?', '+?', '{1,2}'])}"
    return random_pattern(random, depth - 1) + random_pattern(random, depth - 1)


def test_near_patterns_need_few_letters_and_far_ones_many() -> None:
    random = Random(3)
    patterns = list(dict.fromkeys(random_pattern(random, 3) for _ in range(500)))
    needed = {pattern: letters_needed(pattern) for pattern in patterns}
    near = {pattern: count for pattern, count in needed.items() if not looks_far(pattern)}
    assert {pattern for pattern, count in near.items() if count > NEAR} == set()
    assert len(near) > 40 and len(needed) - len(near) > 8
    assert sum(count > NEAR for count in needed.values()) > 3  # else nothing was tried


@pytest.mark.parametrize(
    ("pattern", "is_far"),
    [
        (r"\d+", False),
        (r"<[^>]*>", False),
        (r"\bfoo\b", False),
        ('".*?"', False),
        (r"[^\x00-\x7F]+", False),
        (r"(?i)(foo|bar)s?", False),
        (r"[[:alpha:]]+@[[:upper:]]+", False),
        (r"\Q\pL\E+", False),
        (r"\Qa.*b|a\E", False),
        ("a.*b|a", True),
        ("a[^x]*c|b", True),
        ("(a.*b)?", True),
        (r"\p{Thai}.*b|\p{Thai}", True),
        (r"\p{L}+", True),  # what is in such a class is not known
        (r"[x\P{Greek}]+", True),
        (r"[[:xdigit:]]@.*b|[[:upper:]]@", True),
        ("[\u0e01-\u0e10].*b|[\u0e05-\u0e08]", True),
        ("[\U0001f600-\U0001f610]+.*b|[\U0001f605-\U0001f608]", True),
        (r"\x41bc.*d|Abc", True),
        (r"(?i:\x{43a}).*b|\x{41a}", True),
        (r"[^\x00-\x{10ffff}]", True),  # takes no letter
        ("(?:(?:a?){90}){90}", True),  # too large to know
        ("(", True),
    ],
)
def test_patterns_that_are_written(pattern: str, is_far: bool) -> None:
    assert looks_far(pattern) is is_far


class Counted(Spender):
    def __init__(self, steps: int) -> None:
        super().__init__(steps, 10**9)
        self.steps = 0

    def spend(self, called: Called, steps: int, size: int) -> None:
        self.steps += steps
        super().spend(called, steps, size)


@pytest.mark.parametrize(
    "name", ["regexp_count", "regexp_replace", "split", "regexp_extract_all", "split_item"]
)
def test_all_functions_of_all_matches_count_searches_that_look_far(name: str) -> None:
    behind = {"regexp_count": [], "split": []}.get(
        name, [Literal("", STRING) if name == "regexp_replace" else Literal(0 + (name == "split_item"), INT)]
    )
    call = Call(name, (Column(0, STRING), Literal("a.*b|a", STRING), *behind), _type(name))
    text = pa.array(["a" * 20_000, None, "b"])
    with pytest.raises(TooMuchWork), Counted(10_000_000).counting():
        evaluate(call, [text], 3)
    ample = Counted(10**12)
    with ample.counting():
        evaluate(call, [text], 3)
    assert ample.steps >= 20_000**2 // 2


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("rlike", "|".join(f"a[ab]{{{900 - i}}}c" for i in range(20))),
        ("rlike", "a" + "[ab]" * 3_000 + "c"),
        ("rlike", "a" + "(?:a|b)" * 3_000 + "c"),
        ("regexp_count", r"a\p{L}{900}c|b\p{L}{900}c|c\p{L}{901}"),
        ("like", "%a" + "_" * 3_000 + "c%"),
    ],
)
def test_letters_of_wide_patterns_are_counted_for_each_letter_of_a_text(name: str, pattern: str) -> None:
    """RE2 looks at all of them for each letter of a text when it has too many states to keep."""
    type_ = INT if name == "regexp_count" else BOOLEAN
    call = Call(name, (Column(0, STRING), Literal(pattern, STRING)), type_)
    with pytest.raises(TooMuchWork, match=f"{name} would take more"), Counted(10_000_000).counting():
        evaluate(call, [pa.array(["ab" * 2_500])], 1)


@pytest.mark.parametrize(
    "pattern",
    [
        "|".join(f"word{i}" for i in range(1_000)),
        "[a-z]{2,64}@[a-z]{2,255}",
        "(?i)" + "long" * 1_000,
        "a{2000}",
    ],
)
def test_letters_of_narrow_patterns_cost_nothing(pattern: str) -> None:
    counted = Counted(10**12)
    with counted.counting():
        evaluate(Call("rlike", (Column(0, STRING), Literal(pattern, STRING)), BOOLEAN), [pa.array(["ab"])], 1)
    assert counted.steps == 0


@pytest.mark.parametrize("pattern", [r"(a?b?c?d?){{25}}x{}", r"\pL{{500}}x{}"])
def test_patterns_of_a_column_are_counted_before_they_are_read(pattern: str) -> None:
    columns = [pa.array(["ab"] * 1_000), pa.array([pattern.format(i) for i in range(1_000)])]
    call = Call("rlike", (Column(0, STRING), Column(1, STRING)), BOOLEAN)
    with pytest.raises(TooMuchWork, match="rlike would take more"), Counted(10_000_000).counting():
        evaluate(call, columns, 1_000)


def test_narrow_patterns_of_a_column_cost_little() -> None:
    counted = Counted(10**12)
    columns = [pa.array(["ab 7"] * 100), pa.array([f"[0-9]{{1,4}}|word{i}" for i in range(100)])]
    with counted.counting():
        made = evaluate(Call("rlike", (Column(0, STRING), Column(1, STRING)), BOOLEAN), columns, 100)
    assert all(made.to_pylist()) and 0 < counted.steps < 100 * 1_000_000


def _type(name: str):  # type: ignore[no-untyped-def]
    from seine.algebra.types import Type

    return {"regexp_count": INT, "regexp_replace": STRING, "split_item": STRING}.get(
        name, Type.parse("ARRAY<STRING>")
    )


def test_a_pattern_that_looks_near_is_not_counted_and_one_with_few_matches_hardly() -> None:
    text = pa.array(["x" * 100_000 + '"quoted"'])
    for pattern, most in (("x", 0), ('".*"', 300_000)):
        counted = Counted(10**12)
        with counted.counting():
            made = evaluate(
                Call("regexp_count", (Column(0, STRING), Literal(pattern, STRING)), INT), [text], 1
            )
        assert made.to_pylist() == pc.count_substring_regex(text, pattern).to_pylist()
        assert counted.steps <= most
