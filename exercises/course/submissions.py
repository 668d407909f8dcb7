"""What students handed in: files, folders and archives; of each, the one answer that is in it.

Nothing is unpacked: an archive is read in memory, up to limits, and only the answer is taken.
"""

import bz2
import dataclasses
import gzip
import io
import lzma
import os
import pathlib
import stat
import tarfile
import zipfile
import zlib

from exercise import Mistake

ANSWER = 1 << 20     # bytes of an answer
ARCHIVE = 16 << 20   # bytes of an archive
UNPACKED = 64 << 20  # bytes that are read of what an archive unpacks to
ENTRIES = 2000       # in a folder or an archive

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
# What lies beside submissions without being one.
BESIDE = ("submission_metadata.yml", "submission_metadata.json", "grades.csv", "__MACOSX")


class Unusable(Exception):
    """Why nothing can be graded: for the student, who gets no points for it."""

    def __str__(self):
        return printable(super().__str__())


@dataclasses.dataclass(frozen=True)
class Submission:
    student: str   # the name of the file or folder, without its ending
    paths: tuple   # one; several are a mistake

    @property
    def name(self):
        return printable(", ".join(path.name for path in self.paths))

    def read(self, exercise):
        """The answer: (its name within the submission, its bytes). Raises Unusable."""
        name, data = self._read(exercise)
        return printable(name), data

    def _read(self, exercise):
        if len(self.paths) > 1:
            raise Unusable(f"there are several submissions of {self.student}: {self.name}; hand in "
                           "one")
        path = self.paths[0]
        status = path.lstat()
        if stat.S_ISDIR(status.st_mode):
            found = _in_folder(path)
        elif stat.S_ISLNK(status.st_mode):
            raise Unusable(f"{path.name} is a link: hand in the file itself")
        elif not stat.S_ISREG(status.st_mode):
            raise Unusable(f"{path.name} is not a file")
        elif path.name.lower().endswith(ARCHIVES):
            found = _in_archive(path)
        elif path.suffix.lower() == ".cpp":
            return path.name, _usable(path.name, _read(path, ANSWER))
        else:
            raise Unusable(f"{path.name} is not an answer: hand in {exercise.name}.cpp, or a "
                           f"folder or an archive ({', '.join(ARCHIVES[:3])}) with it")
        name, data = _the_one(found, exercise)
        return name, _usable(name, data)


def printable(text):
    """A name that somebody else chose, for tables and files: no bytes that are not a text, and no
    new lines."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def find(folder):
    """The submissions in a folder, by student."""
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        raise Mistake(f"{folder} is not a folder of submissions")
    students = {}
    for path in sorted(folder.iterdir()):
        if not path.name.startswith(".") and path.name not in BESIDE:
            students.setdefault(printable(_student(path)), []).append(path)
    if not students:
        raise Mistake(f"{folder} is empty: it should have one file, folder or archive per student")
    return [Submission(student, tuple(paths)) for student, paths in sorted(students.items())]


def _student(path):
    if path.is_dir() and not path.is_symlink():
        return path.name
    for ending in (*ARCHIVES, ".cpp"):
        if path.name.lower().endswith(ending) and len(path.name) > len(ending):
            return path.name[:-len(ending)]
    return path.stem


# ---- which one ----

def _the_one(found, exercise):
    """Of {name: bytes or why it cannot be used}: the file of the exercise's name, or the only
    one."""
    found = {name: data for name, data in found.items()
             if not any(part.startswith((".", "__MACOSX")) and part not in (".", "..")
                        for part in name.split("/"))}
    named = [name for name in found if name.rsplit("/", 1)[-1] == f"{exercise.name}.cpp"]
    chosen = named or list(found)
    if not chosen:
        raise Unusable(f"there is no .cpp file in it: {exercise.name}.cpp is missing")
    if len(chosen) > 1:
        names = ", ".join(sorted(chosen)[:4])
        raise Unusable(f"there are {len(chosen)} .cpp files in it: {names}; hand in one, "
                       f"{exercise.name}.cpp")
    data = found[chosen[0]]
    if isinstance(data, Unusable):
        raise data
    return chosen[0], data


def _usable(name, data):
    if not data.strip():
        raise Unusable(f"{name} is empty")
    if b"\0" in data:
        raise Unusable(f"{name} is not a text")
    return data


# ---- reading ----

def _read(path, limit):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Unusable(f"{path.name} cannot be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unusable(f"{path.name} is not a file")
        return _limited(path.name, file.read(limit + 1), limit)


def _limited(name, data, limit):
    if len(data) > limit:
        raise Unusable(f"{name} has more than {limit >> 20} MiB")
    return data


def _in_folder(folder):
    found, seen = {}, 0

    def refuse(error):
        raise Unusable(f"{pathlib.Path(error.filename).name} cannot be read: {error.strerror}")

    for place, _, names in os.walk(folder, onerror=refuse):
        for name in sorted(names):
            seen += 1
            if seen > ENTRIES:
                raise Unusable(f"there are more than {ENTRIES:,} files in it")
            path = pathlib.Path(place) / name
            if path.suffix.lower() != ".cpp":
                continue
            inside = path.relative_to(folder).as_posix()
            if path.is_symlink():
                found[inside] = Unusable(f"{inside} is a link: hand in the file itself")
                continue
            try:
                found[inside] = _read(path, ANSWER)
            except Unusable as why:
                found[inside] = why
    return found


def _in_archive(path):
    data = _read(path, ARCHIVE)
    try:
        if path.name.lower().endswith(".zip"):
            return _in_zip(data)
        return _in_tar(data)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError,
            NotImplementedError, RuntimeError, ValueError) as error:
        raise Unusable(f"{path.name} cannot be unpacked: {error}") from None


def _in_zip(data):
    found = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > ENTRIES:
            raise Unusable(f"there are more than {ENTRIES:,} files in it")
        for member in members:
            if member.is_dir() or not member.filename.lower().endswith(".cpp"):
                continue
            name = member.filename.replace("\\", "/")
            if stat.S_ISLNK(member.external_attr >> 16):
                found[name] = Unusable(f"{name} is a link: hand in the file itself")
                continue
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise Unusable(f"{name} is compressed in an unusual way")
            with archive.open(member) as file:
                found[name] = _or_why(name, file)
    return found


def _in_tar(data):
    found = {}
    with tarfile.open(fileobj=io.BytesIO(_unpacked(data)), mode="r:") as archive:
        for seen, member in enumerate(archive):
            if seen > ENTRIES:
                raise Unusable(f"there are more than {ENTRIES:,} files in it")
            if not member.name.lower().endswith(".cpp") or member.isdir():
                continue
            if not member.isreg():
                found[member.name] = Unusable(f"{member.name} is a link: hand in the file itself")
                continue
            found[member.name] = _or_why(member.name, archive.extractfile(member))
    return found


def _unpacked(data):
    """The tar itself; whole in memory, so that no header of it can ask for more than there is."""
    if data.startswith(b"\x1f\x8b"):
        tar = gzip.GzipFile(fileobj=io.BytesIO(data)).read(UNPACKED + 1)
    elif data.startswith(b"BZh"):
        tar = bz2.BZ2Decompressor().decompress(data, UNPACKED + 1)
    elif data.startswith(b"\xfd7zXZ"):
        tar = lzma.LZMADecompressor(memlimit=UNPACKED).decompress(data, UNPACKED + 1)
    else:
        tar = data
    if len(tar) > UNPACKED:
        raise Unusable(f"it unpacks to more than {UNPACKED >> 20} MiB")
    return tar


def _or_why(name, file):
    data = file.read(ANSWER + 1)
    return data if len(data) <= ANSWER else Unusable(f"{name} has more than {ANSWER >> 20} MiB")
