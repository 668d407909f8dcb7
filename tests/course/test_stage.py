"""Whole stage programs: what they are run on, what their failures are called, and a judge that
nothing of what an answer writes can upset."""

import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.insert(0, str(PROJECT / "exercises" / "course"))

import check  # noqa: E402
import compiling  # noqa: E402
import contained  # noqa: E402
import exercise as exercises  # noqa: E402
import stage  # noqa: E402

BUILD = compiling.load_build(os.environ.get("ZERO_BUILD", PROJECT / "build"))
ZERO1 = exercises.find("06")


def units(instance):
    """Where each unit ends in the flat vector."""
    L, C, T, V = (instance[name] for name in ("layers", "channels", "context", "vocab"))
    ends = [(V + T) * C]
    for _ in range(L):
        ends.append(ends[-1] + 12 * C * C + 13 * C)
    return ends + [stage.parameters(instance)]


class Instances(unittest.TestCase):
    def test_whatever_the_seed_they_discriminate(self):
        for seed in range(50):
            cases = check.instances(ZERO1, f"seed {seed}")
            self.assertEqual(cases, check.instances(ZERO1, f"seed {seed}"))
            self.assertLessEqual({1, 3, 4}, {case["ranks"] for case in cases})
            self.assertIn("bf16", [case["dtype"] for case in cases])
            self.assertIn("direct", [case["collectives"] for case in cases])
            alone = [case["more"][1].split(":") for case in cases if case["more"]]
            self.assertEqual(len(alone), 1)
            for case in cases:
                K, N = case["ranks"], stage.parameters(case)
                self.assertGreaterEqual(case["iterations"], 3)
                self.assertEqual(case["batch"] % K, 0)
                self.assertEqual(case["channels"] % case["heads"], 0)
                if K == 1:
                    continue
                self.assertNotEqual(N % K, 0, "there is padding")
                shard = -(-N // K)
                self.assertFalse(all(end % shard == 0 for end in units(case)[:-1]),
                                 "a unit straddles shards")

    def test_a_shorter_run_does_not_ask_for_an_overflow_that_is_not_reached(self):
        self.assertEqual(stage.until(["--overflow-at", "1:2", "--fp32-grads"], 2),
                         ["--fp32-grads"])
        self.assertEqual(stage.until(["--overflow-at", "1:1"], 2), ["--overflow-at", "1:1"])


def ended(err, status=1, timed_out=False):
    return contained.Ended(status, timed_out, "", err, 1.0)


class Failures(unittest.TestCase):
    def test_ranks_that_do_not_meet_are_told_where_they_wait(self):
        found = stage.failure(ended(
            'rank 2, iteration 1, step "6. All-gather": rank 2, all_gather (ring, collective 2, '
            'control message): rank 1 is doing something else: expected collective 2 is all_gather '
            '(ring) of [0, 12363) in fp16, shards of 4121; there collective 1 is reduce_scatter '
            '(ring) of [0, 12363) in fp16, shards of 4121\n'
            'rank 1, iteration 1, step "3. Reduce", unit block 1: stopped in reduce_scatter (ring, '
            'collective 1, step 1 of 2) while waiting for rank 0, since rank 2 failed\n'
            'rank 0, iteration 1, step "6. All-gather": stopped in all_gather (ring, collective 2, '
            'control message) while waiting for rank 1, since rank 2 failed\n'))
        self.assertEqual(found.rung, "ends")
        self.assertEqual(found.text,
                         "the ranks do not meet: ranks 0, 2 in all_gather (iteration 1, step 6); "
                         "rank 1 in reduce_scatter (iteration 1, step 3, unit block 1)\n"
                         "  rank 2: all_gather of [0, 12363), shards of 4121\n"
                         "  rank 1: reduce_scatter of [0, 12363), shards of 4121")

    def test_what_all_ranks_say_is_said_once(self):
        found = stage.failure(ended("".join(
            f'rank {rank}, iteration 1, step "3. Reduce": step 3 is still blank: write it\n'
            for rank in (1, 0, 2))))
        self.assertEqual((found.rung, found.text),
                         ("ends", "ranks 0, 1, 2, iteration 1, step 3: step 3 is still blank: "
                                  "write it"))

    def test_ranks_with_different_bits_have_wrong_numbers(self):
        found = stage.failure(ended(
            'rank 0, iteration 2, step "6. Gather": ranks 0 and 1 hold different bits: parameters '
            'of [0, 12363): fingerprints 3647351e607f62c4 and 39148dfd0b8a5617\n'))
        self.assertEqual((found.rung, found.text),
                         ("numbers", "ranks 0 and 1 hold different parameters of [0, 12363) after "
                                     "iteration 2"))
        found = stage.failure(ended(
            'rank 1, iteration 1, step "6. Gather": two ranks have different norms: 1.5 here, '
            '0.25\n'))
        self.assertEqual(found.rung, "numbers")

    def test_a_crash_and_a_hang_are_named(self):
        self.assertIn("SIGSEGV", stage.failure(ended("", status=-11)).text)
        self.assertIn("did not end", stage.failure(ended("", -9, timed_out=True)).text)
        self.assertEqual(stage.failure(ended("some words\n")).text, "some words")
        self.assertIn("status 1", stage.failure(ended("")).text)


class Judge(unittest.TestCase):
    """One right run, and what becomes of it when its files are tampered with."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="judge-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        said = compiling.compile_object(BUILD, ZERO1.answer_path, cls.folder)
        assert not said, said
        assert not compiling.link(BUILD, ZERO1, cls.folder)
        cls.instance = check.instances(ZERO1, "public")[0]
        cls.whole = cls.folder / "whole"
        cls.whole.mkdir()
        command = [cls.folder / "answer", *stage.options(cls.instance), "--json", "result.json",
                   "--trace", ".", "--trace-iterations", "0", "--dump-state", "."]
        done = contained.run(command, cls.whole, contained.Limits())
        assert done.status == 0, done.err

    def setUp(self):
        self.data = self.folder / "data"
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(self.whole, self.data)

    def judged(self, diverged=False):
        """The rungs of the findings. That it ends by itself, with a list, is asserted."""
        request = self.folder / "request.json"
        request.write_text(json.dumps({"stage": "zero1", "instance": self.instance,
                                       "folder": str(self.data), "diverged": diverged}))
        # As the answer is run: with the same environment, and so with the same bits.
        done = contained.run([BUILD.judge, request], self.folder, stage.JUDGE)
        self.assertEqual((done.status, done.timed_out), (0, False), done.err)
        findings = json.loads(done.out)
        self.said = "\n".join(finding["text"] for finding in findings)
        return {finding["rung"] for finding in findings}

    def change(self, name, change):
        path = self.data / name
        told = json.loads(path.read_text())
        change(told)
        path.write_text(json.dumps(told))

    def lines(self, name, keep):
        path = self.data / name
        lines = path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if keep(line)]
        self.assertLess(len(kept), len(lines))
        path.write_text("".join(kept))

    def test_the_run_as_it_is_is_right(self):
        self.assertEqual(self.judged(), set())

    def test_each_missing_file_is_noticed(self):
        for name in sorted(os.listdir(self.whole)):
            with self.subTest(name):
                self.setUp()
                (self.data / name).unlink()
                self.assertEqual(self.judged(), {"ends"})

    def test_made_up_bytes_contradict_the_trace(self):
        def sent(told):
            told["ranks"][1]["sent_bytes_per_iteration"] -= 4
        self.change("result.json", sent)
        self.assertEqual(self.judged(), {"ends"})
        self.setUp()

        def peak(told):
            told["ranks"][2]["memory"]["temporary"]["peak"] += 4
        self.change("result.json", peak)
        self.assertEqual(self.judged(), {"ends"})

    def test_a_trace_without_its_messages_contradicts_the_result(self):
        self.lines("rank0.jsonl", lambda line: '"e":"send"' not in line)
        self.assertEqual(self.judged(), {"ends"})

    def test_a_trace_without_an_allocation_is_noticed(self):
        self.lines("rank1.jsonl", lambda line: '"name":"exp_avg"' not in line)
        self.assertEqual(self.judged(), {"ends"})

    def test_made_up_numbers_are_wrong_numbers(self):
        for key in ("loss", "gradient_norm", "loss_scale"):
            with self.subTest(key):
                self.setUp()

                def change(told):
                    told["iterations"][1][key] *= 1 + 1e-9
                self.change("result.json", change)
                self.assertEqual(self.judged(), {"numbers"})

    def test_one_wrong_bit_in_any_state_is_noticed_and_named(self):
        for name in sorted(path.name for path in self.whole.glob("rank1_*.bin")):
            with self.subTest(name):
                self.setUp()
                data = bytearray((self.data / name).read_bytes())
                data[4 * 7] ^= 1
                (self.data / name).write_bytes(data)
                self.assertEqual(self.judged(), {"numbers"})
                self.assertIn("rank 1", self.said)
                self.assertIn("1 of its", self.said)

    def test_an_index_that_leads_elsewhere_leads_nowhere(self):
        secret = self.folder / "secret.bin"
        secret.write_bytes((self.whole / "rank0_master.bin").read_bytes()[::-1])

        def change(told):
            told["ranks"][0]["arrays"][1]["file"] = f"../{secret.name}"
        self.change("index.json", change)
        self.assertEqual(self.judged(), set(), "the name that is known was read")

    def test_claims_that_are_no_numbers_are_noticed(self):
        for value in (None, "12", -1, 1e300, [], {}):
            with self.subTest(value):
                self.setUp()

                def change(told):
                    told["closed_form"]["gradients"] = value
                self.change("result.json", change)
                self.assertNotEqual(self.judged(), set())

    def test_a_run_that_diverged_is_judged_by_its_traces_alone(self):
        for name in os.listdir(self.data):
            if not name.endswith(".jsonl"):
                (self.data / name).unlink()
                continue
            # It ends where the ranks compare what they hold, after the last iteration.
            last = f'"iteration":{self.instance["iterations"] - 1},'
            self.lines(name, lambda line: '"e":"iteration"' not in line or last not in line)
        self.assertEqual(self.judged(diverged=True), set())
        self.lines("rank1.jsonl", lambda line: '"e":"send"' not in line)
        self.assertEqual(self.judged(diverged=True), {"traffic"})

    def test_garbage_is_garbage(self):
        for name in ("result.json", "index.json", "rank0.jsonl"):
            for garbage in (b"", b"[" * 200_000, b'{"a":' * 100_000, b"\xff\xfe" * 1000, b"null",
                            b"{}", b"[]", b'"text"', b"1e999", os.urandom(10_000)):
                with self.subTest(f"{name} {garbage[:10]}"):
                    self.setUp()
                    (self.data / name).write_bytes(garbage)
                    self.assertEqual(self.judged(), {"ends"})

    def test_damage_anywhere_upsets_nothing(self):
        dice = random.Random(5)
        names = ["result.json", "index.json", "rank0.jsonl", "rank2.jsonl"]
        for turn in range(60):
            self.setUp()
            path = self.data / dice.choice(names)
            data = bytearray(path.read_bytes())
            for _ in range(dice.choice([1, 5, 50])):
                at = dice.randrange(len(data))
                if dice.random() < 0.3:
                    del data[at:at + dice.choice([1, 100, 10_000])]
                else:
                    data[at:at + 1] = dice.choice([b"-", b"9", b"9" * 30, b"{", b'"', b"\x00"])
                data = data or bytearray(b" ")
            path.write_bytes(data)
            with self.subTest(turn=turn, file=path.name):
                self.judged()


if __name__ == "__main__":
    unittest.main()
