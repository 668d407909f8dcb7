"""`./exercise` as a student uses it: each command is run as a program."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
COURSE = PROJECT / "exercises" / "course"
BUILD = os.environ.get("ZERO_BUILD") or str(PROJECT / "build")
PATIENCE = 120  # seconds: a busy machine compiles slowly
sys.path.insert(0, str(COURSE))

import exercise as exercises  # noqa: E402
import skeleton  # noqa: E402
import variants  # noqa: E402

EXERCISES = exercises.all_exercises()
VISUALIZER = json.loads(
    (pathlib.Path(BUILD) / "exercises" / "course.json").read_text())["visualizer"]
SOLUTION = exercises.find("01").answer_path.read_text()


class Student(unittest.TestCase):
    """With a folder of answers of its own."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.home = pathlib.Path(temporary.name)
        self.answers = self.home / "answers"
        self.environment = {**os.environ, "ZERO_ANSWERS": str(self.answers), "ZERO_BUILD": BUILD,
                            "COLUMNS": "100", "TMPDIR": str(self.home / "tmp")}
        (self.home / "tmp").mkdir()

    def command(self, *words):
        return [sys.executable, "-B", str(COURSE), *words]

    def run_it(self, *words, status=0, text=None, **environment):
        """Its standard output, or what it said on standard error when that is not empty."""
        ended = subprocess.run(self.command(*words), env={**self.environment, **environment},
                               cwd=self.home, capture_output=True, text=True, input=text,
                               timeout=PATIENCE)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)
        return ended.stdout if status == 0 else ended.stdout + ended.stderr

    def answer(self, name="01_bytes"):
        return self.answers / f"{name}.cpp"

    def remembered(self):
        return json.loads((self.answers / ".progress.json").read_text())


class StartAndReset(Student):
    def test_start_says_what_to_read_write_and_do(self):
        said = self.run_it("start", "1")
        self.assertTrue(self.answer().is_file())
        for word in ("answers/01_bytes.cpp", "exercises/01_bytes/README.md",
                     "./exercise check 01 --watch", exercises.find("01").goal):
            self.assertIn(word, said)

    def test_every_exercise_can_be_started(self):
        for exercise in EXERCISES:
            self.run_it("start", exercise.name)
            self.assertIn(f" {exercise.name}\n", self.answer(exercise.name).read_text())

    def test_start_never_overwrites(self):
        self.run_it("start", "01")
        self.answer().write_text("my work")
        said = self.run_it("start", "bytes")
        self.assertEqual(self.answer().read_text(), "my work")
        self.assertIn("reset 01", said)

    def test_start_does_not_follow_a_link_to_nowhere(self):
        self.answers.mkdir()
        elsewhere = self.home / "elsewhere"
        self.answer().symlink_to(elsewhere)
        self.run_it("start", "01")
        self.assertFalse(elsewhere.exists())

    def test_reset_asks_where_somebody_is_and_refuses_where_nobody_is(self):
        self.run_it("start", "01")
        self.answer().write_text("my work")
        said = self.run_it("reset", "01", status=2, text="y\n")
        self.assertIn("--yes", said)
        self.assertEqual(self.answer().read_text(), "my work")

    def test_reset_keeps_every_old_file(self):
        self.run_it("start", "01")
        skeleton = self.answer().read_text()
        for i, work in enumerate(("first", "second"), 1):
            self.answer().write_text(work)
            said = self.run_it("reset", "01", "--yes")
            self.assertIn(f"01_bytes.cpp.old-{i}", said)
            self.assertEqual(self.answer().read_text(), skeleton)
            self.assertEqual((self.answers / f"01_bytes.cpp.old-{i}").read_text(), work)
        self.assertEqual((self.answers / "01_bytes.cpp.old-1").read_text(), "first")

    def test_reset_of_what_was_not_started_says_so(self):
        self.assertIn("./exercise start 01", self.run_it("reset", "01", "--yes", status=2))

    def test_what_is_no_exercise_is_refused_in_one_line(self):
        said = self.run_it("start", "99", status=2)
        self.assertEqual(said.count("\n"), 1)
        self.assertIn("01_bytes", said)

    def test_a_folder_that_cannot_be_written_is_said_in_one_line(self):
        self.answers.write_text("a file where the folder should be")
        self.assertEqual(self.run_it("start", "01", status=2).count("\n"), 1)


class FromThePreviousAnswer(Student):
    def previous(self, change=lambda text: text):
        self.answers.mkdir(exist_ok=True)
        text = exercises.find("04").answer_path.read_text()
        line = "    comm.all_reduce(grads, partition);"
        own = change(text.replace(line, f"    // Mine: half of 06.\n{line}"))
        self.answer("04_ddp").write_text(own)

    def test_a_students_own_answer_that_passes_is_what_the_next_begins_with(self):
        self.previous()
        said = self.run_it("start", "06")
        self.assertIn("your own answers/04_ddp.cpp", said)
        self.assertIn("// Mine: half of 06.", self.answer("06_zero1").read_text())

    def test_one_that_does_not_pass_is_not(self):
        self.previous(lambda text: text.replace("comm.all_reduce(grads, partition);", ""))
        said = self.run_it("start", "06")
        self.assertIn("begun with", said)
        self.assertIn("does not pass", " ".join(said.split()))
        self.assertNotIn("Mine", self.answer("06_zero1").read_text())

    def test_from_takes_any_file(self):
        self.previous(lambda text: text.replace("comm.all_reduce(grads, partition);", ""))
        self.run_it("start", "06", "--from", "answers/04_ddp.cpp")
        self.assertIn("// Mine: half of 06.", self.answer("06_zero1").read_text())

    def test_from_a_file_without_the_steps_is_refused(self):
        (self.home / "none.cpp").write_text("int main() {}\n")
        said = self.run_it("start", "06", "--from", "none.cpp", status=2)
        self.assertIn("none.cpp", said)
        self.assertFalse(self.answer("06_zero1").exists())
        self.run_it("start", "06", "--from", "nowhere.cpp", status=2)
        self.run_it("start", "01", "--from", "none.cpp", status=2)


class InAPackage(Student):
    """Where the programs to begin with are not there."""

    def setUp(self):
        super().setUp()
        package = self.home / "package" / "exercises"
        shutil.copytree(COURSE, package / "course", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(PROJECT / "CMakeLists.txt", package.parent)
        for name in ("04_ddp", "06_zero1"):
            (package / name).mkdir()
            exercise = exercises.find(name)
            shutil.copy(exercise.folder / "exercise.json", package / name)
            for file, text in skeleton.shipped(exercise).items():
                (package / name / file).write_text(text)
        self.package = package

    def command(self, *words):
        return [sys.executable, "-B", str(self.package / "course"), *words]

    def test_the_first_program_is_there_and_the_next_begins_with_the_students_own(self):
        said = self.run_it("start", "06", status=2)
        self.assertIn("./exercise start 04", said)
        self.run_it("start", "04")
        nothing = {"ZERO_BUILD": str(self.home / "nothing is built")}
        said = self.run_it("start", "06", status=2, **nothing)
        self.assertIn("it was not checked yet", said)
        self.assertEqual(said.count("\n"), 1)
        self.assertFalse(self.answer("06_zero1").exists())
        self.answer("04_ddp").write_text(exercises.find("04").answer_path.read_text())
        self.run_it("start", "06", "--from", "answers/04_ddp.cpp")
        self.assertIn("    comm.all_reduce(grads, partition);\n",
                      self.answer("06_zero1").read_text())


class Hints(Student):
    def test_they_come_one_at_a_time_and_in_order(self):
        hints = exercises.find("01").hints
        for i, hint in enumerate(hints, 1):
            said = self.run_it("hint", "01")
            self.assertIn(f"hint {i} of {len(hints)}\n", said)
            self.assertIn(hint, " ".join(said.split()))
            self.assertEqual(said.count("hint "), 1 + hint.count("hint "))
        self.assertIn("all", self.run_it("hint", "01"))

    def test_again_shows_those_that_were_shown_and_no_more(self):
        self.run_it("hint", "01", "--again")
        self.run_it("hint", "01")
        self.run_it("hint", "01")
        said = self.run_it("hint", "--again")
        self.assertEqual(re.findall(r"^hint (\d) of", said, re.MULTILINE), ["1", "2"])
        self.assertIn("hint 3 of", self.run_it("hint"))

    def test_each_exercise_has_its_own(self):
        self.run_it("hint", "01")
        self.assertIn("hint 1 of", self.run_it("hint", "06"))
        self.assertIn("hint 2 of", self.run_it("hint", "01"))


class Check(Student):
    def test_the_ladder_the_points_and_the_status(self):
        exercise = exercises.find("01")
        self.run_it("start", "01")
        said = self.run_it("check", "01", status=1)
        self.assertRegex(said, rf"✗ {exercise.skeleton_fails} ")
        self.assertIn("still blank", said)
        self.assertIn(f"{len(exercise.blanks)} blanks are left, in lines ", said)
        self.assertIn("./exercise hint 01", said)
        self.answer().write_text(SOLUTION)
        said = self.run_it("check", status=0)
        self.assertIn(f"{exercise.points} of {exercise.points} points", said)
        self.assertNotIn("✗", said)

    def test_json_is_only_json(self):
        self.answers.mkdir()
        self.answer().write_text(SOLUTION)
        told = json.loads(self.run_it("check", "01", "--json"))
        self.assertEqual((told["exercise"], told["failed_rung"], told["findings"]),
                         ("01_bytes", None, []))

    def test_another_file(self):
        (self.home / "other.cpp").write_text(SOLUTION)
        self.run_it("check", "01", "other.cpp")
        self.assertFalse(self.answers.exists(), "it is not the student's answer")
        self.run_it("check", "01", "nowhere.cpp", status=2)

    def test_what_is_not_there_is_said(self):
        self.assertIn("./exercise start 01", self.run_it("check", "01", status=2))
        self.assertIn("name an exercise", self.run_it("check", status=2))
        self.assertIn("course.json", self.run_it(
            "check", "01", self.write("x.cpp", SOLUTION), status=2, ZERO_BUILD=str(self.home)))

    def write(self, name, text):
        (self.home / name).write_text(text)
        return name

    def test_another_version_or_exercise_is_a_note(self):
        stamp = "// zero-steps 0.0.1+0000000 01_bytes\n"
        self.assertIn("version 0.0.1+0000000", self.run_it(
            "check", "01", self.write("x.cpp", stamp + SOLUTION)))
        stamp = "// zero-steps 0.0.1+0000000 06_zero1\n"
        self.assertIn("begun for 06_zero1", self.run_it(
            "check", "01", self.write("x.cpp", stamp + SOLUTION)))

    def test_what_is_not_text_does_not_compile(self):
        (self.home / "x.cpp").write_bytes(bytes(range(256)))
        self.assertRegex(self.run_it("check", "01", "x.cpp", status=1), "✗ compiles")

    def test_no_colours_in_a_pipe(self):
        self.assertNotIn("\033", self.run_it("check", "01", self.write("x.cpp", SOLUTION)))

    def test_colours_on_a_terminal_unless_NO_COLOR_is_set(self):
        def on_a_terminal(**environment):
            import pty
            master, slave = pty.openpty()
            child = subprocess.Popen(self.command("list"), stdout=slave, stderr=slave,
                                     env={**self.environment, "TERM": "xterm", **environment})
            os.close(slave)
            said = b""
            try:
                while piece := os.read(master, 1 << 16):
                    said += piece
            except OSError:
                pass  # the end of a terminal
            child.wait(PATIENCE)
            os.close(master)
            return said
        self.assertIn(b"\033[", on_a_terminal(NO_COLOR=""))
        self.assertNotIn(b"\033[", on_a_terminal(NO_COLOR="1"))


class Lists(Student):
    def lines(self):
        return {line[:2]: line for line in self.run_it("list").splitlines() if line[:2].isdigit()}

    def test_every_exercise_and_what_to_do_next(self):
        said = self.run_it("list")
        for exercise in EXERCISES:
            self.assertIn(exercise.goal, " ".join(said.split()))
        self.assertEqual(said.count("not started"), len(EXERCISES))
        self.assertIn("Next: ./exercise start 01", said)

    def test_the_state_follows_the_file(self):
        self.run_it("start", "01")
        self.assertTrue(self.lines()["01"].endswith("started"))
        self.answer().write_text("int x;\n")
        self.assertTrue(self.lines()["01"].endswith("edited"))
        self.answer().write_text(SOLUTION)
        self.run_it("check", "01")
        points = exercises.find("01").points
        self.assertRegex(self.lines()["01"], rf"{points}/{points}  passed$")
        self.assertIn("Next: ./exercise start 02", self.run_it("list"))
        self.answer().write_text(SOLUTION + "\n")
        self.assertTrue(self.lines()["01"].endswith("edited"))
        self.answer().write_text("nonsense")
        self.run_it("check", "01", status=1)
        self.assertTrue(self.lines()["01"].endswith("fails at compiles"))
        self.assertIn("Next: ./exercise check 01", self.run_it("list"))

    def test_what_is_remembered_may_be_damaged(self):
        self.run_it("start", "01")
        work = self.answer().read_text()
        path = self.answers / ".progress.json"
        whole = path.read_text()
        damaged = ["", "{", "[]", "null", '{"last": 1}', '{"last": "", "exercises": []}',
                   '{"last": "", "exercises": {"01_bytes": 5}}', whole[:len(whole) // 2],
                   "\0" * 100, "[" * 100000,
                   '{"last": "77_gone", "exercises": {"01_bytes": {"hints": -3, "score": "x"}}}',
                   '{"last": "01_bytes", "exercises": {"01_bytes": {"hints": [], "rung": {}}}}']
        for text in damaged:
            with self.subTest(text[:40]):
                path.write_text(text)
                self.run_it("list")
                self.run_it("hint", "01")
                self.assertEqual(self.remembered()["last"], "01_bytes")
                self.assertEqual(self.answer().read_text(), work)

    def test_it_is_never_half_written(self):
        """Many writers at once: whoever reads sees a whole file at any moment."""
        writers = [subprocess.Popen(self.command("hint", "01"), env=self.environment,
                                    stdout=subprocess.DEVNULL) for _ in range(12)]
        path = self.answers / ".progress.json"
        while any(writer.poll() is None for writer in writers):
            if path.exists():
                json.loads(path.read_text())
        self.assertEqual([writer.wait() for writer in writers], [0] * 12)
        self.assertEqual(sorted(each.name for each in self.answers.iterdir()), [".progress.json"])


class Watch(Student):
    def setUp(self):
        super().setUp()
        self.answers.mkdir()

    def watch(self, number="01"):
        child = subprocess.Popen(self.command("check", number, "--watch"), env=self.environment,
                                 cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True)
        self.said = ""

        def read():
            for line in child.stdout:
                self.said += line
        reader = threading.Thread(target=read)
        reader.start()

        def end():
            child.kill()
            child.wait()
            reader.join()
            child.stdout.close()
        self.addCleanup(end)
        return child

    def until(self, text, times=1):
        end = time.monotonic() + PATIENCE
        while self.said.count(text) < times:
            self.assertLess(time.monotonic(), end, f"{text!r} in\n{self.said}")
            time.sleep(0.02)

    def test_it_checks_again_after_each_save_however_an_editor_saves(self):
        child = self.watch()
        self.until("waiting for it")
        self.answer().write_text("int x;\n")
        self.until("Ctrl-C ends", 1)
        self.assertIn("✗ compiles", self.said)

        # Written in place.
        self.answer().write_text(SOLUTION)
        self.until("Ctrl-C ends", 2)
        self.assertEqual(self.said.count("15 of 15 points"), 1)

        # Another file takes its place.
        (self.answers / "new").write_text("int y;\n")
        os.replace(self.answers / "new", self.answer())
        self.until("Ctrl-C ends", 3)
        self.assertEqual(self.said.count("✗ compiles"), 2)

        # Removed, and written anew.
        self.answer().unlink()
        self.until("waiting for it", 2)
        self.answer().write_text(SOLUTION)
        self.until("Ctrl-C ends", 4)
        self.assertEqual(self.said.count("15 of 15 points"), 2)

        time.sleep(1)  # nothing is saved, nothing is checked
        self.assertEqual(self.said.count("Ctrl-C ends"), 4)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(PATIENCE), 0)
        self.assertNotIn("Traceback", self.said)

    def test_ctrl_c_during_a_check_leaves_nothing_behind(self):
        exercise = exercises.find("04")
        before = "  Communicator& comm = rank.comm;\n"
        text = exercise.answer_path.read_text()
        self.assertIn(before, text)
        self.answer("04_ddp").write_text(text.replace(
            before, f"  for (volatile int x = 0; x == 0; x = 0) {{\n  }}\n{before}"))
        child = self.watch("04")

        def answers_running():
            found = []
            for one in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    words = one.read_bytes().split(b"\0")
                    parent = (one.parent / "status").read_text()
                except OSError:
                    continue
                if words[0].endswith(b"/answer") and f"PPid:\t{child.pid}\n" in parent:
                    found.append(int(one.parent.name))
            return found
        end = time.monotonic() + PATIENCE
        while not (running := answers_running()):
            self.assertLess(time.monotonic(), end, self.said)
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(exercise.seconds / 2), 0)  # sooner than by its time limit
        for pid in running:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertEqual(list((self.home / "tmp").iterdir()), [])


class Pictures(Student):
    def test_a_right_answer_is_drawn_and_the_visualizers_command_named(self):
        self.answers.mkdir()
        exercise = exercises.find("06")
        self.answer("06_zero1").write_text(exercise.answer_path.read_text())
        said = self.run_it("picture", "06", "--out", "drawn")
        self.assertTrue((self.home / "drawn/trace/rank0.jsonl").stat().st_size > 1000)
        self.assertIn("drawn/trace", said)
        if VISUALIZER:
            for name in ("stages.png", "memory.png"):
                self.assertIn(f"drawn/{name}", said)
                self.assertEqual((self.home / "drawn" / name).read_bytes()[:4], b"\x89PNG")
            self.assertIn(f"{VISUALIZER} drawn/trace", said)
        else:
            self.assertIn("apt-get install", said)

    def test_one_that_fails_is_drawn_up_to_there(self):
        self.run_it("start", "04")
        said = self.run_it("picture", "--out", "drawn", status=1)
        self.assertIn("step 3 is still blank", said)
        self.assertIn("drawn/trace, up to where it failed", said)
        self.assertTrue((self.home / "drawn/trace/rank0.jsonl").exists())
        self.assertEqual((self.home / "drawn/stages.png").exists(), bool(VISUALIZER))

    def test_one_that_does_not_compile_says_so(self):
        self.answers.mkdir()
        self.answer("04_ddp").write_text("int main() { return x; }\n")
        said = self.run_it("picture", "04", "--out", "drawn", status=1)
        self.assertIn("does not compile", said)
        self.assertIn("04_ddp.cpp:1:", said)

    def test_functions_show_a_program_of_the_project(self):
        for exercise in EXERCISES:
            if exercise.kind == "functions":
                said = self.run_it("picture", exercise.number, "--out", f"drawn{exercise.number}")
                self.assertIn(f"stages/{exercise.picture['program']}.cpp", said)
                view = exercise.picture["view"]
                self.assertEqual((self.home / f"drawn{exercise.number}/{view}.png").exists(),
                                 bool(VISUALIZER))


class Pages(Student):
    def test_the_students_page_says_what_the_exercises_say(self):
        page = (PROJECT / "exercises" / "README.md").read_text()
        for exercise in EXERCISES:
            self.assertIn(f"| {exercise.number} | [{exercise.title}]({exercise.name}/README.md) | "
                          f"{exercise.hours:g} |", page)

    def test_the_ladder_that_it_shows_is_what_is_printed(self):
        """Where it is not, what is printed now is in this test's message: put it there."""
        exercise = exercises.find("06")
        mutant = exercise.folder / "mutants" / "all_reduce_and_all_gather.mutation"
        (self.home / "x.cpp").write_text(variants.read(exercise, mutant).text)
        said = self.run_it("check", "06", "x.cpp", status=1)
        said = said[:said.index("  checked in")]
        block = "".join(f"    {line}".rstrip() + "\n" for line in said.splitlines())
        self.assertIn(block, (PROJECT / "exercises" / "README.md").read_text(), f"\n{block}")


class Help(Student):
    def test_every_command_explains_itself(self):
        for name in ("start", "check", "hint", "picture", "list", "reset"):
            said = self.run_it(name, "--help")
            self.assertGreater(len(said.splitlines()), 5, name)
        said = self.run_it("--help")
        self.assertIn("./exercise start 01", said)
        self.assertLessEqual(max(map(len, said.splitlines())), 100)


if __name__ == "__main__":
    unittest.main()
