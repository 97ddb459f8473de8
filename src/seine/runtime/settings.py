"""What is fixed when a pipeline is first started. Imports nothing heavy: Spark starts many processes."""

from __future__ import annotations

import json
import os
from typing import Any


def read_settings(folder: str) -> dict[str, Any]:
    """The settings of the pipeline that lives in a folder."""
    with open(settings_path(folder), encoding="utf-8") as file:
        settings: dict[str, Any] = json.load(file)
    return settings


def settings_path(folder: str) -> str:
    return os.path.join(folder, "settings.json")
