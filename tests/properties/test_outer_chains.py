"""Chains of five and six outer and inner joins, as people write them: what DuckDB says of live tuples."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random

from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import run_local
from tests.reference.answers import Answers
from tests.reference.verdict import disagreements
from tests.support.seeds import seeds

CHAINS = (
    ("LEFT", "LEFT", "LEFT", "LEFT", "LEFT"),
    ("LEFT", "RIGHT", "FULL", "LEFT", "INNER"),
    ("INNER", "FULL", "LEFT", "RIGHT", "LEFT"),
    ("LEFT", "INNER", "LEFT", "LEFT", "FULL", "LEFT"),
)


def _chain(rng: Random, kinds: tuple[str, ...]) -> str:
    """Joins one behind the other, each with any of those before it."""
    text, outputs = "s0 t0", ["t0.v AS c0"]
    for number, kind in enumerate(kinds, 1):
        before = rng.randrange(number)
        condition = f"t{before}.k = t{number}.k AND t{number}.v <> {rng.randint(0, 2)}"
        text += f" {kind} JOIN s{rng.randint(0, 2)} t{number} ON {condition}"
        outputs.append(f"t{number}.v AS c{number}")
    return f"SELECT {', '.join(outputs)} FROM {text}"


@seeds(2)
def test_a_chain_of_outer_joins_is_that_of_the_reference(seed: int) -> None:
    rng = Random(seed)
    script = ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, window in enumerate((6, 15, 40)):
            script += (
                f"CREATE STREAM s{number} (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW {window}"
            )
            script += f" FROM 's{number}.jsonl';\n"
            rows = [{"k": rng.randint(0, 2), "v": rng.randint(0, 3), "ts": 5 * i} for i in range(6)]
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"s{number}.jsonl").write_text(lines, encoding="utf-8")
        for number in range(2):
            chain = CHAINS[(2 * seed + number) % len(CHAINS)]
            script += f"CREATE QUERY q{number} AS {_chain(rng, chain)};\n"
        path = folder / "script.sql"
        path.write_text(script, encoding="utf-8")
        answers = Answers(script, folder)
        assert all(answers.net(query, answers.final) for query in answers.script.queries)
        sharing = CONFIGURATIONS[rng.choice(["all", "off"])]
        run = run_local(str(path), batch_rows=rng.choice([1, 3, None]), sharing=sharing)
        assert not disagreements(answers, run.records, run.dead, answers.instants()[::3])
