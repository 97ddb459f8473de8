"""What Nexmark's queries are told before they run: which need `unbounded`, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.demo.nexmark.events import QUERIES, declarations, query_text
from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.safety.verdict import Verdict, verdict

UNBOUNDED = {
    "q3": ("nothing purges a, p", "declare auction PUNCTUATED ON (seller) and person PUNCTUATED ON (id)"),
    "q4": ("nothing purges a, b", "declare a WINDOW on auction"),
    "q6": ("nothing purges a, b", "declare a WINDOW on auction"),
    "q18": ("nothing purges bid", "declare bid PUNCTUATED ON (bidder)"),
    "q19": ("nothing purges bid", "declare bid PUNCTUATED ON (auction)"),
    "q20": (
        "nothing purges a",
        "declare bid PUNCTUATED ON (auction), or a WINDOW on auction (older tuples no longer count); or "
        "add a condition such as b.date_time BETWEEN a.date_time AND a.date_time + INTERVAL '1' HOUR",
    ),
}
PROCESSING_TIMES = (
    "SELECT bidder, COUNT(*) AS n FROM bid GROUP BY bidder, window(current_timestamp(), '10 seconds')",
    "SELECT bidder, COUNT(*) AS n FROM (SELECT *, PROCTIME() AS p_time FROM bid) b"
    " GROUP BY bidder, window(p_time, '10 seconds')",
)


def judged(folder: Path, text: str) -> Verdict:
    path = folder / "script.sql"
    path.write_text(declarations() + text)
    (query,) = read_script(str(path)).declarations.queries.values()
    return verdict(query)


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_not_bounded_is_refused_with_a_cure(name: str, tmp_path: Path) -> None:
    text = query_text(name)
    bare = judged(tmp_path, text.replace(" WITH (unbounded = true)", ""))
    assert bare.safe == (name not in UNBOUNDED) == ("unbounded" not in text), bare.reason
    if not bare.safe:
        reason, hint = UNBOUNDED[name]
        assert bare.reason.endswith(reason)
        assert bare.hint is not None and hint in bare.hint


@pytest.mark.parametrize("query", PROCESSING_TIMES)
def test_processing_time_is_refused_in_a_line_that_names_event_time(query: str, tmp_path: Path) -> None:
    with pytest.raises(SeineError, match="refused: results depend on event times alone") as refused:
        judged(tmp_path, f"CREATE QUERY q12 AS {query};")
    assert "window(ts, '10 seconds')" in (refused.value.hint or "")
