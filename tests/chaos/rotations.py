"""Files of good neighbours that are rotated, by name or by copying and truncating."""

from __future__ import annotations

from tests.chaos.scene import Scene


class Rotation:
    """A file is put aside while the reader may lag; it has begun to read it, so that it can know it."""

    def __init__(self, copy: bool) -> None:
        self.name = "copied and truncated" if copy else "rotated file"
        self._copy = copy

    def strike(self, scene: Scene) -> None:
        for stream in scene.good.lines:
            scene.service.wait(f"{stream} is begun", lambda client, name=stream: self._is_begun(scene, name))
            scene.good.rotate(stream, self._copy)

    def _is_begun(self, scene: Scene, name: str) -> bool:
        stream = scene.stream(name)
        read = stream["position"]["arrivals"] + stream["refused"]["dead"]
        return bool(read > scene.good.in_other_files[name])

    def mend(self, scene: Scene) -> None:
        """There is nothing to mend."""
