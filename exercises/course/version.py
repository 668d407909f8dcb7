"""Versions: which state of an exercise an answer was begun with."""

import hashlib
import re

from exercise import FOLDER, PROJECT

STAMP = re.compile(r"^// zero-steps (\S+) ([0-9]{2}_\w+)\s*$", re.MULTILINE)


def project():
    """"0.1.0": what exercises/VERSION says, where there is one (a package has one), or else the
    project's version in CMakeLists.txt."""
    told = FOLDER / "VERSION"
    if told.exists():
        return told.read_text(encoding="utf-8").split()[0]
    lists = (PROJECT / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.search(r"project\(\w+ VERSION ([0-9.]+)", lists)
    return found[1] if found else "0"


def of(exercise):
    """"0.1.0+3f2a91c": the project's version, and a hash of those files of the exercise that a
    student has too: the same in the project and in a package."""
    files = [exercise.folder / name for name in ("README.md", "api.h", "check.py", "exercise.json")]
    files += sorted(exercise.folder.glob("child*.cpp"))
    digest = hashlib.sha256()
    for path in files:
        if path.exists():
            text = path.read_bytes().replace(b"\r\n", b"\n")
            digest.update(f"{path.name} {len(text)}\n".encode() + text)
    return f"{project()}+{digest.hexdigest()[:7]}"


def stamp(exercise):
    """The first line of a skeleton."""
    return f"// zero-steps {of(exercise)} {exercise.name}"


def read(text):
    """What an answer's stamp says: ("0.1.0+3f2a91c", "06_zero1"), or None without one."""
    found = STAMP.search(text)
    return (found[1], found[2]) if found else None
