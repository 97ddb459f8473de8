"""spark-submit with a packed environment: the workers have nothing of Seine but what was packed."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from seine.run_local import run_local
from tests.support.paths import ROOT
from tests.support.standalone_cluster import LOOPBACK, SPARK_HOME, running_cluster
from tests.support.stateful_script import sorted_file, sorted_records, write_story

pytestmark = [pytest.mark.cluster, pytest.mark.slow]

_MAIN = "import sys\n\nfrom seine.cli.main import main\n\nsys.exit(main())\n"


def _packed(folder: Path) -> Path:
    """What docs/cluster.md says: an environment with Seine and without Spark, as one archive."""
    made = folder / "made"
    subprocess.run([sys.executable, "-m", "venv", made], check=True)
    pip = [made / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
    locked = (ROOT / "requirements.lock").read_text().splitlines()
    bounds = folder / "constraints.txt"
    bounds.write_text("\n".join(line for line in locked if "==" in line))
    subprocess.run([*pip, "--constraint", bounds, f"{ROOT}[kafka,postgres]", "venv-pack"], check=True)
    subprocess.run([made / "bin" / "pip", "uninstall", "--quiet", "--yes", "pyspark", "py4j"], check=True)
    archive = folder / "seine.tar.gz"
    words = ["--prefix", made, "--output", archive, "--compress-level", "1", "--quiet"]
    subprocess.run([made / "bin" / "venv-pack", *words], check=True)
    return archive


def test_a_submitted_run_on_a_packed_environment_has_the_same_answers(tmp_path: Path) -> None:
    script = write_story(tmp_path, lines=100)
    expected = sorted_records(run_local(str(script)).records)
    archive = _packed(tmp_path)
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "environment", filter="fully_trusted")
    (tmp_path / "run_seine.py").write_text(_MAIN)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_HOME")
    }
    environment |= {"PYSPARK_PYTHON": "./environment/bin/python", "SPARK_LOCAL_IP": LOOPBACK}
    with running_cluster(tmp_path, with_seine=False) as cluster:
        words = ["--master", cluster.url, "--archives", f"{archive}#environment", "run_seine.py"]
        paths = ["--out", "out.jsonl", "--checkpoint", str(tmp_path / "state")]
        done = subprocess.run(
            [SPARK_HOME / "bin" / "spark-submit", *words, "run", str(script), *paths],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )

    assert done.returncode == 0, done.stderr[-4000:]
    assert sorted_file(tmp_path / "out.jsonl") == expected != []
