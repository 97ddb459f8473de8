"""Runs statements on Flink, one after the other: a program for a Python with PyFlink and without Seine.

It reads one JSON document from standard input, settings and statements, and prints a line when each ends.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    """Run what standard input says; what fails is said on its line."""
    given = json.load(sys.stdin)
    environment = _environment(given["settings"])
    for statement in given["tables"]:
        environment.execute_sql(statement)
    for name, database, *statements in given["jobs"]:
        environment.use_database(database)
        print(json.dumps({"begins": name}), flush=True)
        try:
            for statement in statements:
                environment.execute_sql(statement).wait()
            failure = None
        except Exception as error:  # whatever Flink refuses: the next job runs all the same
            failure = _reason(str(error))
        print(json.dumps({"ends": name, "failure": failure}), flush=True)


def _reason(trace: str) -> str:
    """The innermost cause that a trace of Java names, or its first line."""
    lines = trace.strip().splitlines() or ["no reason given"]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else lines[0])[:300]


def _environment(settings: dict[str, str]) -> Any:
    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    builder = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration)
    return TableEnvironment.create(builder.build())


if __name__ == "__main__":
    main()
