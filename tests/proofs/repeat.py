"""The same command, the same bits: on screen, in the report and in the trace."""

import json
import re

import program

MODEL = ["--layers", "2", "--heads", "3", "--channels", "15", "--context", "7", "--batch", "30",
         "--iterations", "4"]


def without_seconds(report):
    """The report without what a clock says."""
    report = json.loads(json.dumps(report))
    del report["median_seconds_per_iteration"]
    for iteration in report["iterations"]:
        del iteration["seconds"]
    return report


def read_trace(folder):
    """Each rank's trace without times and addresses."""
    files = sorted(folder.iterdir())
    return {file.name: re.sub(r'"(t|address)":("0x[0-9a-f]+"|[0-9]+)', r'"\1":0', file.read_text())
            for file in files}


class Repeat(program.TestCase):
    def run_once(self, command):
        """Standard output, report, traces and saved bytes of one run."""
        folder = self.new_folder()
        files = ["--json", str(folder / "json"), "--save", str(folder / "model")]
        out, _ = self.run_program(command + files + ["--trace", str(folder / "trace")])
        return (out, without_seconds(json.loads((folder / "json").read_text())),
                (folder / "model").read_bytes(), read_trace(folder / "trace"))

    def test_same_command(self):
        for stage in program.STAGES:
            for dtype in ("fp16", "fp32"):
                with self.subTest(stage=stage, dtype=dtype):
                    command = [program.stage(stage), "--ranks", "3", "--dtype", dtype] + MODEL
                    first, second = self.run_once(command), self.run_once(command)
                    for a, b in zip(first, second):
                        self.assertEqual(a, b)
                    self.assertEqual(len(first[3]), 3)
                    self.assertGreater(len(first[3]["rank2.jsonl"]), 10000)

    def test_garbage(self):
        """What memory held before it was written is never read."""
        for stage in program.STAGES:
            with self.subTest(stage=stage):
                command = [program.stage(stage), "--ranks", "3"] + MODEL
                self.assertEqual(self.run_program(command)[0],
                                 self.run_program(command + ["--fill-nan"])[0])

    def test_threads(self):
        """Threads that share an operator change no bit from run to run, nor from stage to stage."""
        first = None
        for stage in program.STAGES:
            with self.subTest(stage=stage):
                command = [program.stage(stage), "--ranks", "2", "--threads", "3"] + MODEL
                out, again = (self.run_program(command)[0] for _ in range(2))
                self.assertEqual(out, again)
                iterations = re.findall("^iteration.*", out, re.MULTILINE)
                self.assertEqual(len(iterations), 4)
                first = first or iterations
                self.assertEqual(iterations, first)


class Tracing(program.TestCase):
    def test_trace(self):
        for stage in program.STAGES:
            for algorithm in ("ring", "direct"):
                with self.subTest(stage=stage, algorithm=algorithm):
                    command = [program.stage(stage), "--ranks", "3", "--collectives",
                               algorithm] + MODEL
                    plain, _ = self.run_program(command)
                    traced, _ = self.run_program(command + ["--trace", str(self.new_folder())])
                    valued, _ = self.run_program(
                        command + ["--trace", str(self.new_folder()), "--trace-values",
                                   "--trace-iterations", "0"])
                    self.assertIn("iteration   4/4", plain)
                    self.assertEqual(plain, traced)
                    self.assertEqual(plain, valued)


class UnderMpi(program.TestCase):
    def test_same_as_threads(self):
        for stage in program.STAGES:
            for ranks, algorithm, dtype in ((1, "ring", "fp16"), (3, "ring", "fp16"),
                                            (3, "direct", "bf16"), (5, "ring", "fp32")):
                with self.subTest(stage=stage, ranks=ranks, algorithm=algorithm):
                    options = ["--collectives", algorithm, "--dtype", dtype] + MODEL
                    threads = [program.stage(stage), "--ranks", str(ranks)] + options
                    processes = program.mpirun(ranks) + [program.stage(stage)] + options
                    self.assertEqual(self.run_program(threads)[0], self.run_program(processes)[0])
                    self.assertEqual(without_seconds(self.run_json(threads)),
                                     without_seconds(self.run_json(processes)))


if __name__ == "__main__":
    program.main()
