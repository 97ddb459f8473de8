"""A service killed while a query is given its history comes back, and the query reports every line once."""

from __future__ import annotations

import json
import random
from pathlib import Path

from seine.intake.retention_limit import RetentionLimit
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from seine.service.tail import read_records
from tests.support.everywhere import EVERYWHERE
from tests.support.killed_worker import run_and_kill

KILLS = 6
OPTIONS = ServiceOptions(batch_rows=2, retain=RetentionLimit(bytes=1 << 40), reach=EVERYWHERE)

# Registers queries with history and runs until it is killed; a line on standard output acknowledges a query.
WORKER = """
import sys
from seine.intake.retention_limit import RetentionLimit
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder
from seine.service.access.allow_list import AllowList
from seine.service.service import Service, ServiceOptions

folder = sys.argv[1]
options = ServiceOptions(batch_rows=2, retain=RetentionLimit(bytes=1 << 40), reach=AllowList((folder,)))
service = Service(ServiceFolder(folder + "/state"), options)
host = LocalHost(service.deployment)
number = int(sys.argv[2])
while True:
    number += 1
    with open(folder + "/s.jsonl", "a") as file:
        file.writelines('{"a": %d, "ts": 1}\\n' % (10 * number + i) for i in range(3))
    while service.driver.run_some(host.run):
        pass
    text = f"CREATE QUERY q{number} WITH (history = 'retained') AS SELECT a FROM s WHERE a <> {-number};"
    service.registrar.register(text, file="x", folder=folder)
    print(number, flush=True)
    while service.driver.run_some(host.run):
        pass
"""


def test_a_history_outlives_kills(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    _open(tmp_path).close()
    rng, number = random.Random(3), 0
    for _ in range(KILLS):
        acknowledged = _run_and_kill(tmp_path, number, rng.randint(1, 3), rng.uniform(0, 0.15))
        service = _open(tmp_path)
        registered = {int(name[1:]) for name in service.registrar.network.queries}
        assert {*range(1, acknowledged + 1)} <= registered <= {*range(1, acknowledged + 2)}
        number = max(registered)
        _check_results(service, tmp_path)
        service.close()
    assert number > KILLS


def _open(folder: Path) -> Service:
    service = Service(ServiceFolder(str(folder / "state")), OPTIONS)
    if not service.published.view.declared.streams:
        text = "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
        service.registrar.register(text, file="x", folder=str(folder))
    return service


def _run_and_kill(folder: Path, number: int, changes: int, seconds: float) -> int:
    """The last query that the worker acknowledged."""
    return max(int(line) for line in run_and_kill(WORKER, folder, number, changes, seconds))


def _check_results(service: Service, folder: Path) -> None:
    """Every query has reported each line once, from the first on."""
    host = LocalHost(service.deployment)
    while service.driver.run_some(host.run):
        pass
    lines = (folder / "s.jsonl").read_text().splitlines(keepends=True)
    values = sorted(json.loads(line)["a"] for line in lines if line.endswith("\n"))
    for one in service.published.view.registered.values():
        page = read_records(service.sink.index, one.query.name, 0, 1 << 30)
        reported = [json.loads(line)["row"]["a"] for line in page.lines.splitlines()]
        assert sorted(reported) == values, one.query.name
