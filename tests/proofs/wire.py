"""The counters say what really leaves: seen from below (MPI's profiling interface) and from the
trace (a script that shares no code with the programs)."""

import json
import os
import pathlib
import subprocess
import sys

import program

# 226,776 parameters: more than a chunk in each shard of 3, and no multiple of 5.
MODEL = ["--layers", "3", "--heads", "3", "--channels", "66", "--context", "7", "--vocab", "257"]
SMALL = ["--layers", "2", "--heads", "3", "--channels", "15", "--context", "7"]
SUM_TRACE = pathlib.Path(__file__).resolve().parent.parent / "sum_trace.py"


def options(algorithm, dtype, iterations, model=MODEL):
    return model + ["--batch", "30", "--quiet", "--collectives", algorithm, "--dtype", dtype,
                    "--iterations", str(iterations)]


class UnderMpi(program.TestCase):
    def count(self, command, ranks):
        """What the interposed library counted, by rank, and the program's own report."""
        folder = self.new_folder()
        counted = ["env", f"LD_PRELOAD={program.library('count_mpi')}", f"ZERO_COUNT_DIR={folder}"]
        report = self.run_json(program.mpirun(ranks) + counted + command)
        counts = [json.loads((folder / f"rank{r}.json").read_text()) for r in range(ranks)]
        return counts, report

    def check(self, algorithm):
        for ranks, dtype in ((2, "fp32"), (3, "fp16"), (5, "bf16")):
            for stage in program.STAGES:
                with self.subTest(stage=stage, ranks=ranks, dtype=dtype):
                    # What start-up sends is in both runs: the difference is three iterations.
                    command = [program.stage(stage)]
                    first, _ = self.count(command + options(algorithm, dtype, 1), ranks)
                    then, report = self.count(command + options(algorithm, dtype, 4), ranks)
                    for r, counters in enumerate(report["ranks"]):
                        self.assertEqual(counters["sent_bytes_per_iteration"],
                                         counters["sent_bytes_per_iteration_least"])
                        self.assertEqual(counters["scalar_bytes_per_iteration"],
                                         counters["scalar_bytes_per_iteration_least"])
                        counted = (counters["sent_bytes_per_iteration"] +
                                   counters["scalar_bytes_per_iteration"])
                        self.assertEqual(then[r]["bytes"] - first[r]["bytes"], 3 * counted)
                        self.assertGreater(counters["sent_bytes_per_iteration"], 0)
                        # Nothing bypasses the messages: collectives are for start-up only.
                        self.assertEqual(then[r]["collectives"], first[r]["collectives"])

    def test_ring(self):
        self.check("ring")

    def test_direct(self):
        self.check("direct")

    def test_library(self):
        """The count above would notice collectives: with `library` there are some, and no tensor
        leaves as a message."""
        first, _ = self.count([program.stage("zero3")] + options("library", "fp16", 1), 3)
        then, report = self.count([program.stage("zero3")] + options("library", "fp16", 4), 3)
        for r, counters in enumerate(report["ranks"]):
            self.assertGreater(then[r]["collectives"], first[r]["collectives"])
            self.assertIsNone(counters["sent_bytes_per_iteration"])
            self.assertEqual(then[r]["bytes"] - first[r]["bytes"],
                             3 * counters["scalar_bytes_per_iteration"])


class Traces(program.TestCase):
    def sum(self, folder):
        done = subprocess.run([sys.executable, str(SUM_TRACE), str(folder)], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout)

    def test_threads(self):
        for algorithm in ("ring", "direct"):
            for ranks, dtype in ((1, "fp16"), (3, "fp16"), (5, "fp32")):
                for stage in program.STAGES:
                    with self.subTest(stage=stage, ranks=ranks, algorithm=algorithm):
                        folder = self.new_folder()
                        traced = ["--trace", str(folder), "--trace-iterations", "0"]
                        report = self.run_json([program.stage(stage), "--ranks", str(ranks)] +
                                               traced + options(algorithm, dtype, 3, SMALL))
                        self.compare(self.sum(folder), report, 3)

    def test_chunks(self):
        """Shards of several chunks, and only two of four iterations traced."""
        folder = self.new_folder()
        report = self.run_json([program.stage("zero3"), "--ranks", "3", "--trace", str(folder),
                                "--trace-iterations", "2"] + options("ring", "fp16", 4))
        self.compare(self.sum(folder), report, 2)

    def compare(self, sums, report, iterations):
        self.assertEqual(sums["unmatched"], {"sends": 0, "receives": 0})
        self.assertEqual(len(sums["ranks"]), report["world_size"])
        for rank, counters in zip(sums["ranks"], report["ranks"]):
            for i in range(iterations):
                self.assertEqual(rank["sent_bytes"][str(i)], counters["sent_bytes_per_iteration"])
            self.assertEqual(counters["sent_bytes_per_iteration"],
                             report["closed_form"]["sent_bytes_per_iteration"])


if __name__ == "__main__":
    program.main()
