"""The log of Spark: a configuration of log4j that writes one file, and keeps so much of it as is wanted.

What Java and the workers print themselves goes to the file that was there when Spark was started.
"""

from __future__ import annotations

import os

from seine.intake.retention_limit import RetentionLimit

_PARTS = 8  # files that what is kept is in
_HOUR, _DAY = 3_600, 86_400

_ONE_FILE = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = {kind}
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c: %m%n%ex
"""
_ROLLED = """\
appender.file.filePattern = {pattern}
appender.file.policies.type = Policies
appender.file.policies.one.type = {policy}
appender.file.strategy.type = DefaultRolloverStrategy
"""
_BY_SIZE = """\
appender.file.policies.one.size = {size}
appender.file.strategy.max = {files}
"""
_BY_AGE = """\
appender.file.strategy.action.type = Delete
appender.file.strategy.action.basePath = {folder}
appender.file.strategy.action.name.type = IfFileName
appender.file.strategy.action.name.glob = {names}
appender.file.strategy.action.age.type = IfLastModified
appender.file.strategy.action.age.age = PT{seconds}S
"""


def log_settings(log: str, keep: RetentionLimit | None) -> str:
    """The text of `log4j2.properties`.

    >>> print(log_settings("/x/spark.log", RetentionLimit(bytes=8_000_000)).splitlines()[5])
    appender.file.layout.type = PatternLayout
    """
    if keep is None:
        return _ONE_FILE.format(kind="File", log=log)
    text = _ONE_FILE.format(kind="RollingFile", log=log)
    if keep.bytes is not None:
        text += _ROLLED.format(pattern=f"{log}.%i", policy="SizeBasedTriggeringPolicy")
        return text + _BY_SIZE.format(size=max(keep.bytes // _PARTS, 1), files=_PARTS - 1)
    seconds = keep.seconds or 0
    text += _ROLLED.format(pattern=f"{log}.%d{{{_period(seconds)}}}", policy="TimeBasedTriggeringPolicy")
    folder, name = os.path.split(os.path.abspath(log))
    return text + _BY_AGE.format(folder=folder, names=f"{name}.*", seconds=seconds)


def _period(seconds: int) -> str:
    """How the name of a file says when it was written: what is in one is a small part of what is kept.

    >>> _period(7 * 86_400), _period(600)
    ('yyyy-MM-dd-HH', 'yyyy-MM-dd-HH-mm')
    """
    if seconds >= _PARTS * _DAY:
        return "yyyy-MM-dd"
    return "yyyy-MM-dd-HH" if seconds >= _PARTS * _HOUR else "yyyy-MM-dd-HH-mm"
