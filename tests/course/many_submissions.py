"""Grades a class of 200: makes submissions of an exercise's right, wrong and hostile answers, hands
them in as files, folders and archives, grades them, and looks whether everybody got the points they
should.

  many_submissions.py EXERCISE [--count 200] [--jobs 2] [--out DIR]

Exit status 0: all as they should be. The last line says how long it took.
"""

import argparse
import csv
import io
import os
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
sys.path.insert(0, str(PROJECT / "exercises" / "course"))
sys.path.insert(0, str(HERE))

import exercise as exercises  # noqa: E402
import hostile_answers  # noqa: E402
import skeleton  # noqa: E402
import variants  # noqa: E402
import version  # noqa: E402


def kinds(exercise, secret):
    """{kind of answer: [(what it is, text, the rung at which it stops or "")]}."""
    right = [("reference", exercise.answer_path.read_text(), "")]
    right += [(path.stem, variants.read(exercise, path).text, "")
              for path in exercise.variants("solutions")]
    wrong = []
    for path in exercise.variants("mutants"):
        mutant = variants.read(exercise, path)
        wrong.append((path.stem, mutant.text, mutant.rung))
    hostile = []
    if exercise.kind == "stage" or exercise.number == "01":
        for name, text in hostile_answers.fixtures(exercise.kind).items():
            whole = hostile_answers.whole(text, exercise, SECRET=secret, PROJECT=PROJECT,
                                          OUT=secret.parent / "out", PORT=9,
                                          SUBMISSIONS=secret.parent / "submissions")
            hostile.append((name, whole, hostile_answers.header(text, "rung")))
    blank = [("skeleton", skeleton.generate(exercise), exercise.skeleton_fails)]
    return {"right": right, "wrong": wrong, "hostile": hostile, "blank": blank}


def hand_in(folder, student, exercise, text, form):
    name = f"{exercise.name}.cpp"
    data = text.encode()
    if form == "folder":
        (folder / student).mkdir()
        (folder / student / name).write_bytes(data)
    elif form == "zip":
        with zipfile.ZipFile(folder / f"{student}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"answers/{name}", data)
    elif form == "tar":
        with tarfile.open(folder / f"{student}.tar.gz", "w:gz") as archive:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    else:
        (folder / f"{student}.cpp").write_bytes(data)


def make(exercise, count, folder, secret):
    """Hands in `count` answers. {student: (what, rung)}."""
    chosen = random.Random(f"{exercise.name} {count}")
    answers = kinds(exercise, secret)
    weights = {"right": 45, "wrong": 40, "hostile": 10, "blank": 5}
    weights = {kind: weights[kind] for kind, those in answers.items() if those}
    should = {}
    for i in range(count):
        kind = chosen.choices(list(weights), list(weights.values()))[0]
        what, text, rung = chosen.choice(answers[kind])
        student = f"student{i:03}"
        text = f"{version.stamp(exercise)}\n// {student}\n{text}"
        hand_in(folder, student, exercise, text, chosen.choice(["file", "folder", "zip", "tar"]))
        should[student] = (f"{kind}: {what}", rung)
    return should


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exercise")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    exercise = exercises.find(arguments.exercise)
    place = arguments.out or pathlib.Path(tempfile.mkdtemp(prefix="many-"))
    folder, secret, out = place / "submissions", place / "secret.txt", place / "out"
    folder.mkdir(parents=True)
    should = make(exercise, arguments.count, folder, secret)
    program = [sys.executable, "-B", str(PROJECT / "exercises" / "course"), "grade"]
    subprocess.run([*program, "--new-secret", secret], check=True)
    began = time.monotonic()
    subprocess.run([*program, folder, "--exercise", exercise.number, "--secret", secret, "--out",
                    out, "--jobs", str(arguments.jobs),
                    *(["--same-user"] if os.geteuid() else [])], check=True)
    took = time.monotonic() - began
    wrong = 0
    with open(out / "grades.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        what, rung = should[row["student"]]
        if row["stops_at"] != rung:
            wrong += 1
            print(f"WRONG: {row['student']} ({what}) stops at {row['stops_at'] or 'nothing'}, not "
                  f"{rung or 'nothing'}: {row['why']}")
    print(f"\n{exercise.number}: {len(rows)} submissions, {wrong} not as they should be, "
          f"{took / 60:.1f} minutes with {arguments.jobs} at a time")
    return 1 if wrong or len(rows) != arguments.count else 0


if __name__ == "__main__":
    sys.exit(main())
