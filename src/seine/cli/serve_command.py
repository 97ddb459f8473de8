"""`seine serve`: run a pipeline that queries join and leave."""

from __future__ import annotations

import argparse
import logging
import os
from typing import TYPE_CHECKING

from seine.cli.hosting import (
    add_budget,
    add_hosting,
    add_lead,
    buckets,
    budget,
    check_writable,
    host,
    lead,
    positive,
)
from seine.cli.private_state import private_state
from seine.cli.progress_line import ProgressLine
from seine.cli.service_client import FOLDER
from seine.cli.stop_signals import StopSignals
from seine.errors import RunError
from seine.service.client import read_token
from seine.service.folder import ServiceFolder
from seine.service.http.listening import MOST_BODY, Listening, refuse_open_door

if TYPE_CHECKING:
    from seine.service.service import Service

_logger = logging.getLogger(__name__)

_ABOUT = "Run a pipeline for ever; queries come and go by seine register and seine drop."
_EXAMPLE = """\
example:
    seine serve state/ &
    seine register alerts.sql --service state/
    seine tail big_transfers --service state/

Stop it with Ctrl-C or SIGTERM. Started again it goes on where it was, with every query and its state;
so it does after a crash.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "serve",
        help="run a service that queries join and leave",
        description=_ABOUT,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        default=FOLDER,
        help=f"catalog, state and results (default: {FOLDER})",
    )
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help="where to listen (127.0.0.1)")
    parser.add_argument("--port", metavar="N", type=int, default=0, help="port to listen on (default: any)")
    parser.add_argument(
        "--token-file", metavar="FILE", help="clients must send this token (or: $SEINE_TOKEN)"
    )
    parser.add_argument(
        "--max-body", metavar="N", type=positive, default=MOST_BODY, help="most bytes of a request (64 MiB)"
    )
    parser.add_argument(
        "--batch-rows", metavar="N", type=positive, help="most lines of a stream in a micro-batch"
    )
    parser.add_argument(
        "--depth",
        metavar="N",
        type=positive,
        default=4,
        help="least number of stages (4); more are added when a query needs them",
    )
    add_budget(parser)
    add_lead(parser)
    add_hosting(parser)
    parser.set_defaults(command=command, hosts=True)


def command(arguments: argparse.Namespace) -> int:
    from seine.service.service import Service, ServiceOptions

    token = read_token(arguments.token_file)
    listening = Listening(arguments.host, arguments.port, token, arguments.max_body)
    refuse_open_door(listening)
    with ProgressLine() as progress, private_state(arguments.master):
        folder = ServiceFolder(arguments.folder)
        options = ServiceOptions(
            arguments.batch_rows,
            buckets(arguments),
            arguments.depth,
            progress.tell,
            progress,
            budget(arguments),
            lead=lead(arguments),
        )
        service = Service(folder, options)
        try:
            _serve(service, listening, arguments, progress)
        finally:
            service.close()
    return 0


def _serve(
    service: Service, listening: Listening, arguments: argparse.Namespace, progress: ProgressLine
) -> None:
    from seine.service.http.server import Server  # a web framework takes its time to import

    log = arguments.log or os.path.join(service.folder.path, "spark.log")
    check_writable(log)

    server = Server(service, listening)
    try:
        with StopSignals(service.stop) as signals:
            service.folder.publish({"url": server.url, "process": os.getpid()})
            _logger.info("service listens", extra={"folder": service.folder.path, "url": server.url})
            progress.tell(f"serving {service.folder.path} at {server.url}")
            progress.say("starting Spark")
            host(service, arguments.master, log, signals, None, progress.tell)
    except RunError as error:
        error.hint = error.hint or f"Spark's log is {log}"
        raise
    finally:
        service.folder.withdraw()
        server.close()
