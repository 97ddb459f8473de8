"""Benchmark `readers`: the pace of a service while clients follow a query that hardly ever reports.

One query reports every row, another one row of each tenth micro-batch. The service runs in one process
without Spark, its clients in another one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from benchmarks.harness.table import Table
from benchmarks.workloads.keyed_streams import write_stream
from seine.run_local import LocalHost
from seine.service.access.allow_list import AllowList
from seine.service.folder import ServiceFolder
from seine.service.http.listening import Listening
from seine.service.http.server import Server
from seine.service.service import Service, ServiceOptions

_SCRIPT = (
    "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM '{folder}/s' FORMAT PARQUET;\n"
    "CREATE QUERY heavy AS SELECT a, ts FROM s;\n"
    "CREATE QUERY rare AS SELECT a, ts FROM s WHERE a = 0 AND ts % 10 = 0;\n"
)


def main(batches: int, rows: int, clients: Sequence[int] = (0, 200)) -> Table:
    """A row for each number of clients; ratios are to the first."""
    table = Table("clients", "rows/s", "ratio", "CPU ms per batch", "s of a registration")
    base = 0.0
    for count in clients:
        rate, cpu, seconds = measure(batches, rows, count)
        base = base or rate
        table.add(
            f"{count:,}",
            f"{rate:,.0f}",
            f"{rate / base:.2f}x",
            f"{cpu * 1e3 / batches:.0f}",
            f"{seconds:.2f}",
        )
    return table


def measure(batches: int, rows: int, clients: int) -> tuple[float, float, float]:
    """Rows a second, CPU seconds of the service, and the seconds of a registration meanwhile."""
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as work:
        write_stream(work, "s", (_rows(batch, rows) for batch in range(batches + 2)))
        options = ServiceOptions(batch_rows=rows, depth=1, reach=AllowList((work,)))
        service = Service(ServiceFolder(os.path.join(work, "service")), options)
        server = Server(service, Listening())
        service.registrar.register(_SCRIPT.format(folder=work), file="queries", folder=work)
        host = LocalHost(service.deployment)
        followers = _follow(server.url, clients)
        try:
            return _paced(service, host, batches, rows)
        finally:
            for one in followers:
                one.kill()
                one.wait()
            service.stop()
            server.close()
            service.close()


def _paced(service: Service, host: LocalHost, batches: int, rows: int) -> tuple[float, float, float]:
    service.driver.run_some(host.run)
    begin, cpu = time.monotonic(), time.process_time()
    for _ in range(batches):
        service.driver.run_some(host.run)
    wall, cpu = time.monotonic() - begin, time.process_time() - cpu
    begin = time.monotonic()
    service.registrar.register("CREATE QUERY more AS SELECT a FROM s WHERE a < 0;", file="more", folder="")
    return batches * rows / wall, cpu, time.monotonic() - begin


def _follow(url: str, clients: int) -> list[subprocess.Popen[bytes]]:
    if not clients:
        return []
    command = [sys.executable, "-m", "benchmarks.sides.tailing_clients", url, "rare", str(clients)]
    following = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert following.stdout is not None
    following.stdout.readline()  # they are connected
    return [following]


def _rows(batch: int, rows: int) -> pa.Table:
    return pa.table({"a": np.arange(rows), "ts": np.full(rows, batch)})
