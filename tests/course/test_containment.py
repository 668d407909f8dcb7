"""Answers that hang, crash, eat, forge, spy and leave things behind: each fails, at its rung and
with the right message, and nothing of it gets out.

The answers are in hostile/. Each is put in front of a right answer, which calls it first: what goes
unnoticed passes with all points. They are graded twice: as they are, and (`anyway`) without asking
what they call, because that alone must not be what contains them.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import socket
import sys
import tempfile
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.insert(0, str(PROJECT / "exercises" / "course"))
sys.path.insert(0, str(HERE))

import check  # noqa: E402
import compiling  # noqa: E402
import contained  # noqa: E402
import exercise as exercises  # noqa: E402
import hostile_answers  # noqa: E402
import ladder  # noqa: E402
import namespaces  # noqa: E402
import sandbox  # noqa: E402
import users  # noqa: E402

BUILD = compiling.load_build(os.environ.get("ZERO_BUILD", PROJECT / "build"))
SECRET = "7d1e5c0ffee5ec2e7"

# What only namespaces contain.
NEED_NAMESPACES = {"network", "leaves_a_message", "reads_the_reference", "includes_the_reference",
                   "stage_runs_the_reference"}


class Containment(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="containment-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.secret = cls.folder / "secret.txt"
        cls.secret.touch(mode=0o600)
        cls.secret.write_text(SECRET)
        cls.submissions = cls.folder / "submissions"
        cls.submissions.mkdir()
        (cls.submissions / "alice.cpp").write_text("// somebody's\n")
        cls.out = cls.folder / "out"
        cls.out.mkdir()
        (cls.out / "grades.csv").write_text("alice,15\n")
        cls.listener = socket.socket()
        cls.addClassCleanup(cls.listener.close)
        cls.listener.bind(("127.0.0.1", 0))
        cls.listener.listen()
        cls.listener.setblocking(False)
        cls.boxes = {}

    @classmethod
    def tearDownClass(cls):
        for box in cls.boxes.values():
            box.close()

    def box(self, exercise):
        if exercise.name not in self.boxes:
            hidden = [self.secret, self.submissions, self.out]
            try:
                self.boxes[exercise.name] = sandbox.Sandbox(BUILD, exercise, hidden)
            except exercises.Mistake as mistake:
                self.skipTest(f"answers cannot be contained here: {mistake}")
        return self.boxes[exercise.name]

    def answer(self, text, exercise):
        return hostile_answers.whole(text, exercise, SECRET=self.secret, PROJECT=PROJECT,
                                     OUT=self.out, SUBMISSIONS=self.submissions,
                                     PORT=self.listener.getsockname()[1])

    def grade(self, text, exercise):
        source = self.folder / "answer.cpp"
        source.write_text(self.answer(text, exercise))
        box = self.box(exercise)
        place = box.place()
        try:
            return check.check(BUILD, exercise, source, "hidden", box.runner(0), keep=place)
        finally:
            box.remove(place)

    def contain(self, name, text, anyway):
        exercise = exercises.find(hostile_answers.header(text, "exercise") or "01")
        exercise = dataclasses.replace(exercise, seconds=2, memory=1 << 29)
        rung, says = hostile_answers.header(text, "rung"), hostile_answers.header(text, "says")
        if anyway:
            says = hostile_answers.header(text, "anyway")
            rung = "compiles" if "undefined" in says else "ends"
        says = says.replace("@SECRET@", re.escape(str(self.secret)))
        if name in NEED_NAMESPACES and self.box(exercise).kind == "users":
            self.skipTest("no namespaces here")
        began = time.monotonic()
        with mock.patch.object(check.symbols, "refuse", return_value="") if anyway else (
                mock.patch.object(check, "__doc__", check.__doc__)):
            report = self.grade(text, exercise)
        told = ladder.text_of(report)
        self.assertEqual(report.failed_rung, rung, told)
        self.assertRegex(report.first[0].text, says)
        self.assertNotIn(SECRET, told)
        self.assertLess(time.monotonic() - began, 60)
        if os.geteuid() == 0:
            first = self.box(exercise).first_user(0)
            left = set(users.processes_by_user()) & set(range(first, first + 64))
            self.assertFalse(left, "processes were left behind")
        with self.assertRaises(BlockingIOError):  # nobody has called
            self.listener.accept()

    def test_a_right_answer_passes_in_there(self):
        for number in ("01", "06"):
            exercise = exercises.find(number)
            nothing = ('#include "common/train/rank.h"\nvoid attack(zero::Rank&) {}\n'
                       if exercise.kind == "stage" else "void attack() {}\n")
            report = self.grade(nothing, exercise)
            self.assertTrue(report.passed, ladder.text_of(report))

    def test_the_secret_cannot_be_read_and_a_readable_one_is_not_accepted(self):
        exercise = exercises.find("01")
        box = self.box(exercise)
        place = box.place()
        place.chmod(0o755)
        folder = box.runner(0).folder(place, "made")
        runner = box.runner(0)
        folder = runner.folder(place, "run")
        ended = runner.run(["cat", self.secret], folder, contained.Limits())
        self.assertNotEqual(ended.status, 0)
        self.assertNotIn(SECRET, ended.out)
        box.remove(place)
        if os.geteuid() != 0:
            return
        with mock.patch.object(namespaces, "hold", return_value=None):
            self.secret.chmod(0o644)
            self.folder.chmod(0o755)
            try:
                with self.assertRaisesRegex(exercises.Mistake, "could read .*secret"):
                    sandbox.Sandbox(BUILD, exercise, [self.secret])
            finally:
                self.secret.chmod(0o600)

    @unittest.skipIf(os.geteuid() != 0, "only root can run as others")
    def test_without_namespaces_it_is_still_another_user(self):
        exercise = exercises.find("01")
        with mock.patch.object(namespaces, "hold", return_value=None):
            self.folder.chmod(0o755)
            with sandbox.Sandbox(BUILD, exercise, [self.secret]) as box:
                self.assertEqual(box.kind, "users")
                self.assertIn("without namespaces", box.describe())
                runner, place = box.runner(0), box.place()
                folder = runner.folder(place, "run")
                ended = runner.run(["sh", "-c", f"id -u; cat {self.secret}; setsid sleep 600 & "
                                    "grep NoNewPrivs /proc/self/status"], folder,
                                   contained.Limits())
                self.assertEqual(ended.out.split()[0], str(box.first_user(0)))
                self.assertIn("Permission denied", ended.err)
                self.assertIn("NoNewPrivs:\t1", ended.out)
                self.assertNotIn(box.first_user(0), users.processes_by_user())

    def test_two_gradings_have_no_user_in_common(self):
        exercise = exercises.find("01")
        box = self.box(exercise)
        if os.geteuid() != 0:
            self.skipTest("there are no other users")
        with sandbox.Sandbox(BUILD, exercise, [self.secret]) as other:
            numbers = [box.first_user(0), box.first_user(1), other.first_user(0)]
        self.assertEqual(len(set(numbers)), 3)


def add_tests():
    for name, text in hostile_answers.fixtures().items():
        def test(self, name=name, text=text):
            self.contain(name, text, anyway=False)

        def test_anyway(self, name=name, text=text):
            self.contain(name, text, anyway=True)

        test.__doc__ = test_anyway.__doc__ = text.split("\n", 1)[0].removeprefix("// ")
        setattr(Containment, f"test_{name}", test)
        if hostile_answers.header(text, "anyway"):
            setattr(Containment, f"test_{name}_anyway", test_anyway)


add_tests()

if __name__ == "__main__":
    unittest.main()
