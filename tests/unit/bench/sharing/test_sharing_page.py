"""The benchmark of sharing: realistic data, safe and overlapping queries, fair comparisons."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from xml.etree import ElementTree

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seine.bench.harness.chart import Curve, line_chart
from seine.bench.harness.measure import BatchCost, Mark
from seine.bench.harness.progress_text import ProgressText
from seine.bench.harness.saved_figures import Figures
from seine.bench.sharing import (
    alternatives,
    curves,
    gains,
    jobs,
    live_registration,
    registering,
    scale,
    separate_pipelines,
    sharing_page,
    sharing_sizes,
)
from seine.bench.sides import on_service
from seine.bench.sides.commit_recorder import AwaitedQuery, CommitRecorder, Wait, waits
from seine.bench.sides.on_network import NetworkFigures, Stretch, estimates_of, run_side, run_with
from seine.bench.sides.on_service import Live, between
from seine.bench.sides.transfer_runs import Workload, side_apart, words
from seine.bench.workloads import rules
from seine.bench.workloads.admissions import make_admissions
from seine.bench.workloads.data_sets import DataSet
from seine.bench.workloads.gain_queries import gain_queries
from seine.bench.workloads.seeds import SEEDS, named_queries, queries
from seine.bench.workloads.spellings import Seed, Writer
from seine.bench.workloads.transfers import DECLARATION, SPAN_DAYS, make_transfers
from seine.cli.main import main
from seine.errors import RunError, SeineError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Script
from seine.frontends.script.script_file import read_script
from seine.network.network import build_network
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.runtime.local_host import LocalHost
from seine.runtime.output.totals import Totals
from seine.safety.verdict import refuse_unsafe
from seine.service.service import Service

MEASURED = NetworkFigures(5, 20, 4, 1.0, 2, 2_000, 4.0, 5.0, 6, {"q": 6})
PACE = BatchCost(10, 1000.0, 5.0, 2.0, 3.0, 40.0, 700)
KINDS = {
    "selection",
    "2-way join",
    "3-way join",
    "4-way join",
    "5-way join",
    "aggregate",
    "set operator",
    "combination",
}


@pytest.fixture(scope="module")
def transfers() -> pa.Table:
    return make_transfers(60_000)


def _parsed(statements: str) -> Script:
    return parse_script(DECLARATION.format(folder="x") + statements, file="q", folder="/")


# The transfers


def test_transfers_are_the_same_for_the_same_seed() -> None:
    assert make_transfers(3_000, seed=2).equals(make_transfers(3_000, seed=2))
    assert not make_transfers(3_000, seed=2).equals(make_transfers(3_000, seed=3))


def test_transfers_are_skewed(transfers: pa.Table) -> None:
    assert transfers.num_rows == 60_000
    for column in ("sacct", "racct"):
        counts = np.sort(np.array(transfers[column].value_counts().field("counts")))[::-1]
        assert counts[: len(counts) // 10].sum() > 0.4 * counts.sum()
    amounts = np.array(transfers["amount"].cast(pa.float64()))
    assert 9_000 < np.median(amounts) < 15_000
    assert 0.005 < (amounts > 1e6).mean() < 0.02
    assert (amounts > 0).all()


def test_transfers_come_nearly_in_order_and_fill_the_span(transfers: pa.Table) -> None:
    times = np.array(transfers["ts"].cast(pa.int64()))
    behind = np.maximum.accumulate(times) - times
    assert 0 < behind.max() <= 60_000_000
    assert SPAN_DAYS - 2 < (times.max() - times.min()) / 86_400e6 <= SPAN_DAYS
    assert pc.all(pc.equal(transfers["ts"].cast(pa.date32()), transfers["tran_date"])).as_py()


def test_chains_are_planted(transfers: pa.Table) -> None:
    """More pairs of large transfers follow one another than chance would bring."""
    database = duckdb.connect()
    database.register("transfer", transfers)
    rows = database.execute(
        "SELECT COUNT(*) FROM transfer a JOIN transfer b ON b.sacct = a.racct WHERE a.amount > 900000 "
        "AND b.amount BETWEEN a.amount * 0.9 AND a.amount AND b.ts > a.ts AND b.ts < a.ts + INTERVAL 3 DAY"
    ).fetchone()
    assert rows is not None
    assert rows[0] >= 10  # one chain of each length has 1 + 2 + 3 + 4 steps


def test_too_few_transfers_are_refused() -> None:
    with pytest.raises(ValueError, match="planted alone"):
        make_transfers(50)


# The seeds


def test_seeds_are_of_every_kind() -> None:
    assert {seed.kind for seed in SEEDS} == KINDS
    assert len({seed.name for seed in SEEDS}) == len(SEEDS) >= 30


def test_fewer_queries_are_the_beginning_of_more() -> None:
    assert queries(200).startswith(queries(100))
    assert queries(50, seed=1) != queries(50, seed=2)


def test_every_kind_is_among_100_queries() -> None:
    kinds = {seed.name: seed.kind for seed in SEEDS}
    assert {kinds[name.rsplit("_", 1)[0]] for name, _ in named_queries(100)} == KINDS


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
@pytest.mark.parametrize("share", [None, 0.01])
def test_queries_of_a_seed_are_safe_and_vary(seed: Seed, share: float | None) -> None:
    writer = Writer(Random(3), 6, share)
    texts = [seed.write(writer) for _ in range(12)]
    script = _parsed("".join(f"CREATE QUERY q{i} AS {text};\n" for i, text in enumerate(texts)))
    refuse_unsafe(script)
    assert len(script.declarations.queries) == 12
    assert len(set(texts)) > 6
    if share:
        assert all(re.search(r"[sr]acct\b.*\d{10}|\d{10}.*[sr]acct\b", text) for text in texts)


def test_spellings_of_a_condition_mean_the_same(transfers: pa.Table) -> None:
    """All spellings with equal constants hold for equally many tuples, or pairs."""
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.register("every", transfers)
    database.execute("CREATE TABLE few AS SELECT * FROM every WHERE tran_id <= 1000 AND amount > 20000")
    database.execute("CREATE TABLE pair AS SELECT a, b FROM few a, few b")
    says = {
        "above": lambda w: w.above("a.amount", "50000"),
        "at_least": lambda w: w.at_least("a.amount", "50000"),
        "between": lambda w: w.between("a.amount", "30000", "70000"),
        "equal": lambda w: w.equal("a.sacct", "b.racct"),
        "differs": lambda w: w.differs("a.scountry", "b.rcountry"),
        "after": lambda w: w.after("b", "a"),
        "within": lambda w: w.within("b", "a", 1),
        "within_dates": lambda w: w.within_dates("b", "a", 1),
        "keeps": lambda w: w.keeps("b", "a", 0.8, 0.8),
        "one_of": lambda w: w.one_of("a.rcountry", ["US", "KY"]),
    }
    for name, say in says.items():
        texts = {say(Writer(Random(number), 1)) for number in range(60)}
        assert len(texts) >= 2, name
        counts = {database.execute(f"SELECT COUNT(*) FROM pair WHERE {text}").fetchone() for text in texts}
        assert len(counts) == 1, (name, texts)


def test_pools_grow_with_the_queries() -> None:
    def amounts(count: int) -> int:
        return len(set(re.findall(r"\b\d{7,}\b", queries(count))))

    assert amounts(3_000) > 2 * amounts(768)


# The comparisons


def test_configurations_run_and_agree(tmp_path: Path) -> None:
    """One configuration over all history, another over the recent part only: the same results, and some."""
    workload = Workload(str(tmp_path), 6_000, 3_000, 3)
    whole, recent = workload.whole(1), workload.recent(2, 1)
    assert (whole.history, whole.batches, recent.history, recent.batches) == (3, 3, 2, 1)
    text = queries(40)
    all_ = run_with(CONFIGURATIONS["all"], workload.script("a", whole, text), whole)
    off = run_with(CONFIGURATIONS["off"], workload.script("b", recent, text), recent)
    curves.check_equal({"all": all_.outputs, "off": off.outputs})
    assert (all_.queries, all_.rows, off.rows) == (40, 3_000, 1_000)
    assert all_.out > sum(all_.outputs.values()) > 0
    assert all_.rows_per_second > 0 < off.cpu_per_batch


def test_a_side_runs_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    workload = Workload(str(tmp_path), 600, 300, 1)
    script = workload.script("one", workload.whole(1), queries(3))
    measured = side_apart(words("a title", "all", script, workload.whole(1)))
    assert (measured.queries, measured.rows) == (3, 300)
    assert "a title ..." in capfd.readouterr().err
    with pytest.raises(RunError, match="'a title' failed"):
        side_apart(words("a title", "all", str(tmp_path / "missing.sql"), workload.whole(1)))


def test_other_results_are_refused() -> None:
    with pytest.raises(RunError, match=r"'off' gives other results than 'all' for 1 queries: q has 2, not 1"):
        curves.check_equal({"all": {"q": 1, "r": 3}, "off": {"q": 2, "r": 3}})


def test_every_configuration_has_a_name_in_the_paper() -> None:
    plain = Strategy()  # plans and panes are no ways of sharing
    others = {
        name
        for name, strategy in CONFIGURATIONS.items()
        if (strategy.plans, strategy.panes) != (plain.plans, plain.panes)
    }
    alone = {technique.off for technique in gains.TECHNIQUES.values()} - {"no-vertical"}
    assert curves.PAPER.keys() == {*CONFIGURATIONS, separate_pipelines.NAME} - others - alone


def test_a_sample_of_queries_alone_stands_for_all() -> None:
    alone = [replace(MEASURED, cpu=cpu, outputs={name: 3}) for name, cpu in (("a", 1.0), ("b", 2.0))]
    summed = separate_pipelines.together(alone, 10)
    assert (summed.cpu_per_batch, summed.nodes, summed.rows) == (7.5, 200, MEASURED.rows)
    assert summed.outputs == {"a": 3, "b": 3}


def test_tables_have_ratios() -> None:
    slow = replace(MEASURED, cpu=8.0)
    figures = {(5, "all"): MEASURED, (5, "off"): slow}
    assert [row[-1] for row in curves.tabulate(figures).rows[1:]] == ["1.00x", "2.00x"]
    assert [row[-1] for row in scale.tabulate({5: MEASURED, 9: slow}).rows[1:]] == ["1.00x", "0.50x"]
    sides = {alternatives.ONE: PACE, alternatives.BY_HAND: replace(PACE, rows_per_second=250.0)}
    assert [row[-1] for row in alternatives.tabulate(sides).rows[1:]] == ["4.00x", "1.00x"]


def test_portfolios_keep_the_matches(transfers: pa.Table) -> None:
    """With portfolios that shrink as queries grow, selections find about equally many transfers."""
    database = duckdb.connect()
    database.register("transfer", transfers)
    selection = next(seed for seed in SEEDS if seed.name == "large")
    totals = []
    for count, share in ((20, 0.5), (200, 0.05)):
        writer = Writer(Random(1), 6, share)
        texts = [selection.write(writer).replace("WHERE", "WHERE amount > 0 AND", 1) for _ in range(count)]
        loose = [re.sub(r"\b\d{8,9}\b", "100000", text) for text in texts]
        answers = [database.execute(text).fetchall() for text in loose]
        totals.append(sum(map(len, answers)))
    assert totals[0] > 1_000
    assert totals[1] == pytest.approx(totals[0], rel=0.3)


def test_registering_is_timed() -> None:
    measured = registering.measure(Figures(), present=20, singles=5, bulks=(15,))
    one, bulk = measured.values()
    assert one["queries"] == 5
    assert 0 < one["median_ms"] <= one["p95_ms"]
    assert bulk["queries"] == 15
    assert len(registering.tabulate(measured).rows) == 3


def test_templates_differ_and_are_safe() -> None:
    given = rules.rules(60)
    made = rules.templates(50)
    assert len(set(made)) == 50
    for text in (rules.one_template(given), rules.mixed_templates(given)):
        script = _parsed(text)
        refuse_unsafe(script)
        assert len(script.declarations.queries) == 60


def test_alternatives_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []

    def runner(title: str, module: str, *arguments: object) -> BatchCost:
        seen.append((module, *arguments))
        return replace(PACE, total_out=len(seen) if module == alternatives.RULES_SIDE else 2)

    size = {"queries": 5, "templates": 2, "transfers": 600, "history": 300, "batches": 1}
    measured = alternatives.measure(Figures(), **size, runner=runner)
    assert list(measured) == [alternatives.ONE, alternatives.BY_HAND, "Seine, 2 templates"]
    with pytest.raises(RunError, match="gives 2 results"):
        alternatives.measure(Figures(), **size, runner=runner)


def test_jobs_are_scaled_from_a_sample() -> None:
    seen: list[tuple[object, ...]] = []

    def runner(title: str, module: str, *arguments: object) -> BatchCost:
        seen.append(arguments)
        return replace(PACE, cpu_per_batch=2.0 * len(seen))

    size = {"queries": 10, "sample": 3, "transfers": 600, "history": 300, "batches": 1}
    measured = jobs.measure(Figures(), **size, runner=runner)
    assert [arguments[-1] for arguments in seen] == ["all", "off", "all", "all", "all"]
    assert [row[-1] for row in jobs.tabulate(measured).rows[1:]] == ["1.0x", "2.0x", "40.0x"]


def test_jobs_must_agree() -> None:
    def runner(title: str, module: str, *arguments: object) -> BatchCost:
        return replace(PACE, total_out=3 if arguments[-1] == "off" else 2)

    size = {"queries": 2, "sample": 1, "transfers": 600, "history": 300, "batches": 1}
    with pytest.raises(RunError, match="2 results if shared, 3 if not"):
        jobs.measure(Figures(), **size, runner=runner)


# Single techniques


def test_admissions_have_patients_who_come_back() -> None:
    table = make_admissions(4_000)
    assert table == make_admissions(4_000)
    database = duckdb.connect()
    database.register("admission", table)
    again = database.execute(
        "SELECT COUNT(*) FROM admission a, admission b WHERE a.patient = b.patient AND b.ts > a.ts "
        "AND b.ts <= a.ts + INTERVAL 30 DAY"
    ).fetchone()
    assert again is not None and again[0] > 800
    means = database.execute(
        "SELECT AVG(charge) FROM admission GROUP BY severity ORDER BY severity"
    ).fetchall()
    assert [a[0] * 2 < b[0] for a, b in pairwise(means)] == [True] * 3
    assert pc.count_distinct(table["hospital"]).as_py() == 80


@pytest.mark.parametrize("data", gains.DATA.values(), ids=list(gains.DATA))
@pytest.mark.parametrize("technique", gains.TECHNIQUES)
def test_queries_of_a_technique_are_safe(technique: str, data: DataSet) -> None:
    text = data.declaration.format(folder="x") + gain_queries(technique, data.name, 12)
    script = parse_script(text, file="q", folder="/")
    refuse_unsafe(script)
    assert 9 <= len(script.declarations.queries) <= 12


def test_a_technique_that_is_off_is_off(tmp_path: Path) -> None:
    """Each switch changes the network, and only that: the queries have the same results, and some."""
    size = {"rows": 6_000, "history": 3_000, "batches": 1, "queries": 6}
    techniques = ("transitivity", "aggregates", "set operators")
    measured = gains.measure(Figures(), **size, techniques=techniques, side=run_side)
    assert list(measured) == [(data, technique) for data in ("Fed", "Med") for technique in techniques]
    for (_, technique), (on, off) in measured.items():
        assert on.out > 0
        if technique in ("aggregates", "set operators"):
            assert off.nodes > 1.5 * on.nodes
    rows = gains.tabulate(measured).rows
    assert len(rows) == 1 + len(measured)
    assert all(re.fullmatch(r"\d+\.\d\dx", row[-2]) for row in rows[1:])


def test_statistics_order_joins_unless_that_is_off(tmp_path: Path) -> None:
    """The rare transfer is named last; with statistics its join comes first."""
    workload = Workload(str(tmp_path), 6_000, 3_000, 1)
    script = workload.script("order", workload.whole(1), gain_queries("join order", "Fed", 1))
    known = estimates_of(script, 3_000)
    queries = read_script(script).declarations.queries.values()
    networks = [
        build_network(queries, CONFIGURATIONS[name], estimates)
        for name, estimates in (("all", known), ("order-of-text", known), ("all", None))
    ]
    keys = [
        [[port.key for port in node.ports] for node in network.nodes.values() if node.is_join]
        for network in networks
    ]
    assert keys[0] != keys[1] == keys[2]


def test_gains_must_have_results() -> None:
    size = {"rows": 600, "history": 300, "batches": 1, "queries": 1, "techniques": ("transitivity",)}
    with pytest.raises(RunError, match="Fed, transitivity: the queries have no results"):
        gains.measure(Figures(), **size, side=lambda words: replace(MEASURED, out=0, outputs={}))
    others = iter([MEASURED, replace(MEASURED, outputs={"q": 9})])
    with pytest.raises(RunError, match="'no-transitivity' gives other results"):
        gains.measure(Figures(), **size, side=lambda words: next(others))


# The page


def test_charts_are_well_formed() -> None:
    curves = [Curve("a < b & c", [(100, 0.5), (768, 2.0)]), Curve("flat", [(100, 0.5), (768, 0.5)])]
    for chosen in (curves, curves[1:]):
        root = ElementTree.fromstring(line_chart('CPU "seconds"', "queries", "s", chosen, "a note"))
        assert root.tag.endswith("svg")
        lines = [part for part in root if part.tag.endswith("polyline")]
        assert len(lines) == len(chosen)
        points = [tuple(map(float, p.split(","))) for p in lines[0].attrib["points"].split()]
        assert len(points) == 2
        assert all(0 < x < 720 and 0 < y < 420 for x, y in points)


def test_figures_are_not_measured_again(tmp_path: Path) -> None:
    path = str(tmp_path / "figures.json")
    assert Figures(path).take("a", lambda: {"n": 1}) == {"n": 1}
    assert Figures(path).take("a", lambda: pytest.fail("measured again")) == {"n": 1}
    assert json.loads(Path(path).read_text()) == {"a": {"n": 1}}
    for text in ("{", "[]"):
        Path(path).write_text(text)
        with pytest.raises(SeineError, match="figures"):
            Figures(path)


def test_the_page_has_the_parts_that_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    side = Counter()

    def fake(arguments: list[str]) -> NetworkFigures:
        alone = "apart-" in arguments[2]
        side[separate_pipelines.NAME if alone else arguments[1]] += 1
        return replace(MEASURED, outputs={}) if alone else MEASURED

    parts = {
        "curves": {**sharing_sizes.QUICK["curves"], "side": fake},
        "scale": {**sharing_sizes.QUICK["scale"], "side": fake},
    }
    resume = str(tmp_path / "figures.json")
    for _ in range(2):
        page = sharing_page.main(parts, "curves", resume, str(tmp_path / "images"))
    assert page.startswith("### curves\n")
    assert page.count("NonCanon") >= 2
    # Two numbers of queries, each measured once; the fewer that run alone are among the more.
    assert side == {**dict.fromkeys(curves.PAPER, 2), separate_pipelines.NAME: 4}
    drawn = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert drawn == sorted(curves.pictures({(5, name): MEASURED for name in curves.PAPER}))
    assert "### scale" in sharing_page.main(parts, "scale")


def test_sizes_name_every_part() -> None:
    names = [part.name for part in sharing_page.PARTS]
    assert list(sharing_sizes.FULL) == list(sharing_sizes.QUICK) == names


def test_options_of_sharing_are_refused_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "join", "--only", "curves"]) != 0
    assert "for the benchmark 'sharing'" in capsys.readouterr().err


def test_a_line_is_rewritten_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    import io

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    with ProgressText("long work", shown) as line:
        line.say("1 of 2")
    assert shown.getvalue() == "\r\033[K  long work: 1 of 2\r\033[K  long work ...\n"


def test_a_side_knows_its_words(tmp_path: Path) -> None:
    workload = Workload(str(tmp_path), 600, 300, 1)
    stretch = workload.whole(1)
    assert stretch == Stretch(300, 1, 1, 1)
    script = workload.script("one", stretch, queries(2))
    assert run_side(words("t", "no-canonical", script, stretch)).queries == 2


# Registering while a service runs


def _committed(recorder: CommitRecorder, entry: int, **outputs: int) -> None:
    totals = Totals(entry=entry, batches=entry + 1, input_rows=100 * (entry + 1), outputs=outputs)
    recorder(SimpleNamespace(totals=totals))  # type: ignore[arg-type]


def test_batches_are_counted_up_to_the_first_result() -> None:
    recorder = CommitRecorder(lambda batch, rows, out: Mark(batch, 2.0 * batch, 3.0 * batch, rows, out))
    recorder.expect("quick")
    recorder.expect("slow")
    for entry, outputs in enumerate([{"old": 4}, {"quick": 1}, {"quick": 2}, {"quick": 2, "slow": 1}]):
        _committed(recorder, entry, **outputs)
    assert {name: first.entry for name, first in recorder.firsts.items()} == {"quick": 1, "slow": 3}
    awaited = [AwaitedQuery("quick", 0.0, -1, 1), AwaitedQuery("slow", 0.0, 0, 2)]
    assert [(one.batches, one.since_call) for one in waits(awaited, recorder.firsts)] == [(1, 2), (2, 3)]
    with pytest.raises(RunError, match="query silent, registered from entry 2 on, has no result"):
        waits([AwaitedQuery("silent", 0.0, 0, 2)], recorder.firsts)
    assert between(recorder.marks, 1, 3, True, 5) == on_service.ServiceStretch(True, 2, 200, 4.0, 6.0, 5)


def test_who_waits_for_batches_learns_of_the_end() -> None:
    recorder = CommitRecorder()
    assert not recorder.wait(1, 0.0)
    _committed(recorder, 0)
    assert recorder.wait(1)
    recorder.end()
    assert recorder.wait(1)
    with pytest.raises(RunError, match="ended after 1 of 2 micro-batches"):
        recorder.wait(2)


def test_queries_come_while_a_service_runs() -> None:
    """Without Spark, with a pause after each micro-batch in which the client gets its turn."""

    def host(service: Service, log: str) -> None:
        local = LocalHost(service.deployment)
        while service.driver.run_some(local.run):
            time.sleep(0.05)

    measured = on_service.run_side(on_service.Size(5, 4_000, 1, 3, 0.02), host)
    assert [one.busy for one in measured.stretches] == list(on_service.STRETCHES)
    assert {(one.batches, one.rows) for one in measured.stretches} == {(3, 12_000)}
    assert [one.changes > 0 for one in measured.stretches] == list(on_service.STRETCHES)
    assert sum(one.changes for one in measured.stretches) <= len(measured.changes)  # some while it settles
    assert {one.batches for one in measured.waits} == {1}


def test_a_service_that_ends_early_is_an_error() -> None:
    with pytest.raises(RunError, match="ended after 0 of 1 micro-batches"):
        on_service.run_side(on_service.Size(1, 500, 1, 1, 0.1), lambda service, log: None)


def test_live_figures_as_a_table() -> None:
    stretches = [
        on_service.ServiceStretch(busy, 2, 1_000, 9.0 + busy, 4.0 + busy, 3 * busy) for busy in (0, 1)
    ]
    known = asdict(Live(stretches, [Wait(1, 3, 2.5), Wait(2, 4, 3.5)], [0.01, 0.02, 0.09]))
    figures, sizes = Figures(), []

    def side(size: on_service.Size) -> dict[str, object]:
        sizes.append(size)
        return known

    size = {name: value for name, value in sharing_sizes.FULL["live"].items() if name != "side"}
    for _ in range(2):
        measured = live_registration.measure(figures, **size, side=side)
    assert sizes == [on_service.Size(**size)]
    alone, registering = live_registration.tabulate(measured).rows[1:]
    assert alone == ("alone", "2", "0", "", "111", "1.00x", "4000.0", "1.00x", "", "", "")
    assert registering[1:8] == ("2", "3", "20, worst 90", "100", "0.90x", "5000.0", "0.80x")
    assert registering[8:] == ("1.5, worst 2", "3.5, worst 4", "3.0, worst 3.5")
