"""Grades a folder of submissions of one exercise: `alice.cpp`, `alice/06_zero1.cpp`, `alice.zip`.

Each is checked on instances of its own, which follow from the secret and the student's name, as a
user who may read neither. What is done stays done: the same command goes on where it was ended, and
grades what has changed since.

  ./exercise grade --new-secret secret.txt
  sudo ./exercise grade SUBMISSIONS --exercise 06 --secret secret.txt --out grades
  sudo ./exercise grade SUBMISSIONS --exercise 06 --secret secret.txt --out grades --only alice

In DIR: grades.csv, and for each student students/NAME/report.txt, results.json (as Gradescope reads
it) and graded.json. Exit status: 0: all are graded; 1: some could not be, by no fault of their own;
2: the command cannot be used.
"""

import concurrent.futures
import dataclasses
import hashlib
import hmac
import json
import os
import pathlib
import queue
import secrets
import stat
import sys
import time
import traceback

import built
import check
import contained
import exercise as exercises
import ladder
import results
import sandbox
import submissions
import tables
import version
from exercise import COMPILES, FOLDER, Mistake

MOST_JOBS = 16
NEEDED = {"student", "exercise", "handed_in", "version", "status", "why", "key"}  # in a graded.json


def add_arguments(parser):
    parser.add_argument("submissions", nargs="?", metavar="SUBMISSIONS",
                        help="a folder with a file, folder or archive per student")
    parser.add_argument("--exercise", metavar="NN", help="number or name: 06, zero1")
    parser.add_argument("--secret", metavar="FILE", help="what the instances follow from")
    parser.add_argument("--out", metavar="DIR", help="where the grades are written")
    parser.add_argument("--only", action="append", metavar="STUDENT",
                        help="grade this one again, and leave the others as they are")
    parser.add_argument("--again", action="store_true", help="grade those again that are done")
    parser.add_argument("--jobs", type=int, default=0, metavar="N",
                        help="answers at a time (default: one per processor)")
    parser.add_argument("--csv", metavar="FILE",
                        help="write the table there, not to DIR/grades.csv")
    parser.add_argument("--same-user", action="store_true",
                        help="run answers as you; only for answers that you trust")
    parser.add_argument("--new-secret", metavar="FILE", help="make a secret, and do nothing else")


def run(arguments):
    if arguments.new_secret:
        new_secret(arguments.new_secret)
        return 0
    for name in ("submissions", "exercise", "secret", "out"):
        if not getattr(arguments, name):
            what = "SUBMISSIONS" if name == "submissions" else f"--{name}"
            raise Mistake(f"{what} is missing (./exercise grade --help)")
    if arguments.jobs < 0:
        raise Mistake(f"--jobs {arguments.jobs}: 0 (one per processor) or more")
    build = built.load_build(up_to_date=False)
    exercise = exercises.find(arguments.exercise)
    found = submissions.find(arguments.submissions)
    grading = Grading(build, exercise, load_secret(arguments.secret), pathlib.Path(arguments.out))
    chosen = grading.chosen(found, arguments.only, arguments.again)
    hidden = [arguments.secret, arguments.submissions, arguments.out]
    failed = grading.grade(chosen, hidden, arguments.jobs, arguments.same_user)
    table = grading.all_graded()
    target = pathlib.Path(arguments.csv) if arguments.csv else grading.out / "grades.csv"
    results.write(target, tables.csv_text(exercise, table))
    print(tables.table_text(exercise, table), end="")
    print(f"\n{target}, and for each student a folder in {grading.out / 'students'}")
    return 1 if failed else 0


# ---- secrets ----

def new_secret(path):
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror}; a secret is never written over: whoever loses it "
                      "cannot grade again in the same way") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(secrets.token_hex(32) + "\n")
    except OSError:
        os.unlink(path)
        raise
    print(f"{path}: keep it, where students cannot read it; who grades again needs it")


def load_secret(path):
    try:
        with open(path, "rb") as file:
            status, secret = os.fstat(file.fileno()), file.read().strip()
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror} (./exercise grade --new-secret {path})") from None
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise Mistake(f"{path} can be read by others: chmod 600 {path}")
    if len(secret) < 16:
        raise Mistake(f"{path} is too short for a secret: ./exercise grade --new-secret FILE")
    return secret


def seed_for(secret, exercise, student):
    """Of a student's instances: nobody can tell them without the secret, and a regrade has the
    same."""
    text = f"{exercise.name}\0{student}".encode()
    return hmac.new(secret, text, hashlib.sha256).hexdigest()


# ---- one submission ----

def grade_one(build, exercise, secret, submission, runner, place):
    """(Report, notes, what is recorded). `place`: a folder for it. Only what the submission is to
    blame for ends in a Report; anything else is an exception."""
    record = {"student": submission.student, "exercise": exercise.name,
              "handed_in": submission.name, "version": "", "status": "graded"}
    notes = []
    try:
        name, data = submission.read(exercise)
    except submissions.Unusable as why:
        record["status"] = "unusable"
        finding = ladder.Finding(COMPILES, f"there is nothing to grade: {why}")
        return ladder.Report(exercise, [finding]), notes, record
    record["handed_in"] = name if name == submission.name else f"{submission.name}: {name}"
    notes += version_notes(exercise, data, record)
    source = place / "submission.cpp"
    source.write_bytes(data)
    source.chmod(0o600)
    folder = place / "check"
    folder.mkdir()
    report = check.check(build, exercise, source, seed_for(secret, exercise, submission.student),
                         runner, keep=folder)
    report.findings = [dataclasses.replace(finding, case=f"hidden instance: {finding.case}")
                       if finding.case else finding for finding in report.findings]
    return report, notes, record


def version_notes(exercise, data, record):
    told = version.read(data.decode("utf-8", "replace"))
    now = version.of(exercise)
    if not told:
        record["version"] = "none"
        return [f"it has no line \"{version.stamp(exercise)}\": begun without ./exercise start?"]
    record["version"] = told[0]
    notes = []
    if told[1] != exercise.name:
        notes.append(f"it was begun for {told[1]}, and is graded as {exercise.name}")
    if told[0] != now:
        record["version"] += f" (graded with {now})"
        notes.append(f"it was begun with version {told[0]} of the exercise, and is graded with "
                     f"{now}")
    return notes


def record_grade(record, report):
    rungs = {rung.name: rung.points if report.state(rung) == "passed" else 0
             for rung in report.exercise.rungs}
    record.update(score=report.score, points=report.exercise.points,
                  failed_rung=report.failed_rung, rungs=rungs, seconds=round(report.seconds, 2),
                  why=report.first[0].text if report.findings else "")


def report_text(report, notes, record):
    lines = [f"{record['student']}, {record['handed_in']}", ""]
    report.notes = report.notes + notes
    return "\n".join(lines) + "\n" + ladder.text_of(report)


# ---- all of them ----

class Grading:
    """The grades of one exercise in a folder."""

    def __init__(self, build, exercise, secret, out):
        self.build, self.exercise, self.secret, self.out = build, exercise, secret, out.absolute()
        self.students = self.out / "students"
        try:
            if not self.out.exists():
                self.out.mkdir(parents=True, mode=0o700)
            self.students.mkdir(exist_ok=True, mode=0o700)
        except OSError as error:
            raise Mistake(f"{self.out}: {error.strerror}") from None
        self._checked_by = fingerprint_of_check(build, exercise)
        others = {one["exercise"] for one in self.all_graded()} - {exercise.name}
        if others:
            raise Mistake(f"{self.out} has the grades of {', '.join(sorted(others))}: name another "
                          "folder with --out")

    def all_graded(self):
        """Everybody's record, by name."""
        told = (_told(path) for path in sorted(self.students.glob("*/graded.json")))
        return [record for record in told if record]

    def chosen(self, found, only, again):
        """Who is to be graded now."""
        if only:
            names = {one.student: one for one in found}
            missing = [name for name in only if name not in names]
            if missing:
                raise Mistake(f"there is no submission of {', '.join(missing)}; there are "
                              f"{len(found)}, {', '.join(list(names)[:5])} ...")
            return [names[name] for name in dict.fromkeys(only)]
        todo = [one for one in found if again or self._key(one) != self._done(one)]
        if len(todo) < len(found):
            say(f"{len(found) - len(todo)} of {len(found)} are graded already (--again grades them "
                "once more)")
        return todo

    def _key(self, submission):
        """The same for the same submission, secret and check."""
        try:
            name, data = submission.read(self.exercise)
        except submissions.Unusable as why:
            name, data = str(why), b""
        key = hmac.new(self.secret, self._checked_by.encode() + name.encode("utf-8", "replace")
                       + b"\0" + data, hashlib.sha256)
        return key.hexdigest()

    def _done(self, submission):
        told = _told(self.students / submission.student / "graded.json")
        return told["key"] if told and told["status"] != "not graded" else ""

    def grade(self, chosen, hidden, jobs, same_user):
        """Grades them, and returns how many could not be graded."""
        if not chosen:
            return 0
        processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        jobs = min(jobs or len(processors) or os.cpu_count() or 1, len(chosen), MOST_JOBS)
        own = [",".join(map(str, processors[worker::jobs])) for worker in range(jobs)]
        with sandbox.Sandbox(self.build, self.exercise, hidden, same_user,
                             own if jobs > 1 and all(own) else ()) as box:
            say(f"{len(chosen)} to grade, {jobs} at a time; answers run as {box.describe()}")
            return self._grade_in(box, chosen, jobs)

    def _grade_in(self, box, chosen, jobs):
        workers = queue.SimpleQueue()
        for worker in range(jobs):
            workers.put(worker)

        def one(submission):
            worker = workers.get()
            try:
                return self._grade_and_write(box, worker, submission)
            finally:
                workers.put(worker)

        began, failed = time.monotonic(), 0
        pool = concurrent.futures.ThreadPoolExecutor(jobs)
        try:
            waiting = [pool.submit(one, submission) for submission in chosen]
            for done, future in enumerate(concurrent.futures.as_completed(waiting), 1):
                record = future.result()
                failed += record["status"] == "not graded"
                left = (time.monotonic() - began) / done * (len(chosen) - done)
                say(f"[{done:>{len(str(len(chosen)))}}/{len(chosen)}] {tables.line_of(record)}"
                    + (f"   (about {tables.duration(left)} left)"
                       if left > 20 and done > 2 else ""))
        except BaseException:
            contained.stop()
            for future in waiting:
                future.cancel()
            say("ended; what is graded stays: the same command goes on")
            raise
        finally:
            pool.shutdown()
        return failed

    def _grade_and_write(self, box, worker, submission):
        folder = self.students / submission.student
        try:
            place = box.place()
            try:
                report, notes, record = grade_one(self.build, self.exercise, self.secret,
                                                  submission, box.runner(worker), place)
            finally:
                box.remove(place)
            record["key"] = self._key(submission)
            record_grade(record, report)
            extra = {name: record[name]
                     for name in ("exercise", "version", "status", "failed_rung")}
            results.write_json(folder / "results.json", results.gradescope(report, notes, extra))
            results.write(folder / "report.txt", report_text(report, notes, record))
            results.write_json(folder / "graded.json", record)  # the last: now it is done
        except Exception as error:  # ours, not the student's: it must never become a 0
            why = traceback.format_exc()
            record = {"student": submission.student, "exercise": self.exercise.name,
                      "handed_in": submission.name, "version": "", "status": "not graded",
                      "why": f"{type(error).__name__}: {error}", "key": ""}
            self._write_failure(folder, submission, record, why)
        return record

    def _write_failure(self, folder, submission, record, why):
        try:
            (folder / "results.json").unlink(missing_ok=True)
            results.write(folder / "report.txt", f"{submission.student}, {submission.name}\n\nnot "
                          f"graded: the grader failed\n\n{why}")
            results.write_json(folder / "graded.json", record)
        except OSError as error:  # a full disk; the others are graded all the same
            say(f"{submission.student}: cannot write to {folder}: {error}")


def _told(path):
    """What a graded.json says, or None: it is not there, or damaged, and so not done."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return told if isinstance(told, dict) and NEEDED <= told.keys() else None
    except (OSError, ValueError):
        return None


def fingerprint_of_check(build, exercise):
    """Changes when the same answer might get other points."""
    digest = hashlib.sha256()
    paths = [*sorted((FOLDER / "course").glob("*.py")), build.library(exercise), build.judge]
    paths += sorted(path for path in exercise.folder.rglob("*") if path.is_file()
                    and path.parent.name not in ("mutants", "solutions", "__pycache__")
                    and path.suffix != ".md")
    for path in paths:
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def say(text):
    print(text, file=sys.stderr, flush=True)
