"""What answers are checked with, built when it is needed."""

import os
import pathlib
import subprocess
import sys

import compiling
from exercise import PROJECT, Mistake


def build_folder():
    return pathlib.Path(os.environ.get("ZERO_BUILD") or PROJECT / "build").absolute()


def load_build(up_to_date=True):
    """What is built; `up_to_date`: after whatever has to be built was."""
    if up_to_date and not os.environ.get("ZERO_BUILD"):
        sys.stdout.flush()
        if subprocess.run([PROJECT / "exercise", "--ready"]).returncode != 0:
            raise Mistake("what answers are checked with could not be built; see above")
    return compiling.load_build(build_folder())
