"""Reading the records of a query over HTTP, from a position on."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def read_records(state: Path, query: str, position: str, wait: float = 0.0) -> tuple[list[Record], str]:
    """The records behind a position that there are now, and the position behind them."""
    url = json.loads((state / "service.json").read_text())["url"]
    words = f"from={position}&wait={wait}"
    with urllib.request.urlopen(f"{url}/v1/queries/{query}/results?{words}", timeout=60) as answer:
        return [json.loads(line) for line in answer.read().splitlines()], answer.headers["Seine-Next"]
