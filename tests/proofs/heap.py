"""Memory that the tracker does not see: counted by interposed malloc and mmap, and by the
kernel."""

import json
import os
import subprocess

import program

SMALL = ["--layers", "2", "--heads", "3", "--channels", "15", "--context", "8"]
# 20 times the parameters.
WIDE = ["--layers", "2", "--heads", "3", "--channels", "96", "--context", "8"]
DEEP = ["--layers", "6", "--heads", "3", "--channels", "15", "--context", "8"]
ITERATIONS = 6

# One record an iteration stays, in a vector that doubles: 56 bytes each.
RECORDS = 2048


class Heap(program.TestCase):
    def count(self, stage, model, ranks=1, mpi=False, batch=30, more=()):
        """The samples of rank 0's process at the end of each iteration, and its report."""
        samples = self.new_folder() / "samples"
        command = [program.stage(stage)] + model + ["--batch", str(batch), "--iterations",
                                                    str(ITERATIONS), *more]
        counted = ["env", f"LD_PRELOAD={program.library('count_heap')}"]
        if mpi:
            # Every process counts, and only rank 0 flushes its output: the others are not asked.
            script = 'export ZERO_COUNT_FILE="$0$OMPI_COMM_WORLD_RANK"; exec "$@"'
            command = program.mpirun(ranks) + ["sh", "-c", script, str(samples)] + counted + command
            samples = samples.with_name("samples0")
        else:
            command = counted + [f"ZERO_COUNT_FILE={samples}"] + command + ["--ranks", str(ranks)]
        report = self.run_json(command)
        lines = [json.loads(line) for line in samples.read_text().splitlines()]
        self.assertGreater(len(lines), ITERATIONS)
        return lines[:ITERATIONS], lines[-1], report

    def tracked(self, report, what, ranks=(0,)):
        if what == "peak":
            return sum(report["ranks"][r]["peak_total"] for r in ranks)
        return sum(m["live"] for r in ranks for m in report["ranks"][r]["memory"].values())

    def test_tracker(self):
        """What a device takes is what the tracker says, but for alignment: up to 512 bytes a
        block."""
        blocks = 100  # more than are ever alive
        for stage in program.STAGES:
            with self.subTest(stage=stage):
                samples, last, report = self.count(stage, SMALL)
                for what, measured in (("live", samples[-1]["aligned"]["live"]),
                                       ("peak", last["aligned"]["top"])):
                    rest = measured - self.tracked(report, what)
                    self.assertGreaterEqual(rest, 0)
                    self.assertLessEqual(rest, 512 * blocks)
                self.assertEqual(last["aligned"]["live"], 0)  # all of it is given back

    def test_iterations(self):
        """Memory outside the tracker stays constant over iterations."""
        for stage in program.STAGES:
            for mpi, ranks in ((False, 1), (True, 3)):
                if mpi and not program.MPIRUN:
                    continue
                with self.subTest(stage=stage, mpi=mpi):
                    samples, _, _ = self.count(stage, SMALL, ranks, mpi)
                    lives = [s["other"]["live"] for s in samples[1:]]
                    peaks = [s["other"]["peak"] for s in samples[1:]]
                    slack = 2 * RECORDS if mpi else RECORDS  # MPI keeps lists of its own
                    self.assertLessEqual(max(lives) - min(lives), slack)
                    self.assertLessEqual(max(peaks) - min(peaks), slack)
                    # The tracked part returns to the same bytes, exactly.
                    self.assertEqual(len({s["aligned"]["live"] for s in samples}), 1)
                    self.assertEqual(len({s["aligned"]["peak"] for s in samples[1:]}), 1)

    def test_sizes(self):
        """Memory outside the tracker is the same for a model of 20 times the parameters, at its
        peak too; another layer costs its tensors' names and ranges."""
        for stage in program.STAGES:
            for dtype in ("fp16", "fp32"):
                with self.subTest(stage=stage, dtype=dtype):
                    more = ("--dtype", dtype, "--save", str(self.folder / "model"))
                    small, small_last, report = self.count(stage, SMALL, more=more)
                    wide, wide_last, wide_report = self.count(stage, WIDE, more=more)
                    deep, _, _ = self.count(stage, DEEP, more=more)
                    self.assertGreater(wide_report["num_parameters"], 16 * report["num_parameters"])
                    for kind in ("live", "peak"):
                        for a, b in zip(small[1:], wide[1:]):
                            self.assertLessEqual(abs(a["other"][kind] - b["other"][kind]), RECORDS)
                        layer = (deep[-1]["other"][kind] - small[-1]["other"][kind]) / 4
                        self.assertLessEqual(layer, 16384)
                    top = wide_last["other"]["top"] - small_last["other"]["top"]
                    self.assertLessEqual(abs(top), 8192)

    def test_batch(self):
        """Of the batch, what lives outside the tracker is the tokens that the host reads: 8 bytes a
        token."""
        for stage in program.STAGES:
            with self.subTest(stage=stage):
                small, _, _ = self.count(stage, SMALL, batch=10)
                large, _, _ = self.count(stage, SMALL, batch=90)
                for a, b in zip(small[1:], large[1:]):
                    more = b["other"]["peak"] - a["other"]["peak"]
                    self.assertLessEqual(more, 80 * 8 * 8 + RECORDS)  # sequences, tokens, bytes


class Resident(program.TestCase):
    """The kernel's count: pages that are really there."""

    RANKS, CHANNELS = 4, 192
    # Many layers: what the C library keeps is some units, and a unit is little of the whole.
    LARGE = ["--layers", "16", "--heads", "4", "--channels", str(CHANNELS), "--context", "8",
             "--batch", "4", "--iterations", "2", "--ranks", str(RANKS)]
    # A layer's parameters in fp16. A gathered unit and its gradients, freed, stay with the C
    # library for the next one, and blocks that live on lie between: about three units a rank
    # are measured here, and not more with more iterations; a copy of the model would be 16.
    UNIT = 2 * 12 * CHANNELS ** 2
    KEPT_UNITS = 8

    def resident(self, stage, model):
        path = self.new_folder() / "run.json"
        child = subprocess.Popen([program.stage(stage), "--quiet", "--json", str(path)] + model)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(child.returncode, 0)
        report = json.loads(path.read_text())
        return usage.ru_maxrss * 1024, sum(r["peak_total"] for r in report["ranks"])

    def test_resident(self):
        """The process is as large as the tracker says, and some units that the C library keeps:
        ZeRO-3's memory is really not there."""
        measured = {}
        for stage in program.STAGES:
            rest, tracked_rest = self.resident(stage, SMALL + ["--batch", "4", "--iterations", "3",
                                                               "--ranks", "4"])
            large, tracked = self.resident(stage, self.LARGE)
            measured[stage] = large - rest
            print(f"{stage}: resident {large / 2**20:.1f} MiB ({rest / 2**20:.1f} for a tiny "
                  f"model), tracked {tracked / 2**20:.1f} MiB on {self.RANKS} ranks together")
            expected = tracked - tracked_rest
            self.assertGreater(measured[stage], 0.75 * expected, stage)
            self.assertLess(measured[stage], 1.15 * expected, stage)
            self.assertLess(measured[stage] - expected, self.RANKS * self.KEPT_UNITS * self.UNIT,
                            stage)
        self.assertLess(measured["zero1"], 0.5 * measured["ddp"])
        self.assertLess(measured["zero2"], 0.9 * measured["zero1"])
        self.assertLess(measured["zero3"], 0.9 * measured["zero2"])
        self.assertLess(measured["zero3"], 0.35 * measured["ddp"])


if __name__ == "__main__":
    program.main()
