"""When one rank fails, the others end within seconds, say what they waited for, and leave traces
that can be read."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

import program

SECONDS = 15  # far less than the time-out of 300 s; a loaded machine is slow to start processes
RANKS = 3
MODEL = ["--layers", "2", "--heads", "3", "--channels", "15", "--context", "7", "--batch", "30"]
PARAMETERS = 13605
FOREVER = ["--iterations", "1000000", "--quiet", "--trace-iterations", "0"]


def failing(mpi):
    command = [str(program.BUILD / "tests" / "failing")] + MODEL + ["--iterations", "4"]
    return program.mpirun(RANKS) + command if mpi else command + ["--ranks", str(RANKS)]


class Failures(program.TestCase):
    def run_failing(self, mpi, how, rank=1, options=()):
        """Returns what was said on standard error, by line."""
        trace = self.new_folder()
        began = time.monotonic()
        done = subprocess.run(failing(mpi) + ["--trace", str(trace)] + list(options),
                              env=program.environment(ZERO_FAIL=how, ZERO_FAIL_RANK=str(rank)),
                              capture_output=True, text=True, timeout=100)
        self.assertLess(time.monotonic() - began, SECONDS)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.traces = self.read_traces(trace)
        return done.stderr.splitlines()

    def read_traces(self, folder):
        """The events of each rank: every line is whole, but for a last one that a kill cut off."""
        traces = []
        for rank in range(RANKS):
            text = (folder / f"rank{rank}.jsonl").read_text()
            lines = text.split("\n")
            traces.append([json.loads(line) for line in lines[:-1]])
            self.assertEqual(traces[-1][0]["e"], "header")
        return traces

    def ended(self, rank):
        return self.traces[rank][-1]

    def assert_said(self, lines, *parts):
        """Exactly one line says all the parts."""
        found = [line for line in lines if all(part in line for part in parts)]
        self.assertEqual(len(found), 1, f"{parts} in\n" + "\n".join(lines))
        return lines.index(found[0])


class OnThreads(Failures):
    def test_throw(self):
        """The rank that throws speaks first; each other one names the collective and the rank."""
        for rank in range(RANKS):
            with self.subTest(rank=rank):
                lines = self.run_failing(False, "throw", rank)
                self.assertEqual(self.assert_said(lines, f"rank {rank}, iteration 2, step \"3. ",
                                                  "something went wrong here"), 0)
                self.assertEqual(len(lines), RANKS)
                for other in set(range(RANKS)) - {rank}:
                    self.assert_said(lines, f"rank {other}, iteration 2", "reduce_scatter",
                                     "ring", "rank ")
                for r in range(RANKS):
                    self.assertEqual(self.ended(r)["e"], "end")
                    self.assertEqual(self.ended(r)["reason"], "failed")
                self.assertIn("something went wrong here", self.ended(rank)["message"])

    def test_never_comes(self):
        """A rank that does not come is named after the time-out."""
        lines = self.run_failing(False, "sleep", options=["--timeout", "1"])
        self.assertTrue(any("iteration 2" in line and "reduce_scatter" in line and
                            "nothing from rank 1 for 1 s" in line for line in lines), lines)
        self.assertEqual(self.ended(2)["reason"], "failed")

    def test_returns(self):
        """A rank that is done early is named at once."""
        lines = self.run_failing(False, "return")
        self.assert_said(lines, "rank 2, iteration 2", "reduce_scatter", "rank 1")

    def test_size(self):
        """Another size is a message with both sizes, before anything is sent."""
        lines = self.run_failing(False, "size")
        self.assertTrue(any("reduce_scatter" in line and "rank 1" in line and
                            "13605" in line.replace(",", "") for line in lines), lines)

    def test_order(self):
        """Another collective is a message that names both."""
        lines = self.run_failing(False, "order")
        self.assertTrue(any("reduce_scatter" in line and "all_gather" in line
                            for line in lines), lines)

    def test_budget(self):
        """A device that is too small: exit status 2, and one rank's one line says what was needed,
        what was alive, and the first stage that may fit, if any."""
        verdicts = set()
        for stage in program.STAGES:
            for kib in (1, 200, 500):
                with self.subTest(stage=stage, kib=kib):
                    _, said = self.run_program([program.stage(stage), "--ranks", str(RANKS),
                                                "--memory-budget", f"{kib}KiB"] + MODEL, status=2)
                    self.assertEqual(said.count("\n"), 1, said)
                    self.assertRegex(said, r"^rank [0-2], .*: out of memory: \"[^\"]+\" \(\w+\) "
                                           r"needs [\d,]+ B, but of the budget of "
                                           rf"{kib * 1024:,} B only [\d,]+ B are free; alive: ")
                    verdicts.add(self.assert_fits(said, kib * 1024))
        self.assertIn(None, verdicts)
        self.assertGreater(len(verdicts), 1)

    def assert_fits(self, said, budget):
        """The stage that is recommended, or None, is right for the bytes beside the states."""
        states = [16 * PARAMETERS, 4 * PARAMETERS + 12 * PARAMETERS // RANKS,
                  2 * PARAMETERS + 14 * PARAMETERS // RANKS, 16 * PARAMETERS // RANKS]
        for stage, size in enumerate(states):
            self.assertRegex(said, rf"stage {stage} \([a-z ]+\) {size:,} B")
        beside = int(re.search(r"beside at least ([\d,]+) B for ", said)[1].replace(",", ""))
        first = next((stage for stage, size in enumerate(states) if size + beside <= budget), None)
        self.assertIn("none can fit" if first is None else
                      f"the first that may fit: stage {first}\n", said)
        return first

    def test_signals(self):
        """Ctrl-C and SIGTERM end a run at once, and its trace is readable up to there."""
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                trace = self.new_folder()
                child = subprocess.Popen([program.stage("zero3"), "--ranks", "3", "--trace",
                                          str(trace)] + MODEL + FOREVER, stderr=subprocess.DEVNULL)
                self.wait_for_iteration(trace / "rank0.jsonl", 3)
                child.send_signal(number)
                self.assertNotEqual(child.wait(SECONDS), 0)
                self.assertGreater(len(self.read_traces(trace)[2]), 100)

    def wait_for_iteration(self, path, iteration):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if path.exists() and f'"iteration":{iteration},' in path.read_text():
                return
            time.sleep(0.05)
        self.fail(f"{path} does not grow")


class UnderMpi(OnThreads):
    def test_throw(self):
        """The rank that throws names itself, the step and the error; all processes end."""
        for rank in (0, 2):
            with self.subTest(rank=rank):
                lines = self.run_failing(True, "throw", rank)
                self.assert_said(lines, f"rank {rank}, iteration 2, step \"3. ",
                                 "something went wrong here")
                self.assertEqual(self.ended(rank)["reason"], "failed")

    def test_never_comes(self):
        """A rank that does not come is named after the time-out."""
        lines = self.run_failing(True, "sleep", options=["--timeout", "1"])
        # Each waits for the one before it on the ring, and all waits end at about the same time.
        self.assertTrue(any("reduce_scatter" in line and "nothing from rank" in line
                            for line in lines), lines)

    def test_returns(self):
        """A rank that is done early does not leave the others waiting for ever."""
        lines = self.run_failing(True, "return", options=["--timeout", "2"])
        # Each waits for the one before it on the ring, and all waits end at about the same time.
        self.assertTrue(any("reduce_scatter" in line and "nothing from rank" in line
                            for line in lines), lines)

    def test_size(self):
        """Another size is a message with both sizes, before anything is sent."""
        lines = self.run_failing(True, "size")
        self.assertTrue(any("reduce_scatter" in line and "13605" in line.replace(",", "")
                            for line in lines), lines)

    def test_order(self):
        """Another collective is a message that names both."""
        lines = self.run_failing(True, "order")
        self.assertTrue(any("reduce_scatter" in line and "all_gather" in line
                            for line in lines), lines)

    def test_budget(self):
        """A device that is too small: exit status 2."""
        _, said = self.run_program(program.mpirun(3) + [program.stage("ddp"), "--memory-budget",
                                                        "200KiB"] + MODEL, status=2)
        self.assertIn("needs", said)

    # ---- a real stage, and signals from outside -------------------------------------------------

    def start(self, stage, options=()):
        """Starts a long run under mpirun; returns it and the ranks' process ids."""
        self.trace, pids = self.new_folder(), self.new_folder()
        script = 'echo $$ > "$0/$OMPI_COMM_WORLD_RANK"; exec "$@"'
        run = subprocess.Popen(
            program.mpirun(RANKS) + ["sh", "-c", script, str(pids), program.stage(stage), "--trace",
                                     str(self.trace)] + MODEL + FOREVER + list(options),
            env=program.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.kill)
        self.wait_for_iteration(self.trace / "rank0.jsonl", 3)
        return run, [int((pids / str(rank)).read_text()) for rank in range(RANKS)]

    def finish(self, run, pids):
        began = time.monotonic()
        _, said = run.communicate(timeout=100)
        self.assertLess(time.monotonic() - began, SECONDS)
        self.assertNotEqual(run.returncode, 0)
        # mpirun ends all processes, and need not have waited for the last to be gone.
        while any(map(self.is_running, pids)) and time.monotonic() - began < SECONDS:
            time.sleep(0.05)
        self.assertFalse([pid for pid in pids if self.is_running(pid)], "are left")
        self.traces = self.read_traces(self.trace)
        return said.splitlines()

    @staticmethod
    def is_running(pid):
        try:
            state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            return False
        return state != "Z"  # a zombie has ended; its parent, in a container, may never ask

    def test_kill(self):
        """kill -9 of one process ends the others, who name the collective they waited in."""
        for rank in range(RANKS):
            with self.subTest(rank=rank):
                run, pids = self.start("zero3")
                # It stands still until the others wait for it: where they were is no race then.
                os.kill(pids[rank], signal.SIGSTOP)
                time.sleep(1)
                os.kill(pids[rank], signal.SIGKILL)
                lines = self.finish(run, pids)
                # Whichever collective it was: the norm and the report gather scalars.
                self.assertTrue(any(name in line and "waiting for rank" in line for line in lines
                                    for name in ("broadcast", "reduce", "all_gather_scalar")), lines)
                self.assertGreater(len(self.traces[rank]), 100)

    def test_stop(self):
        """A process that stands still is named after the time-out."""
        run, pids = self.start("zero1", ["--timeout", "2"])
        os.kill(pids[1], signal.SIGSTOP)
        self.addCleanup(self.kill, pids[1])
        lines = self.finish(run, pids)
        # Whoever gives up first names whom it waited for itself: rank 1, or one that waits for it.
        self.assertTrue(any("nothing from rank" in line
                            and ("reduce_scatter" in line or "all_gather" in line)
                            for line in lines), lines)
        self.assertIn("failed", [trace[-1].get("reason") for trace in self.traces])

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_signals(self):
        """Ctrl-C and SIGTERM of mpirun end every rank."""
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                run, pids = self.start("zero2")
                run.send_signal(number)
                self.finish(run, pids)


if __name__ == "__main__":
    program.main()
