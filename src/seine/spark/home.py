"""A SPARK_HOME whose Python workers import pyspark from where it is installed.

Spark puts SPARK_HOME/python/lib/pyspark.zip in front of the path of every Python process that it
starts, and Python compiles what it imports from a zip each time anew: about a second a process,
and a pipeline starts some ten before its first batch. A home that has everything but that zip makes
them use the installed, compiled package.
"""

from __future__ import annotations

import os
import tempfile

import pyspark

from seine.scratch_folder import scratch_folder


def use_installed_pyspark() -> None:
    """Set SPARK_HOME to a folder of links to the installed Spark; one that the user chose is left alone."""
    if "SPARK_HOME" in os.environ:
        return
    installed = os.path.dirname(os.path.abspath(pyspark.__file__))
    home = tempfile.mkdtemp(dir=scratch_folder(), prefix="home-")
    for name in ("bin", "conf", "jars", "sbin"):
        if os.path.isdir(os.path.join(installed, name)):
            os.symlink(os.path.join(installed, name), os.path.join(home, name))
    os.environ["SPARK_HOME"] = home
