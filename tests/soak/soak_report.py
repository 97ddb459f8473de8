"""The report of a soak in Markdown: what happened, what was compared, and whether figures are flat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median

from tests.soak.samples import DISK_PARTS, Sample
from tests.soak.scene import DRIVER_MEMORY, KEPT, Scene

_ROWS = 12  # of tables over time
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Flatness:
    """How much a figure grew over the second half, by the line through it, beside its median."""

    name: str
    median: float
    growth: float
    bound: float  # the share of the median up to which it is flat
    unit: str

    @property
    def share(self) -> float:
        return self.growth / self.median if self.median else 0.0

    @property
    def is_flat(self) -> bool:
        return self.share <= self.bound


def flatness(name: str, points: Sequence[tuple[float, float]], bound: float, unit: str) -> Flatness:
    """How flat a figure is over the second half of its time.

    >>> flatness("disk", [(second, 100.0 + second / 10) for second in range(100)], 0.1, "MiB").is_flat
    True
    >>> flatness("disk", [(second, 100.0 + second) for second in range(100)], 0.1, "MiB").is_flat
    False
    """
    middle = points[-1][0] / 2
    late = [point for point in points if point[0] >= middle]
    slope = linear_regression([at for at, _ in late], [value for _, value in late]).slope
    return Flatness(name, median(value for _, value in late), slope * (late[-1][0] - middle), bound, unit)


def judged(scene: Scene) -> list[Flatness]:
    """Memory, disk, waits and CPU time."""
    samples = scene.sampler.samples

    def of(value: Callable[[Sample], float]) -> list[tuple[float, float]]:
        return [(one.second, value(one) / _MEBIBYTE) for one in samples]

    heaps = [(one.second, one.heap / _MEBIBYTE) for one in samples if one.heap is not None]
    return [
        flatness("memory of the driver", of(lambda one: one.driver), 0.1, "MiB"),
        flatness("memory of the JVM", of(lambda one: one.jvm), 0.1, "MiB"),
        *([flatness("what lives in the JVM's heap", heaps, 0.1, "MiB")] if heaps else []),
        flatness("memory of Python workers", of(lambda one: one.workers), 0.15, "MiB"),
        flatness("disk of the folder", of(lambda one: one.disk_bytes), 0.1, "MiB"),
        flatness("wait of a line for its result", _by_minute(scene.watch.waits), 0.5, "s"),
        flatness("CPU time of a thousand rows", _cpu_by_minute(samples), 0.25, "s"),
    ]


def report(scene: Scene, seed: int, seconds: float, ended: str) -> str:
    """The whole page."""
    rows = scene.sampler.samples[-1].rows
    kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(scene.compared.items()))
    verdict = "Every answer was right." if not scene.wrong else f"{len(scene.wrong)} answers were wrong:"
    return "\n".join(
        [
            "# A soak",
            "",
            f"`make soak` with seed {seed}: {seconds / 60:.0f} minutes, {rows:,} lines of {_sources(scene)}, "
            f"on `local[1]` with a driver of {DRIVER_MEMORY}, `--keep {KEPT}`; {ended}.",
            f"{verdict} Answers were compared {scene.checks:,} times with DuckDB over the admitted rows: "
            f"{sum(scene.compared.values()):,} rows ({kinds}).",
            *[f"- {line}" for line in scene.wrong[:20]],
            "",
            "Kills come in the first half; in the second one process lives on, to judge its memory. "
            "All else goes on to the end.",
            "",
            *_table(["what happened", "times"], sorted(scene.happened.items())),
            "",
            "## Is it flat?",
            "",
            "The line through the second half: how much it rises from begin to end, beside the median. "
            "Of shared pages each process has its share. Once a minute the JVM collects its garbage, "
            "to see what lives in its heap. Disk leaves out the audit log, "
            "which has a line for each change. Waits and CPU time depend on what else the machine does.",
            "",
            *_table(
                ["figure", "median", "growth", "share", "flat up to", "flat"],
                [
                    (
                        *(one.name, f"{one.median:,.1f} {one.unit}", f"{one.growth:+,.1f} {one.unit}"),
                        *(f"{one.share:+.1%}", f"{one.bound:.0%}", "yes" if one.is_flat else "NO"),
                    )
                    for one in judged(scene)
                ],
            ),
            "",
            "## As time goes by",
            "",
            *_over_time(scene, seconds),
            "",
        ]
    )


def _sources(scene: Scene) -> str:
    return "files and a topic" if "t" in scene.feeds else "files"


def _over_time(scene: Scene, seconds: float) -> list[str]:
    """A row for each part of the time."""
    head = ["minute", "lines", "driver MiB", "JVM MiB", "workers MiB", "wait s", "99% s"]
    disk = [f"{part} MiB" for part in DISK_PARTS]
    rows = []
    for part in range(_ROWS):
        low, high = seconds * part / _ROWS, seconds * (part + 1) / _ROWS
        samples = [one for one in scene.sampler.samples if low <= one.second < high]
        waits = sorted(wait for at, wait in scene.watch.waits if low <= at < high)
        if samples and waits:
            rows.append([f"{high / 60:.0f}", *_figures(samples, waits)])
    return _table([*head, *disk], rows)


def _figures(samples: Sequence[Sample], waits: Sequence[float]) -> list[str]:
    def middle(value: Callable[[Sample], float]) -> str:
        return f"{median(map(value, samples)) / _MEBIBYTE:,.1f}"

    return [
        f"{samples[-1].rows:,}",
        *(middle(lambda one: one.driver), middle(lambda one: one.jvm), middle(lambda one: one.workers)),
        *(f"{waits[len(waits) // 2]:.2f}", f"{waits[len(waits) * 99 // 100]:.1f}"),
        *(middle(lambda one, part=part: one.disk[part]) for part in DISK_PARTS),  # type: ignore[misc]
    ]


def _by_minute(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The median of each minute."""
    minutes: dict[int, list[float]] = {}
    for second, value in points:
        minutes.setdefault(int(second // 60), []).append(value)
    return [(60.0 * minute, median(values)) for minute, values in sorted(minutes.items())]


def _cpu_by_minute(samples: Sequence[Sample]) -> list[tuple[float, float]]:
    """CPU seconds of a thousand lines, minute by minute."""
    points = []
    before = samples[0]
    for one in samples:
        if one.second - before.second >= 60 and one.rows > before.rows:
            used = max(one.cpu_seconds - before.cpu_seconds, 0.0)
            points.append((one.second, 1000 * used / (one.rows - before.rows)))
            before = one
    return points


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join(['---'] * len(head))} |"]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]
