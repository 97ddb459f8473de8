"""`seine serve`: run a pipeline that queries join and leave.

Its options say what it may read and write, and how much each owner of queries may have.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from seine.backoff import RESTART_SECONDS, Backoff
from seine.cli.hosting import (
    add_budget,
    add_function_limits,
    add_hosting,
    add_keep,
    add_lead,
    add_options_file,
    add_purging,
    buckets,
    budget,
    check_writable,
    host,
    lead,
    positive,
    private_state,
    retention,
    strategy,
)
from seine.cli.memory_option import add_worker_memory, worker_memory
from seine.cli.progress_line import ProgressLine
from seine.cli.service_client import FOLDER
from seine.cli.stop_signals import StopSignals
from seine.cli.udf_option import add_udf
from seine.errors import RunError, SeineError
from seine.network.plan.strategy import CONFIGURATIONS
from seine.runtime.option_secrets import OptionSecrets
from seine.service.access.allow_list import AllowList
from seine.service.access.quotas import Quota
from seine.service.access.token_file import TokenFile
from seine.service.client import read_token
from seine.service.folder import ServiceFolder
from seine.service.http.listening import MOST_BODY, Certificate, Listening, refuse_open_door
from seine.shortages import shortage_of

if TYPE_CHECKING:
    from seine.service.http.server import ShortageNotice
    from seine.service.service import Service, ServiceOptions


_logger = logging.getLogger(__name__)

_ABOUT = "Run a pipeline for ever; queries come and go by seine register and seine drop."
_EXAMPLE = """\
example:
    seine serve state/ --source-root . &
    seine register alerts.sql --service state/
    seine tail big_transfers --service state/

Every option may be a line of seine.toml (port = 8517 below [serve]) or a variable (SEINE_SERVE_PORT=8517).
What is typed counts before a variable, and that before the file.

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
    parser.add_argument("--port", metavar="N", type=_port, default=0, help="port to listen on (default: any)")
    parser.add_argument(
        "--token-file", metavar="FILE", help="a token that may do everything (or: $SEINE_TOKEN)"
    )
    parser.add_argument(
        "--tokens", metavar="FILE", help="tokens with names and roles (default: tokens.json in the folder)"
    )
    parser.add_argument(
        "--tls-cert", metavar="FILE", help="speak TLS, by this certificate and its chain (PEM)"
    )
    parser.add_argument("--tls-key", metavar="FILE", help="the private key of the certificate (PEM)")
    add_reach(parser)
    parser.add_argument(
        "--max-body", metavar="N", type=positive, default=MOST_BODY, help="most bytes of a request (64 MiB)"
    )
    parser.add_argument(
        "--batch-rows",
        metavar="N",
        type=positive,
        help="most lines of a stream, or records of a topic, in a micro-batch",
    )
    parser.add_argument(
        "--depth",
        metavar="N",
        type=positive,
        default=4,
        help="least number of stages (4); more are added when a query needs them",
    )
    parser.add_argument(
        "--retain",
        metavar="AMOUNT",
        type=retention,
        help="keep admitted input for queries with history: 30d, 12h, 50GB (default: none)",
    )
    add_keep(parser)
    add_budget(parser)
    add_worker_memory(parser)
    add_quota(parser)
    add_lead(parser)
    add_options_file(parser, otherwise="")
    add_purging(parser)
    add_hosting(parser)
    add_udf(parser)
    add_function_limits(parser)
    parser.set_defaults(command=command, hosts=True)


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**16:
        raise argparse.ArgumentTypeError("must be at least 0 and at most 65535")
    return value


def command(arguments: argparse.Namespace) -> int:
    from seine.service.batch_traces import BatchTraces
    from seine.service.service import ServiceOptions

    token = read_token(arguments.token_file)
    tokens = TokenFile(arguments.tokens or ServiceFolder(arguments.folder).tokens)
    certificate = _certificate(arguments)
    listening = Listening(arguments.host, arguments.port, token, tokens, certificate, arguments.max_body)
    refuse_open_door(listening)
    with ProgressLine() as progress, private_state(arguments.master):
        options = ServiceOptions(
            arguments.batch_rows,
            buckets(arguments),
            arguments.depth,
            progress.tell,
            progress,
            budget(arguments),
            lead=lead(arguments),
            retain=arguments.retain,
            keep=arguments.keep,
            strategy=strategy(arguments, CONFIGURATIONS["all"]),
            secrets=OptionSecrets.read(arguments.options_file, environment=False),
            reach=reach_of(arguments),
            quota=quota_of(arguments),
            traces=BatchTraces.of_environment(),
            worker_memory=worker_memory(arguments),
        )
        _Serving(arguments, listening, options, progress).go_on()
    return 0


def _certificate(arguments: argparse.Namespace) -> Certificate | None:
    chain, key = arguments.tls_cert, arguments.tls_key
    if chain is None and key is None:
        return None
    if chain is None or key is None:
        raise SeineError("--tls-cert and --tls-key belong together", hint="give both, or none")
    certificate = Certificate(os.path.abspath(chain), os.path.abspath(key))
    certificate.refuse_unusable()
    return certificate


class _Serving:
    """Serves a folder until it is stopped, through full disks and shortages of memory."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        listening: Listening,
        options: ServiceOptions,
        progress: ProgressLine,
    ) -> None:
        self._arguments, self._listening = arguments, listening
        self._options, self._progress = options, progress
        self._backoff = Backoff(*RESTART_SECONDS)
        self._served = False  # the folder was served by this process, however briefly
        self._delivered = -1  # the last entry
        self._shortage: str | None = None  # what was met, and the folder not served since
        self._notice: ShortageNotice | None = None  # what clients hear meanwhile

    def go_on(self) -> None:
        """Serve; once it has begun, a shortage is waited for: what is in memory then is given up.

        While there may still be one, whatever keeps the folder from being opened is put down to that.
        """
        try:
            self._go_on()
        finally:
            self._end_notice()
            ServiceFolder(self._arguments.folder).withdraw()

    def _go_on(self) -> None:
        while True:
            try:
                return self._serve_folder()
            except (SeineError, OSError, MemoryError) as error:
                met = shortage_of(error) if self._served else None
                self._shortage = shortage = met or self._shortage
                if shortage is None:
                    raise
                self._backoff.reached(self._delivered)
                delay = self._backoff.next_seconds() or 0.0
                _logger.warning("%s: %s", shortage, error, extra={"restart_in_s": round(delay, 1)})
                self._progress.tell(f"{shortage}; the service opens its folder again in {delay:.1f} s")
                self._give_notice(shortage)
                time.sleep(delay)

    def _give_notice(self, shortage: str) -> None:
        """Let clients hear why nobody serves them; where even that cannot be done they hear nothing."""
        from seine.service.http.server import ShortageNotice

        try:
            self._notice = self._notice or ShortageNotice(shortage, self._listening)
        except (SeineError, OSError, MemoryError, RuntimeError) as error:
            _logger.warning("clients are not answered meanwhile: %s", error)

    def _end_notice(self) -> None:
        if self._notice is not None:
            self._notice.close()
            self._notice = None

    def _serve_folder(self) -> None:
        from seine.service.service import Service

        service = Service(ServiceFolder(self._arguments.folder), self._options)
        try:
            self._serve(service)
        finally:
            service.close()

    def _address(self, url: str) -> dict[str, object]:
        """How clients find the service, and by which certificate they know it."""
        certificate = self._listening.certificate
        trusted = {} if certificate is None else {"certificate": certificate.chain}
        return {"url": url, "process": os.getpid(), **trusted}

    def _serve(self, service: Service) -> None:
        from seine.service.http.server import Server  # a web framework takes its time to import

        log = self._arguments.log or os.path.join(service.folder.path, "spark.log")
        check_writable(log)
        self._end_notice()
        again, server = self._served, Server(service, self._listening)
        self._listening = replace(self._listening, port=server.port)  # clients know it from now on
        try:
            with StopSignals(service.stop) as signals:
                service.folder.publish(self._address(server.url))
                _logger.info("service listens", extra={"folder": service.folder.path, "url": server.url})
                self._progress.tell(f"serving {service.folder.path} at {server.url}")
                self._progress.say("starting Spark")
                self._served, self._shortage = True, None
                keep, tell = self._options.keep, self._progress.tell
                host(service, self._arguments.master, log, signals, None, tell, keep=keep, again=again)
        except RunError as error:
            error.hint = error.hint or f"Spark's log is {log}"
            raise
        finally:
            self._delivered = service.sink.totals.entry
            if shortage_of(sys.exception()) is None:  # else clients find the notice there
                service.folder.withdraw()
            server.close()


_OPTIONS = {
    "--owner-queries": "most queries of an owner (default: any number)",
    "--owner-joins": "most joins that the queries of an owner use (default: any number)",
    "--owner-state-rows": "most rows and groups that the queries of an owner hold (default: any number)",
    "--owner-candidates": "most pairs that joins of an owner look at in a micro-batch (default: any number)",
    "--owner-records": "most records of an owner in a micro-batch (default: any number)",
}


def add_quota(parser: argparse.ArgumentParser) -> None:
    for option, text in _OPTIONS.items():
        parser.add_argument(option, metavar="N", type=positive, help=text)


def quota_of(arguments: argparse.Namespace) -> Quota:
    """What the options say."""
    return Quota(
        arguments.owner_queries,
        arguments.owner_joins,
        arguments.owner_state_rows,
        arguments.owner_candidates,
        arguments.owner_records,
    )


_REACH_OPTIONS = {
    "--source-root": ("DIR", "a folder whose files FROM may read; may be repeated (default: FOLDER/input)"),
    "--source-host": ("HOST", "a server that may be read: HOST, HOST:PORT, *.DOMAIN or *; may be repeated"),
    "--sink-root": ("DIR", "a folder below which sinks may write; may be repeated (default: FOLDER/output)"),
    "--sink-host": ("HOST", "a server that sinks may write to: as with --source-host; may be repeated"),
}


def add_reach(parser: argparse.ArgumentParser) -> None:
    for option, (metavar, text) in _REACH_OPTIONS.items():
        parser.add_argument(option, metavar=metavar, action="append", default=[], help=text)


def reach_of(arguments: argparse.Namespace) -> AllowList:
    """What the options name; a source root must be there."""
    for root in arguments.source_root:
        if not os.path.isdir(root):
            raise SeineError(f"--source-root: there is no folder '{root}'")
    return AllowList(
        tuple(arguments.source_root),
        tuple(arguments.source_host),
        tuple(arguments.sink_root),
        tuple(arguments.sink_host),
    )
