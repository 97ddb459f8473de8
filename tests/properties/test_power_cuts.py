"""Power cuts: whatever the disk holds when the power goes, nothing is lost or repeated.

A run is recorded on a disk that notes what is synced; of every moment folders are made as a cut may leave
them; from each a new run goes on to the end, and its output is that of the undisturbed run. State is Spark's,
which has a checkpoint of its own: here it is that after the last micro-batch that counts.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.frontends.script.script import Script
from seine.intake.retention_limit import RetentionLimit
from seine.run import Options, Run
from seine.run_local import LocalHost
from seine.runtime.output.outlets import Folder
from seine.runtime.output.task_report import TaskReport
from tests.support.power_cuts import MODELS, Cut, distinct, lay_out, recorded_disk, spread

SCRIPT = """\
CREATE STREAM a (k BIGINT, v BIGINT, word STRING, at BIGINT) TIMESTAMP BY at WINDOW 20 PUNCTUATED ON (k)
  FROM 'a.jsonl';
CREATE STREAM b (k BIGINT, word STRING, at BIGINT) TIMESTAMP BY at WINDOW 20 FROM 'b.jsonl';
CREATE STREAM posts (doc XML, at BIGINT) TIMESTAMP BY at FROM 'posts.jsonl';
CREATE RELATION names (k BIGINT, name STRING) FROM 'names.jsonl';
CREATE JOIN a.k = b.k;
CREATE QUERY pairs AS SELECT a.v AS v, b.at AS at, n.name AS name FROM a, b, names n
  WHERE a.k = b.k AND b.k = n.k;
CREATE QUERY sums AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a GROUP BY k;
CREATE QUERY words AS SEARCH 'amber basil' OVER (a, b) MAX 2 TUPLES;
CREATE QUERY replies AS XSCL $$ posts//id->x FOLLOWED BY{x = y, 30} posts//to->y $$;
"""
_ENTRIES = 3
_MOST_CUTS = 60  # of those that each test tries when not all are tried

State = tuple[dict[tuple[int, int], bytes], dict[str, bytes]]
States = dict[int, State]  # after each entry


@dataclass
class Outputs:
    """Where a run writes: the name of a form of output, and how it is kept."""

    form: str
    keep: RetentionLimit | None = None
    states: States = field(default_factory=dict)

    def options(self, root: Path) -> Options:
        forms = {"file": f"{root}/out.jsonl", "folder": Folder(f"{root}/out"), "queries": f"{root}/outs/"}
        dead = f"{root}/dead.jsonl"
        return Options(forms[self.form], dead, f"{root}/state", 40, keep=self.keep, notice=lambda text: None)  # type: ignore[arg-type]

    def read(self, root: Path) -> dict[str, list[str]]:
        """The records and the dead letters, whatever files they are in."""
        lines: dict[str, list[str]] = {"records": [], "dead": []}
        for path in sorted(root.glob("*out*/*.jsonl")) + sorted(root.glob("*.jsonl")):
            lines["dead" if path.name.startswith("dead") else "records"] += path.read_text().splitlines()
        return {name: sorted(kind) for name, kind in lines.items()}


def _write_input(folder: Path) -> Script:
    rng = random.Random(5)
    words = ("amber", "basil", "cedar")
    a: list[object] = []
    for i in range(40 * (_ENTRIES - 1)):
        a.append({"k": rng.randrange(4), "v": i, "word": rng.choice(words), "at": i // 4})
        if i % 30 == 29:
            a.append({"@punctuate": {"k": 100 + i}, "at": i // 4})
    a.insert(5, {"k": "none"})
    b = [{"k": rng.randrange(4), "word": rng.choice(words), "at": i // 2} for i in range(40)]
    posts = [{"doc": f"<p><id>{i}</id><to>{rng.randrange(i + 1)}</to></p>", "at": i} for i in range(20)]
    names = [{"k": i, "name": f"n{i}"} for i in range(4)]
    for name, records in {"a": a, "b": b, "posts": posts, "names": names}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    (folder / "script.sql").write_text(SCRIPT)
    return read_script(str(folder / "script.sql"))


def _carry(script: Script, root: Path, outputs: Outputs, states: States) -> None:
    """Go on to the end, with the state after what is committed; notes the state after each further entry."""
    run = Run(script, outputs.options(root))
    try:
        host = LocalHost(run.deployment)
        if run.driver.committed in states:
            heads, blobs = states[run.driver.committed]
            host.heads, host.blobs = dict(heads), dict(blobs)

        def work(number: int) -> list[TaskReport]:
            reports = host.run(number)
            states.setdefault(number, (dict(host.heads), dict(host.blobs)))
            return reports

        run.driver.run_all(work)
    finally:
        run.close()


def _recorded(
    script: Script, root: Path, outputs: Outputs, states: States, monkeypatch: pytest.MonkeyPatch
) -> list[Cut]:
    with recorded_disk(root, monkeypatch) as disk:
        _carry(script, root, outputs, states)
        cuts = [*disk.cuts, *disk.images("the end")]
    assert disk.syncs > 5
    return cuts


@dataclass
class Losses:
    """What went wrong, by cut."""

    tried: int = 0
    reasons: list[str] = field(default_factory=list)

    def try_(self, cut: Cut, go_on: Callable[[], object], wanted: object) -> None:
        self.tried += 1
        try:
            got = go_on()
        except SeineError as error:
            self.reasons.append(f"{cut.model} {cut.moment}: {error.message}")
            return
        if got != wanted:
            self.reasons.append(f"{cut.model} {cut.moment}: lost or repeated")


def _go_on(script: Script, outputs: Outputs, cut: Cut, root: Path, states: States) -> dict[str, list[str]]:
    shutil.rmtree(root, ignore_errors=True)
    lay_out(cut.image, root)
    _carry(script, root, outputs, dict(states))
    return outputs.read(root)


def _survives(outputs: Outputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int | None) -> None:
    script, root, states = _write_input(tmp_path), tmp_path / "recorded", States()
    (root / "state").mkdir(parents=True)  # by the user, long ago
    cuts = distinct(_recorded(script, root, outputs, states, monkeypatch))
    wanted = outputs.read(root)
    queries = {json.loads(line)["query"] for line in wanted["records"]}
    if outputs.keep is None or outputs.keep.bytes is None:
        assert queries == {"pairs", "sums", "words", "replies"} and len(wanted["dead"]) == 1
    assert len(states) >= _ENTRIES and {cut.model for cut in cuts} == {*MODELS} and len(cuts) > _MOST_CUTS
    losses = Losses()
    for cut in cuts if most is None else spread(cuts, most):
        losses.try_(cut, lambda cut=cut: _go_on(script, outputs, cut, tmp_path / "cut", states), wanted)
    assert losses.tried > 20
    assert not losses.reasons, f"{len(losses.reasons)} of {losses.tried}: " + "\n".join(losses.reasons)


@pytest.mark.parametrize("form", ["file", "folder"])
def test_no_cut_loses_or_repeats(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _survives(Outputs(form), tmp_path, monkeypatch, _MOST_CUTS // 2)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["file", "folder", "queries", "kept"])
def test_no_cut_at_any_moment_loses_or_repeats(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = RetentionLimit(bytes=1 << 40) if form == "kept" else None
    _survives(Outputs("file" if keep else form, keep), tmp_path, monkeypatch, None)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["strict", "names", "torn"])
def test_a_second_cut_while_it_goes_on_loses_nothing(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, root, states, outputs = _write_input(tmp_path), tmp_path / "recorded", States(), Outputs("file")
    (root / "state").mkdir(parents=True)
    cuts = distinct(_recorded(script, root, outputs, states, monkeypatch), [model])
    wanted, losses = outputs.read(root), Losses()
    for number, first in enumerate(spread(cuts, 4)):
        again = tmp_path / f"again-{number}"
        lay_out(first.image, again)
        seconds = distinct(_recorded(script, again, outputs, dict(states), monkeypatch), [model])
        for cut in spread(seconds, 8):
            losses.try_(cut, lambda cut=cut: _go_on(script, outputs, cut, tmp_path / "cut", states), wanted)
    assert losses.tried > 20 and not losses.reasons, losses.reasons
