"""The reference page of metrics: what a service with a stream, a query and a sink answers at /metrics."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from repository_pages import ROOT

_HEAD = """# Metrics

What `GET /metrics` of a service has, in the text format that Prometheus reads. Labels are streams, sinks,
kinds and states, never queries: a hundred thousand queries are as many series as ten. How it is watched is
told in [monitoring](../service.md#monitoring).

| metric | type | labels | |
| --- | --- | --- | --- |
"""
_SCRIPT = """
CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';
CREATE QUERY q AS SELECT x.a, COUNT(*) AS n FROM s x, s y WHERE x.a = y.a GROUP BY x.a;
CREATE SINK f FROM q INTO 'out';
"""


def metrics_page() -> str:
    families = list(text_string_to_metric_families(_answered()))
    return _HEAD + "\n".join(map(_row, families)) + "\n"


def _row(family: Metric) -> str:
    counter = family.type == "counter" and not family.name.endswith("_total")
    name = f"{family.name}_total" if counter else family.name
    return f"| `{name}` | {family.type} | {_labels(family)} | {family.documentation} |"


def _labels(family: Metric) -> str:
    names: Iterable[str] = {name for sample in family.samples for name in sample.labels} - {"le", "quantile"}
    return ", ".join(f"`{name}`" for name in sorted(names))


def _answered() -> str:
    """What a service without Spark says of a small input: the rig of the tests hosts it."""
    sys.path.insert(0, str(ROOT))
    from tests.support.http_rig import HttpRig

    with tempfile.TemporaryDirectory() as folder:
        rig = HttpRig(Path(folder), depth=3)
        try:
            rig.register(_SCRIPT)
            (rig.folder / "s.jsonl").write_text('{"a": 1, "ts": 5}\n{"a": 1, "ts": 6}\n', encoding="utf-8")
            rig.run()
            return str(rig.ask("GET", "/metrics")[1])
        finally:
            rig.close()
            sys.path.remove(str(ROOT))
