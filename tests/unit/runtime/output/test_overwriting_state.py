"""State on an object store is refused in one line, whoever is asked to keep it there, and nothing is made."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.run import Options, Run
from seine.service.folder import ServiceFolder

URL = "s3a://bucket/state"
SCRIPT = (
    "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl'; CREATE QUERY q AS SELECT a FROM s;"
)


def _run(**options: str) -> Run:
    return Run(parse_script(SCRIPT, file="x.sql", folder=os.getcwd()), Options(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "opening",
    [
        lambda: _run(checkpoint=URL),
        lambda: _run(out=URL),
        lambda: _run(dead_letter=URL),
        lambda: ServiceFolder(URL).lock(),
    ],
)
def test_a_url_is_refused(
    opening: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.jsonl").write_text('{"a": 1, "ts": 1}\n')
    with pytest.raises(
        SeineError, match="'s3a://bucket/state' is a URL, and object stores are not supported"
    ):
        opening()

    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]
