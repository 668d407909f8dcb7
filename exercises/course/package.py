"""Makes what students are given: the course without its answers, which builds and checks by itself.

  ./exercise package zero-steps-course.tar.gz
  ./exercise package OUT --answers-through 05

OUT is a folder that is not there yet, or an archive by its name (.zip, .tar.gz). The answers of
exercises up to --answers-through are in it, those of later ones are not.
"""

import io
import json
import pathlib
import tarfile
import zipfile

import check
import gradescope
import results
import skeleton
import version
from exercise import PROJECT, Mistake, all_exercises, find, key_of

# What a package is made of; everything else stays at home. Folders end in "/".
GIVEN = ("common/", "cmake/", "visualizer/", "tests/support/", "stages/CMakeLists.txt",
         "stages/data/", "stages/pictures/", "exercises/", ".ci/setup.sh", "CMakeLists.txt",
         "CMakePresets.json", "LICENSE", ".clang-format", "exercise")

# What of exercises/ stays at home.
ANSWERS = ("solution.cpp", "oracle.py")
FOLDERS_OF_ANSWERS = ("mutants", "solutions")
INSTRUCTORS = ("exercises/MAKING.md", "exercises/INSTRUCTOR.md",
               *(f"exercises/course/{name}.py" for name in
                 ("grade", "gradescope", "namespaces", "package", "results", "sandbox",
                  "submissions", "tables", "users")))

IGNORED = "/build/\n/out/\n/answers/\n__pycache__/\n"

README = """\
# ZeRO Steps: the course

Data parallelism that shards what it keeps: from counting bytes to ZeRO-3, one exercise after the
other. In each you write one file, and a check tells you how far it comes and what to look at.

    ./exercise list            what there is
    ./exercise start 01        makes answers/01_bytes.cpp, and names the page to read
    ./exercise check --watch   checks it, now and whenever you save it
    ./exercise hint            when you are stuck

The first `check` installs what is missing (Debian, Ubuntu; elsewhere it says what to install) and
builds, which takes some minutes. Afterwards no network is needed, and a check takes seconds.
More about the course: [exercises/README.md](exercises/README.md).

Hand in `answers/NN_name.cpp`, with its first line: it says with which version you began. This is
version {version}.

What it is all about: N parameters, trained in fp16 with AdamW on K ranks. Each rank keeps, in
bytes, and sends, in elements:

| | parameters | gradients | optimizer states | sent per iteration |
|---|---|---|---|---|
| DDP | 2N | 2N | 12N | 2N (K-1)/K |
| ZeRO-1 | 2N | 2N | 12N/K | 2N (K-1)/K |
| ZeRO-2 | 2N | 2N/K | 12N/K | 2N (K-1)/K |
| ZeRO-3 | 2N/K | 2N/K | 12N/K | 3N (K-1)/K |

`common/` is what your programs are made of: read it, starting with `common/train/rank.h`.
`./exercise picture NN` shows what an answer does, and names the command that plays it back, where
the visualizer could be built.
"""


def add_arguments(parser):
    parser.add_argument("out", metavar="OUT", help="a new folder, or an archive: .zip, .tar.gz")
    parser.add_argument("--answers-through", metavar="NN",
                        help="give the answers of the exercises up to this one, too")


def run(arguments):
    exercises = all_exercises()
    through = find(arguments.answers_through).number if arguments.answers_through else "00"
    files = contents(exercises, through)
    out = pathlib.Path(arguments.out)
    write(out, files)
    print(f"{out}: {len(files)} files, {sum(len(data) for data, _ in files.values()) >> 10:,} KiB, "
          f"version {version.project()}; without the answers of "
          f"{', '.join(exercise.number for exercise in exercises if exercise.number > through)}")
    return 0


def contents(exercises, through="00"):
    """{name: (bytes, whether it can be executed)} of a package with the answers up to exercise
    `through`."""
    kept = {exercise.folder.name for exercise in exercises if exercise.number <= through}
    files = {}
    for name in gradescope.project_files():
        if _is_given(name, kept):
            path = PROJECT / name
            files[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    for exercise in exercises:
        if exercise.kind == "stage" and exercise.number <= through:
            files[exercise.answer] = (exercise.answer_path.read_bytes(), False)
        for name, text in _made_for(exercise, through).items():
            files[f"exercises/{exercise.name}/{name}"] = (text.encode(), False)
    files["exercises/VERSION"] = (f"{version.project()}\n".encode(), False)
    files["README.md"] = (README.format(version=version.project()).encode(), False)
    files[".gitignore"] = (IGNORED.encode(), False)
    _refuse_leaks(exercises, through, files)
    return files


def _is_given(name, kept):
    if not any(name == given or given.endswith("/") and name.startswith(given) for given in GIVEN):
        return False
    if name in INSTRUCTORS:
        return False
    parts = name.split("/")
    if parts[0] == "exercises" and len(parts) > 2:
        if parts[2] in FOLDERS_OF_ANSWERS or parts[2] == "oracle.py":
            return False
        return parts[2] not in ANSWERS or parts[1] in kept
    return True


def _made_for(exercise, through):
    """What an exercise's folder has in place of the answer, and of what expects it."""
    made = skeleton.shipped(exercise)
    if exercise.kind == "functions":
        cases = check.instances(exercise, check.PUBLIC_SEED)
        recorded = {key_of(case): exercise.expected(case) for case in cases}
        made["expected.json"] = json.dumps(recorded, separators=(",", ":")) + "\n"
    return made


def _refuse_leaks(exercises, through, files):
    """No answer leaves by mistake: not a line of one. (The test looks through common/, too.)"""
    for exercise in exercises:
        if exercise.number <= through:
            continue
        for name, (data, _) in files.items():
            if name.startswith(("exercises/", "stages/", "README")) and b"\0" not in data:
                lines = skeleton.leaks(exercise, data.decode("utf-8", "replace"))
                if lines:
                    raise Mistake(f"{name} has lines of the answer of {exercise.name}, for example:"
                                  f" {lines[0]}")


def write(out, files):
    name = out.name.lower()
    if name.endswith((".zip", ".tar.gz", ".tgz")):
        root = out.name[:-len(".zip")] if name.endswith(".zip") else out.name.rsplit(".t", 1)[0]
        data = _zip(root, files) if name.endswith(".zip") else _tar(root, files)
        results.write_bytes(out, data)
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Mistake(f"{out} is there already: name a folder that is not, or remove it")
    for path, (data, executable) in files.items():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(0o755 if executable else 0o644)


def _zip(root, files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for name, (data, executable) in files.items():
            member = zipfile.ZipInfo(f"{root}/{name}", date_time=(2000, 1, 1, 0, 0, 0))
            member.external_attr = (0o100755 if executable else 0o100644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(member, data)
    return archive.getvalue()


def _tar(root, files):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as out:
        for name, (data, executable) in files.items():
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size, member.mode = len(data), 0o755 if executable else 0o644
            member.mtime = 946684800
            out.addfile(member, io.BytesIO(data))
    return archive.getvalue()
