"""Grading a folder of submissions: what students can hand in, what is written, and that it can be
ended and gone on with."""

import contextlib
import csv
import io
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.insert(0, str(PROJECT / "exercises" / "course"))
sys.path.insert(0, str(HERE))

import exercise as exercises  # noqa: E402
import grade  # noqa: E402
import gradescope_fields  # noqa: E402
import submissions  # noqa: E402
import version  # noqa: E402

BUILD = os.environ.get("ZERO_BUILD", str(PROJECT / "build"))
EXERCISE = exercises.find("01")
RIGHT = version.stamp(EXERCISE) + "\n" + EXERCISE.answer_path.read_text()
WRONG = RIGHT.replace("3 * C * C + 3 * C", "3 * C * C")  # num_parameters


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="grade-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.handed_in = self.folder / "submissions"
        self.handed_in.mkdir()
        self.out = self.folder / "out"
        self.secret = self.folder / "secret.txt"
        with contextlib.redirect_stdout(io.StringIO()):
            grade.new_secret(self.secret)

    def hand_in(self, name, text):
        path = self.handed_in / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def command(self, *more):
        return [sys.executable, "-B", str(PROJECT / "exercises" / "course"), "grade",
                str(self.handed_in), "--exercise", "01", "--secret", str(self.secret), "--out",
                str(self.out), *(["--same-user"] if os.geteuid() else []), *more]

    def grade(self, *more, status=0):
        done = subprocess.run(self.command(*more), text=True, capture_output=True,
                              env={**os.environ, "ZERO_BUILD": BUILD})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def rows(self):
        with open(self.out / "grades.csv", newline="", encoding="utf-8") as file:
            return {row["student"]: row for row in csv.DictReader(file)}

    def of(self, student, name):
        return (self.out / "students" / student / name).read_text(encoding="utf-8")


class Grading(Folder):
    def test_each_student_gets_a_row_a_text_and_results(self):
        self.hand_in("alice.cpp", RIGHT)
        self.hand_in("bob/01_bytes.cpp", WRONG)
        self.hand_in("bob/notes.txt", "my notes")
        self.hand_in("carol/mine/other_name.cpp", RIGHT)
        with zipfile.ZipFile(self.handed_in / "dave.zip", "w") as archive:
            archive.writestr("answers/01_bytes.cpp", RIGHT)
            archive.writestr("answers/02_ring.cpp", "another exercise")
            archive.writestr("__MACOSX/answers/._01_bytes.cpp", "\0\0")
        with tarfile.open(self.handed_in / "erin.tar.gz", "w:gz") as archive:
            archive.add(self.handed_in / "alice.cpp", "01_bytes.cpp")
        self.hand_in("frank.cpp", RIGHT.split("\n", 1)[1])
        self.hand_in("gina.cpp", RIGHT.replace("// zero-steps ", "// zero-steps 0.0"))
        self.hand_in(".DS_Store", "x")
        told = self.grade("--jobs", "2").stdout
        rows = self.rows()
        self.assertEqual(list(rows), ["alice", "bob", "carol", "dave", "erin", "frank", "gina"])
        for name in ("alice", "carol", "dave", "erin", "frank", "gina"):
            self.assertEqual(rows[name]["score"], "15", name)
            self.assertEqual(rows[name]["status"], "graded")
            self.assertIn("15 of 15 points", self.of(name, "report.txt"))
        self.assertEqual((rows["bob"]["score"], rows["bob"]["stops_at"]), ("2", "count"))
        self.assertEqual((rows["bob"]["ends"], rows["bob"]["count"]), ("1", "0"))
        self.assertRegex(told, r"(?m)^bob +2/15 +✓✓✗···· +count: ")
        self.assertIn("7 graded: 6 with all 15 points, 13.1 on average", told)
        self.assertRegex(self.of("bob", "report.txt"), r"✗ count +0/3")
        self.assertIn("hidden instance: ", self.of("bob", "report.txt"))

        # Which version it was begun with.
        self.assertEqual(rows["alice"]["version"], version.of(EXERCISE))
        self.assertNotIn("note:", self.of("alice", "report.txt"))
        self.assertEqual(rows["frank"]["version"], "none")
        self.assertIn("note: it has no line \"// zero-steps", self.of("frank", "report.txt"))
        self.assertEqual(rows["gina"]["version"],
                         f"0.0{version.of(EXERCISE)} (graded with {version.of(EXERCISE)})")
        self.assertIn("note: it was begun with version 0.00", self.of("gina", "report.txt"))

        # Gradescope's results.
        for name in rows:
            results = json.loads(self.of(name, "results.json"))
            gradescope_fields.validate(results)
            self.assertEqual(results["score"], int(rows[name]["score"]))
            self.assertEqual(sum(test["score"] for test in results["tests"]), results["score"])
            self.assertEqual(sum(test["max_score"] for test in results["tests"]), 15)
        tests = json.loads(self.of("bob", "results.json"))["tests"]
        self.assertEqual([test["status"] for test in tests], ["passed"] * 2 + ["failed"] * 5)
        self.assertIn("num_parameters", tests[2]["output"])

        # Grades are nobody else's to read.
        self.assertEqual(stat.S_IMODE(self.out.stat().st_mode), 0o700)

    def test_what_cannot_be_graded_gets_no_points_and_says_why(self):
        self.hand_in("alice.cpp", RIGHT)
        self.hand_in("empty.cpp", " \n")
        self.hand_in("binary.cpp", b"\x7fELF\0\0\0")
        self.hand_in("huge.cpp", "/" * (submissions.ANSWER + 1))
        (self.handed_in / "link.cpp").symlink_to("/etc/passwd")
        os.mkfifo(self.handed_in / "pipe.cpp")
        self.hand_in("two/a.cpp", RIGHT)
        self.hand_in("two/b.cpp", RIGHT)
        self.hand_in("none/readme.md", "nothing")
        (self.handed_in / "linked").mkdir()
        (self.handed_in / "linked" / "01_bytes.cpp").symlink_to("/etc/passwd")
        self.hand_in("text.txt", "I did it")
        self.hand_in("noise.zip", b"PK\x03\x04 and so on")
        self.hand_in("noise.tar.gz.cpp", RIGHT)  # the name ends in .cpp
        self.hand_in("cut.tar.gz", b"\x1f\x8b\x08 and so on")
        self.hand_in("twice.cpp", RIGHT)
        self.hand_in("twice/01_bytes.cpp", RIGHT)
        self.hand_in("does not compile.cpp", "int f( {\n")
        self.grade()
        rows = self.rows()
        for name, why in (("empty", "empty.cpp is empty"), ("binary", "is not a text"),
                          ("huge", "has more than 1 MiB"), ("link", "is a link"),
                          ("pipe", "is not a file"), ("two", "2 .cpp files in it: a.cpp, b.cpp"),
                          ("none", "no .cpp file"), ("linked", "01_bytes.cpp is a link"),
                          ("text", "text.txt is not an answer: hand in 01_bytes.cpp"),
                          ("noise", "noise.zip cannot be unpacked"),
                          ("cut", "cut.tar.gz cannot be unpacked"),
                          ("twice", "several submissions of twice")):
            self.assertEqual((rows[name]["score"], rows[name]["status"]), ("0", "unusable"), name)
            self.assertIn(why, self.of(name, "report.txt").replace("\n", " "))
            gradescope_fields.validate(json.loads(self.of(name, "results.json")))
        self.assertEqual(rows["alice"]["score"], "15")
        self.assertEqual(rows["noise.tar.gz"]["score"], "15")
        self.assertEqual(rows["does not compile"]["stops_at"], "compiles")
        self.assertEqual(rows["does not compile"]["status"], "graded")
        self.assertNotIn("root:", self.of("link", "report.txt"))

    def test_one_student_is_graded_again_and_the_others_are_left(self):
        for name in ("alice", "bob", "carol"):
            self.hand_in(f"{name}.cpp", WRONG)
        self.grade()
        before = {name: self.of(name, "report.txt") for name in ("alice", "carol")}
        marks = [self.out / "students" / name / "graded.json" for name in ("alice", "carol")]
        times = [mark.stat().st_mtime_ns for mark in marks]
        self.hand_in("alice.cpp", "changed, but not asked for")
        self.hand_in("bob.cpp", RIGHT)
        self.grade("--only", "bob")
        self.assertEqual({name: row["score"] for name, row in self.rows().items()},
                         {"alice": "2", "bob": "15", "carol": "2"})
        self.assertEqual(before, {name: self.of(name, "report.txt") for name in before})
        self.assertEqual(times, [mark.stat().st_mtime_ns for mark in marks])
        told = self.grade("--only", "nobody", status=2).stderr
        self.assertIn("there is no submission of nobody", told)

    def test_a_regrade_is_the_same_and_each_student_has_instances_of_their_own(self):
        no_padding = RIGHT.replace("(N + world_size - 1) / world_size", "N / world_size")
        for name in ("alice", "bob"):
            self.hand_in(f"{name}.cpp", no_padding)
        self.grade()
        first = {name: self.of(name, "report.txt") for name in ("alice", "bob")}
        self.grade("--again")
        self.assertEqual(first, {name: self.of(name, "report.txt") for name in first})
        ladders = [text.replace(name, "") for name, text in first.items()]
        self.assertNotEqual(*ladders)

    def test_what_is_done_is_not_done_again_unless_it_changed(self):
        for name in ("alice", "bob"):
            self.hand_in(f"{name}.cpp", WRONG)
        self.assertIn("2 to grade", self.grade().stderr)
        self.assertIn("2 of 2 are graded already", self.grade().stderr)
        self.hand_in("bob.cpp", RIGHT)
        told = self.grade().stderr
        self.assertIn("1 of 2 are graded already", told)
        self.assertIn("bob: 15 of 15", told)
        self.secret.unlink()
        with contextlib.redirect_stdout(io.StringIO()):
            grade.new_secret(self.secret)
        self.assertIn("2 to grade", self.grade().stderr)

    def test_grading_is_ended_in_the_middle_and_goes_on(self):
        slow = RIGHT.replace("num_parameters(const ModelShape& model) {",
                             "num_parameters(const ModelShape& model) { for (volatile int i = 0; i "
                             "< 20'000'000; i = i + 1) { }")
        for i in range(8):
            self.hand_in(f"student{i}.cpp", slow)
        running = subprocess.Popen(self.command("--jobs", "2"), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "ZERO_BUILD": BUILD})
        done = self.out / "students"
        until = time.monotonic() + 120
        while len(list(done.glob("*/graded.json"))) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        told = running.communicate(timeout=60)[1]
        self.assertEqual(running.returncode, 130, told)
        self.assertIn("what is graded stays", told)
        kept = {path: path.stat().st_mtime_ns for path in done.glob("*/graded.json")}
        self.assertTrue(2 <= len(kept) < 8, kept)
        for path in kept:  # all that is there is whole
            gradescope_fields.validate(json.loads((path.parent / "results.json").read_text()))
            json.loads(path.read_text())
        told = self.grade("--jobs", "2").stderr
        self.assertIn(f"{len(kept)} of 8 are graded already", told)
        self.assertEqual(kept, {path: path.stat().st_mtime_ns for path in kept})
        self.assertEqual([row["score"] for row in self.rows().values()], ["15"] * 8)
        self.assertFalse(list(self.out.rglob(".*")), "half-written files")

    def test_a_failure_of_the_grader_is_never_a_grade(self):
        for name in ("alice", "bob", "carol"):
            self.hand_in(f"{name}.cpp", RIGHT)
        honest = grade.check.check

        def fails_for_bob(build, exercise, source, seed, *more, **named):
            if seed == grade.seed_for(grade.load_secret(self.secret), EXERCISE, "bob"):
                raise OSError("no space left on the device")
            return honest(build, exercise, source, seed, *more, **named)

        words = self.command()[4:]
        said = io.StringIO(), io.StringIO()
        with mock.patch.object(grade.check, "check", fails_for_bob), \
                mock.patch.dict(os.environ, ZERO_BUILD=BUILD), \
                contextlib.redirect_stdout(said[0]), contextlib.redirect_stderr(said[1]):
            status = self.run_here(words)
        self.assertEqual(status, 1)
        self.assertIn("1 NOT graded", said[0].getvalue())
        rows = self.rows()
        self.assertEqual((rows["bob"]["status"], rows["bob"]["score"]), ("not graded", ""))
        self.assertIn("no space left", self.of("bob", "report.txt"))
        self.assertFalse((self.out / "students" / "bob" / "results.json").exists())
        self.assertEqual(rows["carol"]["score"], "15")
        # The same command tries again.
        self.assertIn("2 of 3 are graded already", self.grade().stderr)
        self.assertEqual(self.rows()["bob"]["score"], "15")

    @staticmethod
    def run_here(words):
        import argparse
        parser = argparse.ArgumentParser()
        grade.add_arguments(parser)
        return grade.run(parser.parse_args(words))

    def test_a_folder_has_the_grades_of_one_exercise(self):
        self.hand_in("alice.cpp", RIGHT)
        self.grade()
        words = self.command()
        words[words.index("01")] = "02"
        done = subprocess.run(words, text=True, capture_output=True,
                              env={**os.environ, "ZERO_BUILD": BUILD})
        self.assertEqual(done.returncode, 2)
        self.assertIn("has the grades of 01_bytes: name another folder", done.stderr)

    def test_secrets(self):
        self.assertEqual(stat.S_IMODE(self.secret.stat().st_mode), 0o600)
        with self.assertRaisesRegex(exercises.Mistake, "never written over"):
            grade.new_secret(self.secret)
        self.secret.chmod(0o640)
        with self.assertRaisesRegex(exercises.Mistake, "can be read by others: chmod 600"):
            grade.load_secret(self.secret)
        with self.assertRaisesRegex(exercises.Mistake, "--new-secret"):
            grade.load_secret(self.folder / "missing")
        seeds = {grade.seed_for(secret, exercise, student) for secret in (b"a" * 32, b"b" * 32)
                 for exercise in (EXERCISE, exercises.find("02"))
                 for student in ("alice", "bob")}
        self.assertEqual(len(seeds), 8)


class Misfortune(Folder):
    def test_no_name_stops_the_grading_of_the_others(self):
        self.hand_in("alice.cpp", RIGHT)
        self.hand_in("new\nline.cpp", RIGHT)
        self.hand_in("=1+1.cpp", RIGHT)
        (self.handed_in / os.fsdecode(b"bad\xff")).mkdir()
        self.hand_in(os.fsdecode(b"bad\xff/\xff.cpp"), RIGHT)
        with tarfile.open(self.handed_in / "tar.tar.gz", "w:gz", errors="surrogateescape") as tar:
            member = tarfile.TarInfo(os.fsdecode(b"d\xff/01_bytes.cpp"))
            member.size = len(RIGHT.encode())
            tar.addfile(member, io.BytesIO(RIGHT.encode()))
        self.grade()
        rows = self.rows()
        self.assertEqual(sorted(rows), ["'=1+1", "alice", "bad\\udcff", "new\\nline", "tar"])
        self.assertEqual({row["score"] for row in rows.values()}, {"15"})
        self.assertEqual(rows["tar"]["handed_in"], "tar.tar.gz: d\\udcff/01_bytes.cpp")

    def test_a_damaged_record_is_graded_again_and_a_folder_keeps_its_mode(self):
        self.hand_in("alice.cpp", RIGHT)
        self.hand_in("bob.cpp", RIGHT)
        self.out.mkdir(mode=0o755)
        self.out.chmod(0o755)
        self.grade()
        self.assertEqual(stat.S_IMODE(self.out.stat().st_mode), 0o755)
        for damage in ("", "{", "[]", "{}"):
            (self.out / "students" / "bob" / "graded.json").write_text(damage)
            self.assertIn("1 of 2 are graded already", self.grade().stderr)
            self.assertEqual(self.rows()["bob"]["score"], "15")

    @unittest.skipUnless(os.geteuid() == 0, "a small disk is mounted by root")
    def test_a_full_disk_costs_no_points(self):
        self.hand_in("alice.cpp", RIGHT)
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", str(disk)],
                          capture_output=True).returncode != 0:
            self.skipTest("nothing can be mounted here")
        try:
            with mock.patch.dict(os.environ, {"TMPDIR": str(disk)}):
                self.grade(status=1)
                self.assertEqual(self.rows()["alice"]["status"], "not graded")
        finally:
            subprocess.run(["umount", str(disk)], check=True)
        self.grade()
        self.assertEqual(self.rows()["alice"]["score"], "15")

    def test_impossible_places_are_a_line(self):
        self.hand_in("alice.cpp", RIGHT)
        for more in (["--csv", str(self.folder)], ["--jobs", "-3"]):
            done = self.grade(*more, status=2)
            self.assertEqual(done.stderr.count("Traceback"), 0)
            self.assertRegex(done.stderr, r"exercise: .*\n$")


class Archives(Folder):
    def read(self, path):
        return submissions.find(self.handed_in)[0].read(EXERCISE)

    def unusable(self, says):
        began = time.monotonic()
        with self.assertRaisesRegex(submissions.Unusable, says):
            self.read(None)
        self.assertLess(time.monotonic() - began, 10)

    def zip(self, *members):
        with zipfile.ZipFile(self.handed_in / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data, mode in members:
                member = zipfile.ZipInfo(name)
                member.external_attr = mode << 16
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, data)

    def tar(self, *members):
        with tarfile.open(self.handed_in / "a.tar.gz", "w:gz") as archive:
            for member, data in members:
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))

    def test_links_are_not_followed(self):
        self.zip(("01_bytes.cpp", "/etc/passwd", stat.S_IFLNK | 0o777))
        self.unusable("is a link")
        (self.handed_in / "a.zip").unlink()
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE):
            link = tarfile.TarInfo("01_bytes.cpp")
            link.type, link.linkname = kind, "/etc/passwd"
            self.tar((link, b""))
            self.unusable("is a link")

    def test_names_lead_nowhere(self):
        outside = self.folder / "01_bytes.cpp"
        self.zip(("../01_bytes.cpp", RIGHT, 0o644))
        self.assertEqual(self.read(None)[1].decode(), RIGHT)
        (self.handed_in / "a.zip").unlink()
        self.tar((tarfile.TarInfo(str(outside)), RIGHT.encode()))
        self.assertEqual(self.read(None)[1].decode(), RIGHT)
        self.assertFalse(outside.exists())

    def test_bombs(self):
        self.zip(("01_bytes.cpp", b"/" * (100 << 20), 0o644))
        self.unusable("has more than 1 MiB")
        self.zip(*((f"{i}.txt", b"", 0o644) for i in range(submissions.ENTRIES + 1)))
        self.unusable("more than 2,000 files")
        (self.handed_in / "a.zip").unlink()
        self.tar((tarfile.TarInfo("large.txt"), b"x" * (submissions.UNPACKED + 1)),
                 (tarfile.TarInfo("01_bytes.cpp"), RIGHT.encode()))
        self.unusable("unpacks to more than 64 MiB")
        self.hand_in("a.tar.gz", os.urandom(submissions.ARCHIVE + 1))
        self.unusable("has more than 16 MiB")

    def test_a_password_is_said(self):
        self.zip(("01_bytes.cpp", RIGHT, 0o644))
        data = bytearray((self.handed_in / "a.zip").read_bytes())
        for begin, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            data[data.index(begin) + at] |= 1  # "encrypted"
        (self.handed_in / "a.zip").write_bytes(data)
        self.unusable("cannot be unpacked: .*(password|encrypted)")

    def test_names_of_students(self):
        for name in ("alice.cpp", "bob.tar.gz", "carol.zip", "dave.smith.cpp"):
            self.hand_in(name, "x")
        self.hand_in("erin.jones/a.cpp", "x")
        self.assertEqual([one.student for one in submissions.find(self.handed_in)],
                         ["alice", "bob", "carol", "dave.smith", "erin.jones"])

    def test_an_empty_folder_is_a_mistake(self):
        with self.assertRaisesRegex(exercises.Mistake, "is empty"):
            submissions.find(self.handed_in)
        with self.assertRaisesRegex(exercises.Mistake, "is not a folder"):
            submissions.find(self.folder / "missing")


if __name__ == "__main__":
    unittest.main()
