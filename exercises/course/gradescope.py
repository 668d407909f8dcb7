"""Makes an autograder for Gradescope: one file to upload, for one exercise.

  ./exercise gradescope 06 --secret secret.txt --out autograder.zip

In it are the project, the secret, and the two programs that Gradescope calls: setup.sh, which
installs and builds, and run_autograder, which grades one submission in a container. Choose Ubuntu
24.04 there: older ones have too old a compiler. Students hand in one file.
"""

import io
import json
import os
import pathlib
import subprocess
import traceback
import zipfile

import built
import exercise as exercises
import grade
import results
import sandbox
import submissions
from exercise import PROJECT, Mistake

SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once: installs what is missing, and builds.
set -euo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
cd "$root/source/zero-steps"
# shellcheck source=/dev/null
source .ci/setup.sh
install_missing g++ cmake ninja-build pkg-config python3 libopenblas-dev libfmt-dev \\
  nlohmann-json3-dev libcli11-dev
check_versions
# Without the instructions of this machine: another one may grade.
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DZERO_NATIVE=OFF -DZERO_TESTS=OFF \\
  -DZERO_VISUALIZER=OFF -DZERO_CUDA=OFF -DZERO_MPI=OFF
cmake --build build --parallel --target course

# Answers run as other users. They may read what they are compiled and linked with, and no more.
chmod -R go-rwx .. .
chmod go+x .. . exercises exercises/[0-9]* build build/exercises
chmod -R go+rX common exercises/api
chmod -f go+r exercises/[0-9]*/api.h build/exercises/lib* || true
[ ! -d build/exercises/precompiled ] || chmod -R go+rX build/exercises/precompiled
"""

RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission; what it prints only instructors see.
root=${AUTOGRADER_ROOT:-/autograder}
project=$root/source/zero-steps
ZERO_BUILD=$project/build exec python3 -B "$project/exercises/course" gradescope --grade "$root"
"""


def add_arguments(parser):
    parser.add_argument("exercise", nargs="?", help="number or name: 06, zero1")
    parser.add_argument("--secret", metavar="FILE",
                        help="what the instances follow from (./exercise grade --new-secret FILE)")
    parser.add_argument("--out", metavar="FILE", default="autograder.zip",
                        help="what is uploaded (default: autograder.zip)")
    parser.add_argument("--visibility", choices=results.VISIBILITIES, default="visible",
                        help="when students see their results (default: visible)")
    parser.add_argument("--grade", metavar="ROOT",
                        help="in such a package: grade what was handed in there, and write "
                             "ROOT/results/results.json")


def run(arguments):
    if arguments.grade:
        return grade_in(pathlib.Path(arguments.grade))
    if not arguments.exercise or not arguments.secret:
        raise Mistake("name an exercise and a secret: ./exercise gradescope 06 --secret FILE")
    exercise = exercises.find(arguments.exercise)
    secret = grade.load_secret(arguments.secret)
    out = pathlib.Path(arguments.out)
    data = package(exercise, secret, arguments.visibility)
    results.write_bytes(out, data, mode=0o600)  # the secret is in it
    print(f"{out}: {len(data) / (1 << 20):.1f} MiB, with the secret in it. On Gradescope: "
          f"Configure Autograder, upload it, Ubuntu 24.04.")
    return 0


# ---- the package ----

def package(exercise, secret, visibility):
    """The archive's bytes; the same for the same project."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        told = {"exercise": exercise.name, "visibility": visibility}
        _add(out, "setup.sh", SETUP, 0o755)
        _add(out, "run_autograder", RUN, 0o755)
        _add(out, "autograder.json", json.dumps(told) + "\n", 0o600)
        _add(out, "secret.txt", secret + b"\n", 0o600)
        for name in project_files():
            path = PROJECT / name
            mode = 0o755 if os.access(path, os.X_OK) else 0o644
            _add(out, f"zero-steps/{name}", path.read_bytes(), mode)
    return archive.getvalue()


def _add(out, name, data, mode):
    member = zipfile.ZipInfo(name, date_time=(2000, 1, 1, 0, 0, 0))
    member.external_attr = (0o100000 | mode) << 16
    member.compress_type = zipfile.ZIP_DEFLATED
    out.writestr(member, data)


def project_files():
    """The files of the project, without what git leaves out."""
    listed = subprocess.run(["git", "-C", str(PROJECT), "ls-files", "-z"], capture_output=True,
                            check=False)
    names = [name for name in listed.stdout.decode().split("\0") if name]
    if listed.returncode != 0 or "CMakeLists.txt" not in names:
        said = (listed.stderr.decode(errors="replace").strip().splitlines() or [""])[0]
        raise Mistake("this needs the project as git has it, a clone" + (f" ({said})" * bool(said)))
    return [name for name in names if (PROJECT / name).is_file()]


# ---- in the package ----

def grade_in(root):
    """Grades what was handed in to Gradescope. An exception leaves no results.json: then Gradescope
    tells the instructor that the autograder failed, and nobody has 0 points."""
    source = root / "source"
    target = root / "results" / "results.json"
    target.unlink(missing_ok=True)
    try:
        told = json.loads((source / "autograder.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Mistake(f"{error.filename} is not there: --grade is for the package itself") from None
    exercise = exercises.find(told["exercise"])
    build = built.load_build(up_to_date=False)
    metadata = root / "submission_metadata.json"
    submission = submissions.Submission(student_of(metadata), (root / "submission",))
    hidden = [source / "secret.txt", root / "submission", root / "results", metadata]
    secret_file = source / "secret.txt"
    for path in (secret_file, metadata):
        path.chmod(0o600)
    try:
        with sandbox.Sandbox(build, exercise, hidden) as box:
            print(f"{submission.student}: answers run as {box.describe()}")
            report, notes, record = grade.grade_one(build, exercise, grade.load_secret(secret_file),
                                                    submission, box.runner(0), box.place())
    except Exception:
        traceback.print_exc()
        print("not graded: the grader failed")
        return 1
    grade.record_grade(record, report)
    extra = {name: record[name] for name in ("exercise", "version", "status", "failed_rung")}
    results.write_json(target, results.gradescope(report, notes, extra, told["visibility"]))
    print(grade.report_text(report, notes, record))
    return 0


def student_of(metadata):
    """Who handed it in: the addresses of a group's members, in order."""
    try:
        users = json.loads(metadata.read_text(encoding="utf-8"))["users"]
        names = sorted(str(user.get("email") or user["id"]).lower() for user in users)
        return "+".join(names) or "unknown"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Mistake(f"{metadata} does not say who handed it in: {error!r}") from None
