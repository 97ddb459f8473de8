"""The modules of the commands, each imported when it is asked for: none pays for what another one needs."""

from __future__ import annotations

from types import ModuleType

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
