"""Examples of regular expressions as Java has them."""

from __future__ import annotations

from tests.support.expression_makers import Example, fn

PATTERN_EXAMPLES: list[Example] = [
    *(
        (fn("rlike", text, pattern), value)
        for text, pattern, value in (
            ("é", r"\p{Alpha}", False),
            ("e", r"\p{Alpha}", True),
            ("e", r"\P{Alpha}", False),
            ("a-b", r"[\p{Punct}\p{Upper}]", True),
            ("é", r"[^\p{ASCII}]", True),
            ("αβ", r"\p{IsGreek}", True),
            ("αβ", r"\p{script=LATIN}", False),
            ("A", r"\p{gc=Lu}", True),
            ("é", r"\p{L1}", True),
            ("5", r"\p{IsDigit}", True),
            ("a\u00a0b", r"a\hb", True),
            ("a\nb", r"a\vb", True),
            ("a\nb", r"a\Vb", False),
            ("a\r\nb", r"a\Rb", True),
            ("\x1b", r"\e", True),
            ("\x01", r"\cA", True),
            ("A", r"^\u0041$", True),
            ("A", r"^\0101$", True),
            ("😀", r"^\uD83D\uDE00$", True),
            ("😀", r"^[\x{1F600}]$", True),
            ("ä", "(?i)Ä", False),
            ("ä", "(?iu)Ä", True),
            ("Aä", "(?i)aä", True),
            ("x\n", r"x\Z", True),
            ("x\n\n", r"x\Z", False),
            ("\x0b", r"[\S]", False),
            ("a\nb", r"a[\s\S]b", True),
        )
    ),
    # matches of the empty text
    (fn("regexp_replace", "axb", "x*", "-"), "-a--b-"),
    (fn("regexp_replace", "a", "a|", "-"), "--"),
    (fn("regexp_replace", "axb", "(x)?", "[$1]"), "[]a[x][]b[]"),
    (fn("regexp_replace", "", "x*", "-"), "-"),
    (fn("regexp_count", "äöü", ""), 4),
    (fn("regexp_count", "axb", "x*"), 4),
    (fn("regexp_substr", "axb", "x*"), None),
    (fn("array_join", fn("regexp_extract_all", "axb", "x*", 0), "|"), "|x||"),
    (fn("array_join", fn("split", "abc", ""), "|"), "a|b|c"),
    (fn("array_join", fn("split", "a😀c", "", 2), "|"), "a|😀c"),
    (fn("array_join", fn("split", "axxb", "x*"), "|"), "a||b|"),
    (fn("array_join", fn("split", "xa", "x*"), "|"), "||a|"),
    (fn("array_join", fn("split", "axb", "x*", 2), "|"), "a|b"),
    (fn("size", fn("split", "", "")), 1),
    (fn("split_item", "abc", "", 2), "b"),
    # replacements
    (fn("regexp_replace", "ab", "(?<n>a)", "${n}!"), "a!b"),
    (fn("regexp_replace", "ab", "(a)", "$12"), "a2b"),
    (fn("regexp_replace", "ab", "a", "$"), None),
    (fn("regexp_replace", "ab", "a", "\\"), None),
    (fn("regexp_replace", "ab", "x", "$"), "ab"),
    (fn("regexp_replace", "ab", "(a)", "$2"), None),
    (fn("regexp_replace", "ab", "(x)", "$2"), "ab"),
    (fn("regexp_replace", "aaa", "a", "b", 2), "abb"),
    (fn("regexp_replace", "aaa", "a*", "b", 4), "aaa"),
    (fn("regexp_extract", "ab", "(x)", 2), ""),
    (fn("regexp_extract", "ab", "(a)", 2), None),
    (fn("size", fn("regexp_extract_all", "ab", "(x)", 2)), 0),
    (fn("size", fn("regexp_extract_all", "ab", "(a)", 2)), None),
    (fn("regexp_instr", "abc", "(c)", 1), 3),
    (fn("base64", "x" * 58), "eHh4" * 19 + "\r\neA=="),
    (fn("conv", "ﬁ", 16, 10), "0"),
]
