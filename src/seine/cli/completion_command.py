"""`seine completion`: what a shell needs to complete the words of the other commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

_ABOUT = "Print the completion script of a shell; it is made from the commands and options that there are."
_EXAMPLE = """\
example:
    seine completion bash > ~/.local/share/bash-completion/completions/seine
    seine completion zsh > ~/.zsh/completions/_seine      a folder that is in $fpath
"""


def add_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    parser_of_all: Callable[[], argparse.ArgumentParser],
) -> None:
    """`parser_of_all` makes the parser whose words are completed."""
    parser = commands.add_parser(
        "completion",
        help="complete its words in a shell",
        description=_ABOUT,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", metavar="SHELL", choices=["bash", "zsh"], help="bash or zsh")
    parser.set_defaults(command=partial(command, parser_of_all))


def command(parser_of_all: Callable[[], argparse.ArgumentParser], arguments: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(parser_of_all(), arguments.shell))
    return 0
