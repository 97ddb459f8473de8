"""The `seine` command: parses words, calls a subcommand, turns errors into exit statuses.

Arrow without pandas, for commands that answer at once.

With the first array that it makes Arrow imports pandas, to know its objects when they are given. That takes
as long as much of the rest of `seine try`, whose values are never objects of pandas.

The modules of the commands, each imported when it is asked for: none pays for what another one needs.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from seine import __version__
from seine.cli import completion_command
from seine.cli.logging_setup import configured_logging
from seine.cli.option_settings import COMMANDS, add_config, names_udf, parse_with_settings
from seine.cli.stop_signals import terminated_like_interrupted
from seine.cli.udf_option import register_udf
from seine.errors import RunError, SeineError
from seine.shortages import FULL_DISK, NO_MEMORY, is_full_disk

_logger = logging.getLogger(__name__)

_ABOUT = """\
Seine hangs a net across data streams: standing SQL queries, thousands of them, evaluated
together in one shared network in one Spark pipeline.

    seine demo                        watch it work
    seine init   project/             an example to begin with
    seine check  alerts.sql           is every query right, and what frees its state?
    seine try    alerts.sql           its answers at once, without Spark
    seine run    alerts.sql           run it to the end of its sources
    seine explain alerts.sql          what the queries share
    seine optimum star.sql limited    the best that a query WITH (memory = n) could have reported
    seine serve  state/               run for ever, while queries come and go
"""

_LESS_MEMORY = "give it more, or less to do at a time: --batch-rows; nothing that was delivered is lost"
_AT_ONCE = (["try"], ["check"], ["explain"])  # commands that should answer before one looks up


def main(words: list[str] | None = None) -> int:
    """Exit status: 0 done, 1 refused or wrong input, 2 wrong usage, 3 failed while running."""
    typed, hosts = words is None, False
    words = sys.argv[1:] if words is None else words
    try:
        if typed and words[:1] in _AT_ONCE and not names_udf(words):  # a user's function may want pandas
            let_arrow_pass_by_pandas()
        arguments = parse_with_settings(_parser(words), words)
        hosts = getattr(arguments, "hosts", False)
        with configured_logging(arguments), terminated_like_interrupted() if hosts else nullcontext():
            if getattr(arguments, "config", None):
                _logger.info("settings of a file", extra={"file": arguments.config})
            register_udf(arguments)
            status: int = arguments.command(arguments)
        sys.stdout.flush()
        return status
    except SeineError as error:
        print(error.render(), file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 0 if hosts else 3
    except BrokenPipeError:
        sys.stderr.close()
        return 3
    except OSError as error:
        _forget_output()
        unnamed = FULL_DISK if is_full_disk(error) else "cannot write the output"
        what = f"cannot use '{error.filename}'" if error.filename else unnamed
        print(f"{what}: {error.strerror}", file=sys.stderr)
        return 3
    except MemoryError:
        print(f"{NO_MEMORY}\n  hint: {_LESS_MEMORY}", file=sys.stderr)
        return 3
    except Exception as error:
        print(_failure(error).render(), file=sys.stderr)
        return 3


def _forget_output() -> None:
    """Let the rest of standard output go nowhere: Python would flush it again at its end, and fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _failure(error: Exception) -> RunError:
    """An internal error as one line for the user; the stack trace goes to a file."""
    with tempfile.NamedTemporaryFile("w", prefix="seine-", suffix=".trace", delete=False) as file:
        file.write("".join(traceback.format_exception(error)))
    reason = str(error).split("\n")[0]
    return RunError(
        f"internal error: {type(error).__name__}: {reason}", hint=f"please report it with {file.name}"
    )


def _parser(words: list[str] | None = None) -> argparse.ArgumentParser:
    """A parser of these words; without any, one that knows all commands."""
    parser = argparse.ArgumentParser(
        prog="seine", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"seine {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name in modules_for(words or []):
        command_module(name).add_parser(commands)
    for name in COMMANDS:
        if name in commands.choices:
            add_config(commands.choices[name])
    completion_command.add_parser(commands, _parser)
    return parser


class _WithoutPandas(MetaPathFinder):
    """Finds no pandas, and leaves everything else to others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError("Arrow need not know pandas here", name=fullname)
        return None


def let_arrow_pass_by_pandas() -> None:
    """Let Arrow look for pandas now, and find none; who imports pandas afterwards gets it."""
    if "pandas" in sys.modules:
        return
    absent = _WithoutPandas()
    sys.meta_path.insert(0, absent)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(absent)


# in the order of the help; a module may have several commands
MODULES = {
    "demo_command": ("demo",),
    "init_command": ("init",),
    "try_command": ("try",),
    "run_command": ("run",),
    "check_command": ("check",),
    "explain_command": ("explain",),
    "optimum_command": ("optimum",),
    "serve_command": ("serve",),
    "register_command": ("register",),
    "drop_command": ("drop", "pause", "resume"),
    "list_command": ("list", "status"),
    "top_command": ("top",),
    "tail_command": ("tail",),
    "token_command": ("token",),
    "backup_command": ("backup", "restore"),
}


def modules_for(words: list[str]) -> list[str]:
    """The modules that are needed to understand the words of a command line: one, if they name a command."""
    named = [module for module, commands in MODULES.items() if words and words[0] in commands]
    return named or list(MODULES)


def command_module(name: str) -> ModuleType:
    """One of `MODULES`, imported."""
    match name:
        case "demo_command":
            from seine.cli import demo_command

            return demo_command
        case "init_command":
            from seine.cli import init_command

            return init_command
        case "try_command":
            from seine.cli import try_command

            return try_command
        case "run_command":
            from seine.cli import run_command

            return run_command
        case "check_command":
            from seine.cli import check_command

            return check_command
        case "explain_command":
            from seine.cli import explain_command

            return explain_command
        case "optimum_command":
            from seine.cli import optimum_command

            return optimum_command
        case "serve_command":
            from seine.cli import serve_command

            return serve_command
        case "register_command":
            from seine.cli import register_command

            return register_command
        case "drop_command":
            from seine.cli import drop_command

            return drop_command
        case "list_command":
            from seine.cli import list_command

            return list_command
        case "top_command":
            from seine.cli import top_command

            return top_command
        case "tail_command":
            from seine.cli import tail_command

            return tail_command
        case "backup_command":
            from seine.cli import backup_command

            return backup_command
        case "token_command":
            from seine.cli import token_command

            return token_command
    raise KeyError(name)


if __name__ == "__main__":
    sys.exit(main())
