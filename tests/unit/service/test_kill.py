"""A service killed in the middle of registrations comes back whole: what was acknowledged stands."""

from __future__ import annotations

import json
import random
from pathlib import Path

from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE
from tests.support.killed_worker import run_and_kill

KILLS = 5

# Registers, drops and runs until it is killed; a line on standard output acknowledges a change.
WORKER = """
import sys
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.access.allow_list import AllowList
from seine.service.service import Service, ServiceOptions

folder = sys.argv[1]
service = Service(ServiceFolder(folder + "/state"), ServiceOptions(reach=AllowList((folder,))))
host = LocalHost(service.deployment)
number = int(sys.argv[2])
while True:
    number += 1
    text = f"CREATE QUERY q{number} AS SELECT a FROM s WHERE a >= 0 AND a <> {-number};"
    service.registrar.register(text, file="x", folder=folder)
    print("+", number, flush=True)
    if number % 3 == 0:
        service.registrar.drop(f"q{number - 1}")
        print("-", number - 1, flush=True)
    with open(folder + "/s.jsonl", "a") as file:
        file.write('{"a": %d, "ts": 1}\\n' % number)
    while service.driver.run_some(host.run):
        pass
"""


def test_acknowledged_changes_outlive_kills(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    _open(tmp_path).close()
    rng = random.Random(5)
    standing: set[int] = set()
    number = 0
    for _ in range(KILLS):
        acknowledged = _run_and_kill(tmp_path, number, rng.randint(2, 5), rng.uniform(0, 0.1))
        for word, changed in acknowledged:
            (standing.add if word == "+" else standing.discard)(changed)
        number = max([number, *[changed for _, changed in acknowledged]])
        service = _open(tmp_path)
        registered = {int(name[1:]) for name in service.registrar.network.queries}
        # one change may have become true and not been acknowledged: the next query, or the drop after it
        assert registered - standing <= {number + 1} and standing - registered <= {number - 1}
        with service._catalog.read() as r:
            assert {int(query.name[1:]) for query in r.queries()} == registered
        standing, number = registered, max([number, *registered])
        _check_results(service, tmp_path)
        service.close()
    assert number > KILLS


def _open(folder: Path) -> Service:
    service = Service(ServiceFolder(str(folder / "state")), ServiceOptions(reach=EVERYWHERE))
    if not service.published.view.declared.streams:
        text = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
        service.registrar.register(text, file="x", folder=str(folder))
    return service


def _run_and_kill(folder: Path, number: int, changes: int, seconds: float) -> list[tuple[str, int]]:
    """What the worker acknowledged."""
    written = run_and_kill(WORKER, folder, number, changes, seconds)
    lines = [line.split() for line in written if len(line.split()) == 2]
    return [(word, int(changed)) for word, changed in lines]


def _check_results(service: Service, folder: Path) -> None:
    """Every query has reported each line that came after it once."""
    host = LocalHost(service.deployment)
    while service.driver.run_some(host.run):
        pass
    lines = (folder / "s.jsonl").read_text().splitlines(keepends=True)
    values = [json.loads(line)["a"] for line in lines if line.endswith("\n")]
    for one in service.published.view.registered.values():
        page = read_records(service.sink.index, one.query.name, 0, 1 << 30)
        got = [json.loads(line)["row"]["a"] for line in page.lines.splitlines()]
        assert got == values[one.position.streams.get("s", 0) :]
