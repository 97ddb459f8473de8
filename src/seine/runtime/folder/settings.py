"""What is fixed when a pipeline is first started. Imports nothing heavy: Spark starts many processes."""

from __future__ import annotations

import json
import os
from typing import Any

from seine.errors import SeineError


def read_settings(folder: str) -> dict[str, Any]:
    """The settings of the pipeline that lives in a folder."""
    return read_object(settings_path(folder))


def read_object(path: str) -> dict[str, Any]:
    """A JSON object that a pipeline keeps in its folder."""
    try:
        with open(path, encoding="utf-8") as file:
            form: dict[str, Any] = json.load(file)
        if isinstance(form, dict):
            return form
    except ValueError:
        pass
    raise damaged(path)


def damaged(path: str) -> SeineError:
    """The refusal of a file that we did not leave like that."""
    return SeineError(
        f"the checkpoint is damaged: '{path}' cannot be used", hint="name a new checkpoint folder"
    )


def settings_path(folder: str) -> str:
    return os.path.join(folder, "settings.json")
