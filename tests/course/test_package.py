"""What students are given, and what is uploaded to Gradescope: nothing of an answer is in the one,
and both work by themselves."""

import contextlib
import io
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.insert(0, str(PROJECT / "exercises" / "course"))
sys.path.insert(0, str(HERE))

import exercise as exercises  # noqa: E402
import grade  # noqa: E402
import gradescope  # noqa: E402
import gradescope_fields  # noqa: E402
import namespaces  # noqa: E402
import package  # noqa: E402
import skeleton  # noqa: E402
import version  # noqa: E402

BUILD = os.environ.get("ZERO_BUILD", str(PROJECT / "build"))
ALL = exercises.all_exercises()


def in_git():
    return subprocess.run(["git", "-C", str(PROJECT), "ls-files", "--error-unmatch",
                           "CMakeLists.txt"], capture_output=True, check=False).returncode == 0


class Folder(unittest.TestCase):
    def setUp(self):
        if not in_git():
            self.skipTest("the project is not a clone")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="package-"))
        self.addCleanup(shutil.rmtree, self.folder)


class Package(Folder):
    def test_nothing_of_an_answer_is_in_it(self):
        files = package.contents(ALL)
        for exercise in ALL:
            for name, (data, _) in files.items():
                if b"\0" not in data:
                    leaks = skeleton.leaks(exercise, data.decode("utf-8", "replace"))
                    self.assertEqual(leaks, [], f"{name} has lines of {exercise.name}")
        for name in files:
            parts = pathlib.PurePath(name).parts
            self.assertNotIn(parts[-1], ("solution.cpp", "oracle.py", "INSTRUCTOR.md"), name)
            self.assertFalse({"mutants", "solutions", "hostile", ".git"} & set(parts), name)
            self.assertFalse(name.startswith("tests/") and parts[1] != "support", name)
            self.assertFalse(parts[0] == "stages" and name.endswith(".cpp"), name)
        # The guard in front of it notices, too.
        reference = ALL[0].answer_path.read_bytes()
        with self.assertRaisesRegex(exercises.Mistake, "has lines of the answer of 01_bytes"):
            package._refuse_leaks(ALL, "00", {**files, "exercises/notes.txt": (reference, False)})

    def test_answers_up_to_an_exercise_are_in_it(self):
        files = package.contents(ALL, "06")
        self.assertIn("stages/ddp.cpp", files)
        self.assertIn("stages/zero1.cpp", files)
        self.assertIn("exercises/02_ring/solution.cpp", files)
        self.assertNotIn("stages/zero2.cpp", files)
        self.assertNotIn("exercises/02_ring/oracle.py", files)
        for exercise in ALL:
            if exercise.number > "06":
                for name, (data, _) in files.items():
                    if name.startswith(("exercises/", "stages/")) and b"\0" not in data:
                        self.assertEqual(skeleton.leaks(exercise, data.decode()), [], name)

    def test_it_has_what_a_student_needs(self):
        files = package.contents(ALL)
        for name in ("exercise", ".ci/setup.sh", "LICENSE", "README.md", "CMakeLists.txt",
                     "common/train/rank.h", "stages/data/text.txt", "exercises/README.md",
                     "exercises/01_bytes/skeleton.cpp", "exercises/06_zero1/outline.txt",
                     "visualizer/CMakeLists.txt"):
            self.assertIn(name, files)
        self.assertTrue(files["exercise"][1], "can be executed")
        self.assertEqual(files["exercises/VERSION"][0].decode().strip(), version.project())
        self.assertIn(version.project(), files["README.md"][0].decode())
        for exercise in ALL:
            self.assertIn(f"exercises/{exercise.name}/README.md", files)
            if exercise.kind == "functions":
                self.assertIn(f"exercises/{exercise.name}/expected.json", files)

    def test_archives_and_folders_are_the_same(self):
        files = package.contents(ALL)
        for name in ("course.zip", "course.tar.gz", "course"):
            package.write(self.folder / name, files)
        with zipfile.ZipFile(self.folder / "course.zip") as archive:
            archive.extractall(self.folder / "from zip")
        with tarfile.open(self.folder / "course.tar.gz") as archive:
            modes = {member.name: member.mode for member in archive}
            archive.extractall(self.folder / "from tar")
        self.assertEqual(modes["course/exercise"], 0o755)
        for root in ("from zip/course", "from tar/course", "course"):
            found = {path.relative_to(self.folder / root).as_posix(): path.read_bytes()
                     for path in (self.folder / root).rglob("*") if path.is_file()}
            self.assertEqual(found, {name: data for name, (data, _) in files.items()}, root)
        with self.assertRaisesRegex(exercises.Mistake, "is there already"):
            package.write(self.folder / "course", files)

    def test_it_builds_and_checks_by_itself(self):
        root = self.folder / "course"
        package.write(root, package.contents(ALL))
        build = self.folder / "build"
        self.run_in(root, "cmake", "-S", root, "-B", build, "-DCMAKE_BUILD_TYPE=Release",
                    "-DZERO_CUDA=OFF", "-G", "Ninja")
        # The rest takes minutes; that all targets are known is what can go wrong here.
        self.run_in(root, "cmake", "--build", build, "--target", "exercise_01")
        commands = self.run_in(root, "ninja", "-C", build, "-t", "commands", "course").stdout
        self.assertIn("stage_judge", commands)
        environment = {"ZERO_BUILD": str(build), "ZERO_ANSWERS": str(self.folder / "answers")}

        def course(*words, status=0):
            return self.run_in(root, sys.executable, "-B", root / "exercises" / "course", *words,
                               status=status, **environment).stdout

        course("start", "01")
        self.assertIn("✗ count", course("check", "01", status=1))
        right = version.stamp(ALL[0]) + "\n" + ALL[0].answer_path.read_text()
        (self.folder / "answers" / "01_bytes.cpp").write_text(right)
        told = course("check", "01")
        self.assertIn("15 of 15 points", told)
        self.assertNotIn("note:", told)  # of another version
        for exercise in ALL[1:]:
            # 06 and later begin with the student's own answer to the exercise before.
            begun = course("start", exercise.number, status=2 if exercise.previous else 0)
            self.assertNotIn("Traceback", begun)
        self.assertIn("06", course("list"))
        # Nothing of the instructor's is offered.
        self.assertNotIn("gradescope", course("--help"))

    def run_in(self, folder, *words, status=0, **environment):
        done = subprocess.run([str(word) for word in words], cwd=folder, text=True,
                              capture_output=True, env={**os.environ, **environment})
        self.assertEqual(done.returncode, status, done.stdout[-3000:] + done.stderr[-3000:])
        return done


class Gradescope(Folder):
    """The folder stands for /autograder. The build is this one: setup.sh takes minutes."""

    def setUp(self):
        super().setUp()
        self.root = self.folder / "autograder"
        secret = self.folder / "secret.txt"
        with contextlib.redirect_stdout(io.StringIO()):
            grade.new_secret(secret)
        self.exercise = exercises.find("01")
        data = gradescope.package(self.exercise, grade.load_secret(secret), "after_published")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            archive.extractall(self.root / "source")
            self.modes = {member.filename: member.external_attr >> 16 & 0o777
                          for member in archive.infolist()}
        for name in ("submission", "results"):
            (self.root / name).mkdir()
        self.metadata(["b@example.org", "A@example.org"])

    def metadata(self, addresses):
        users = [{"email": email, "id": 12, "name": "Somebody"} for email in addresses]
        (self.root / "submission_metadata.json").write_text(json.dumps(
            {"id": 1234, "created_at": "2026-07-01T14:22:32.365935-07:00", "users": users,
             "assignment": {"id": 1, "title": "Exercise 1"}, "submission_method": "upload",
             "previous_submissions": []}))

    def grade(self):
        said = io.StringIO()
        with mock.patch.dict(os.environ, ZERO_BUILD=BUILD), contextlib.redirect_stdout(said), \
                contextlib.redirect_stderr(said):
            status = gradescope.grade_in(self.root)
        return status, said.getvalue()

    def results(self):
        results = json.loads((self.root / "results" / "results.json").read_text())
        gradescope_fields.validate(results)
        return results

    @unittest.skipIf(os.geteuid() != 0, "there it is root")
    def test_a_submission_becomes_results(self):
        (self.root / "submission" / "01_bytes.cpp").write_text(
            version.stamp(self.exercise) + "\n" + self.exercise.answer_path.read_text())
        status, said = self.grade()
        self.assertEqual(status, 0, said)
        self.assertIn("a@example.org+b@example.org: answers run as another user", said)
        results = self.results()
        self.assertEqual(results["score"], 15)
        self.assertEqual(results["visibility"], "after_published")
        self.assertEqual(results["stdout_visibility"], "hidden")
        self.assertEqual(results["extra_data"]["version"], version.of(self.exercise))

    @unittest.skipIf(os.geteuid() != 0, "there it is root")
    def test_a_container_without_namespaces_will_do(self):
        (self.root / "submission" / "answer.cpp").write_text(self.exercise.answer_path.read_text())
        for folder in (self.folder, self.root, self.root / "source"):
            folder.chmod(0o755)
        with mock.patch.object(namespaces, "hold", return_value=None):
            status, said = self.grade()
        self.assertEqual(status, 0, said)
        self.assertIn("without namespaces", said)
        self.assertEqual(self.results()["score"], 15)

    @unittest.skipIf(os.geteuid() != 0, "there it is root")
    def test_nothing_usable_is_no_points_and_a_failure_is_no_results(self):
        (self.root / "submission" / "readme.txt").write_text("nothing")
        self.assertEqual(self.grade()[0], 0)
        results = self.results()
        self.assertEqual(results["score"], 0)
        self.assertIn("01_bytes.cpp is missing", results["tests"][0]["output"])
        with mock.patch.object(grade, "grade_one", side_effect=OSError("the disk is full")):
            status, said = self.grade()
        self.assertEqual(status, 1)
        self.assertIn("the disk is full", said)
        self.assertFalse((self.root / "results" / "results.json").exists())

    def test_it_has_the_two_programs_the_secret_and_the_project(self):
        for name in ("setup.sh", "run_autograder"):
            self.assertEqual(self.modes[name], 0o755)
            done = subprocess.run(["bash", "-n", str(self.root / "source" / name)], check=False)
            self.assertEqual(done.returncode, 0, name)
        self.assertEqual(self.modes["secret.txt"], 0o600)
        self.assertIn("zero-steps/exercises/01_bytes/oracle.py", self.modes)
        self.assertFalse([name for name in self.modes if "/.git/" in name])

    def test_the_file_is_for_nobody_else(self):
        out = self.folder / "autograder.zip"
        arguments = mock.Mock(grade=None, exercise="01", secret=str(self.folder / "secret.txt"),
                              out=str(out), visibility="visible")
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(gradescope.run(arguments), 0)
        self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o600)

    def test_whoever_handed_in_is_told_by_the_metadata(self):
        path = self.root / "submission_metadata.json"
        self.assertEqual(gradescope.student_of(path), "a@example.org+b@example.org")
        self.metadata(["solo@example.org"])
        self.assertEqual(gradescope.student_of(path), "solo@example.org")
        path.write_text("{}")
        with self.assertRaisesRegex(exercises.Mistake, "does not say who handed it in"):
            gradescope.student_of(path)


class Validator(unittest.TestCase):
    def test_it_notices_what_gradescope_would_not_take(self):
        good = {"score": 1, "tests": [{"score": 1, "max_score": 2, "status": "passed"}]}
        gradescope_fields.validate(good)
        for wrong in ({"points": 1, **good}, {"score": "1"}, {}, {"tests": [{}]},
                      {"score": 1, "tests": [{"status": "ok"}]},
                      {"score": 1, "visibility": "everybody"},
                      {"score": 1, "tests": [{"score": 3, "max_score": 2}]}):
            with self.assertRaises(AssertionError, msg=wrong):
                gradescope_fields.validate(wrong)


if __name__ == "__main__":
    unittest.main()
