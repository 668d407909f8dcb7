"""Runs the project's programs as the tests in this folder need them."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("ZERO_BUILD", "build")).resolve()
MPIRUN = os.environ.get("ZERO_MPIRUN", "")
STAGES = ("ddp", "zero1", "zero2", "zero3")

# Open MPI's: more processes than cores, as root in a container, not bound to a core.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_base_warn_component_unused": "0",
}


def stage(name):
    return str(BUILD / "stages" / name)


def library(name):
    return str(BUILD / "tests" / f"lib{name}.so")


def environment(**more):
    return {**os.environ, **MPI_ENVIRONMENT, **more}


def mpirun(ranks):
    """The beginning of a command."""
    return [MPIRUN, "-n", str(ranks)]


class TestCase(unittest.TestCase):
    """Each test has a folder of its own, `self.folder`, that is gone afterwards."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="zero_proofs_")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.runs = 0

    def new_folder(self):
        self.runs += 1
        folder = self.folder / str(self.runs)
        folder.mkdir()
        return folder

    def run_program(self, command, status=0, timeout=100, **env):
        """Returns (stdout, stderr); fails unless the exit status is `status`."""
        done = subprocess.run(command, env=environment(**env), timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(done.returncode, status, f"{' '.join(command)}\n{done.stderr}")
        return done.stdout, done.stderr

    def run_json(self, command, **env):
        """Runs with --json and returns what was written."""
        path = self.new_folder() / "run.json"
        self.run_program(command + ["--json", str(path)], **env)
        return json.loads(path.read_text())


def main():
    unittest.main(verbosity=2)
