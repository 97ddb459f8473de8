"""A plan of `seine run` is chosen by samples of its files; a resumed run keeps the plan that it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.cli.main import main
from seine.frontends.script.parser import read_script
from seine.network.network import Network
from seine.operators.join.join import JoinNode
from seine.operators.match.prefilter import PrefilterNode
from seine.run import Options, Run
from seine.run_local import LocalHost, run_local
from seine.runtime.source_samples import source_estimates

STREAM = "CREATE STREAM {0} (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 1000 FROM '{0}.jsonl';\n"
STREAMS = "".join(map(STREAM.format, "abc"))
CHAIN = "SELECT a.ts AS u, b.ts AS v, c.ts AS w FROM a, b, c WHERE a.k = b.k AND b.x = c.x"


def write(folder: Path, name: str, rows: int, keys: int, values: int) -> None:
    lines = [json.dumps({"k": n % keys, "x": n % values, "ts": n}) for n in range(rows)]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def skewed(folder: Path, queries: str = f"CREATE QUERY q AS {CHAIN};") -> str:
    """All of a meets all of b, and hardly anything of b meets c: c is to be joined first."""
    write(folder, "a", 60, 1, 5)
    write(folder, "b", 60, 1, 60)
    write(folder, "c", 3, 1, 60)
    path = folder / "script.sql"
    path.write_text(STREAMS + queries, encoding="utf-8")
    return str(path)


def joined_first(network: Network) -> list[str]:
    """The streams of the lowest join."""
    first = min((node for node in network if isinstance(node, JoinNode)), key=lambda node: node.stage)
    return sorted(first.streams)


def opened(script: str, **options: object) -> Run:
    return Run(read_script(script), Options(out=f"{script}.out", **options))  # type: ignore[arg-type]


def test_the_order_of_joins_follows_the_files(tmp_path: Path) -> None:
    script = skewed(tmp_path)
    orders = []
    for sample in (1_000, 1_000, 0):
        run = opened(script, sample=sample)
        orders.append(joined_first(run.network))
        run.close()
    assert orders == [["b", "c"], ["b", "c"], ["a", "b"]]
    with_sample, without = (run_local(script, sample=sample).records for sample in (1_000, 0))
    assert len(with_sample) == 180
    assert sorted(map(json.dumps, with_sample)) == sorted(map(json.dumps, without))


def test_a_condition_that_nearly_all_satisfy_is_not_asked_before_a_join(tmp_path: Path) -> None:
    script = skewed(
        tmp_path, "CREATE QUERY q AS SELECT a.ts AS u FROM a, b WHERE a.k = b.k AND a.ts > 1 AND b.ts > 50;"
    )
    shapes = []
    for sample in (1_000, 0):
        run = opened(script, sample=sample)
        prefilters = [node for node in run.network if isinstance(node, PrefilterNode)]
        shapes.append(sorted(str(f.shape) for node in prefilters for f in node.filters))
        run.close()
    assert shapes == [["None", "ge(#2, ?0)"], ["ge(#2, ?0)"] * 2]


def test_a_resumed_run_keeps_its_plan_though_files_have_grown(tmp_path: Path) -> None:
    script, state = skewed(tmp_path), str(tmp_path / "state")
    run = opened(script, checkpoint=state, batch_rows=20)
    assert joined_first(run.network) == ["b", "c"]
    assert run.driver.run_some(LocalHost(run.deployment).run)
    run.close()
    for name in "bc":
        with (tmp_path / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"k": n, "x": 5, "ts": n}) + "\n" for n in range(100, 3_000))
    fresh = opened(script, checkpoint=str(tmp_path / "fresh"))
    assert joined_first(fresh.network) == ["a", "b"]
    fresh.close()
    again = opened(script, checkpoint=state, batch_rows=20)
    assert joined_first(again.network) == ["b", "c"]
    assert again.network.record() == run.network.record()
    again.close()


def test_explain_shows_the_plan_that_would_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = skewed(tmp_path)

    def explained(*options: str) -> str:
        assert main(["explain", script, *options]) == 0
        return capsys.readouterr().out

    line = "planned by samples of a (all 60 rows), b (all 60 rows), c (all 3 rows)\n"
    assert explained().endswith(line) and "b (7 of about 60 rows)" in explained("--sample", "7")
    assert "planned" not in explained("--sample", "0")
    assert explained() != explained("--sample", "0")
    assert json.loads(explained("--json"))["samples"]["c"] == {"rows": 3, "seen": 3}
    for name in "abc":
        (tmp_path / f"{name}.jsonl").unlink()
    assert explained() == explained("--sample", "0")


def test_only_what_a_plan_asks_for_is_sampled(tmp_path: Path) -> None:
    script = skewed(tmp_path, "CREATE QUERY q AS SELECT k FROM a WHERE x > 3;")
    estimates = source_estimates(read_script(script).declarations.tables, 1_000)
    assert estimates is not None and "a" in estimates.samples and "z" not in estimates.samples
    assert [*estimates.samples.taken] == ["a"]  # type: ignore[attr-defined]
    assert source_estimates(read_script(script).declarations.tables, 0) is None
