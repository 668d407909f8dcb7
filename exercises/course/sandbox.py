"""The grader's way to run answers: as users who own nothing, and who see only what they need.

As root, every run has a numeric user id that nobody else has. Where the kernel allows it, they also
live in namespaces of their own: no network, everything else read-only, and of the project only what
an answer is compiled and linked with. Otherwise bubblewrap does the same for an ordinary user.
"""

import dataclasses
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import check
import contained
from exercise import FOLDER, PROJECT, Mistake

FIRST_USER = 62000     # numeric, and hopefully without a name
USERS_PER_WORKER = 64  # one for compiling and one for each run
WORKERS = 48           # on this machine
PROCESSES = 128        # that a user may have, threads included

WITHOUT = """an answer runs as another user, so grading needs one of these:
  root       sudo ./exercise grade ...
  bwrap      the package bubblewrap, where users may have namespaces
  --same-user, which runs answers as you: they can read and change what you can, the secret, too"""


class Sandbox:
    """For one grading. `exercise`'s header is what an answer sees of the exercises; `hidden` are
    files and folders that it must not read, the secret among them."""

    def __init__(self, build, exercise, hidden, same_user=False, processors=()):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="grading-")).resolve()
        self.work.chmod(0o711)  # names inside cannot be listed
        self._seen = _seen(build, exercise)
        self._hidden = [pathlib.Path(path).resolve() for path in
                        [PROJECT, build.folder, *hidden] if pathlib.Path(path).exists()]
        self._processors = tuple(processors)
        self._holder, self._numbers, self._lock = None, {}, threading.Lock()
        try:
            self.kind = self._choose(same_user)
            if self.kind != "same user":
                self._try_it(build, hidden)
        except BaseException:
            self.close()
            raise

    def _choose(self, same_user):
        if same_user:
            return "same user"
        if os.geteuid() == 0:
            self._holder = _hold_namespaces(self._seen, self._hidden, self.work)
            return "users and namespaces" if self._holder else "users"
        if shutil.which("bwrap"):
            return "bubblewrap"
        raise Mistake(WITHOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def describe(self):
        return {
            "users and namespaces": "another user for each run, in namespaces without network",
            "users": "another user for each run; without namespaces: answers can read the files of "
                     "this machine that everybody may read, and use its network",
            "bubblewrap": "namespaces of their own, by bubblewrap",
            "same user": "the same user: answers can read and change what you can, the secret, too",
        }[self.kind]

    def runner(self, worker):
        """For one answer at a time. `worker`: 0, 1, 2, ..., different for those at work."""
        if self.kind == "same user":
            return check.Runner()
        if self.kind == "bubblewrap":
            return _BubblewrapRunner(self, worker)
        return _UserRunner(self, worker)

    def first_user(self, worker):
        """A worker's users are nobody else's, also not those of another grading on this machine."""
        with self._lock:
            if worker not in self._numbers:
                self._numbers[worker] = _take_number()
            return FIRST_USER + self._numbers[worker][0] * USERS_PER_WORKER

    def place(self):
        """A new folder for what an answer is made from and writes."""
        path = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        path.chmod(0o711)
        return path

    def remove(self, place):
        shutil.rmtree(place, ignore_errors=True)

    def close(self):
        if self._holder:
            _end(self._holder)
        for _, taken in self._numbers.values():
            taken.close()
        shutil.rmtree(self.work, ignore_errors=True)

    def pinned(self, worker):
        """A worker keeps to its own processors: an answer that takes all it can get takes them from
        nobody else."""
        if not self._processors or not shutil.which("taskset"):
            return []
        mine = self._processors[worker % len(self._processors)]
        return ["taskset", "--cpu-list", str(mine)]

    def _try_it(self, build, hidden):
        """Believe nothing: what is hidden must be unreadable, what is needed readable, in there."""
        runner = self.runner(0)
        place = self.place()
        place.chmod(0o755)
        folder = runner.folder(place, "made")
        needed = [*self._seen, build.compiler]
        script = "".join(f"test -r {shlex.quote(str(path))} || echo {shlex.quote(str(path))}\n"
                         for path in needed)
        ended = runner.run(["sh", "-c", script + "echo tried"], folder, contained.Limits())
        lines = ended.out.splitlines()
        if lines[-1:] != ["tried"]:
            why = (ended.err.strip() or ended.how()).splitlines()[0]
            raise Mistake(f"answers cannot be run as another user here: {why}\n{WITHOUT}")
        if len(lines) > 1:
            raise Mistake(f"answers run as another user, who must be able to read {lines[0]}: move "
                          "the project or the build out of folders that are yours alone")
        files = [pathlib.Path(path).resolve() for path in hidden]
        script = "".join(f"head -c 1 {shlex.quote(str(path))} >/dev/null 2>&1 && echo "
                         f"{shlex.quote(str(path))}\n" for path in files if path.is_file())
        ended = runner.run(["sh", "-c", script + "echo tried"], folder, contained.Limits())
        lines = ended.out.splitlines()
        if lines != ["tried"]:
            raise Mistake(f"an answer could read {lines[0] if lines else 'what is hidden'}: "
                          f"chmod 600, and own it")
        shutil.rmtree(place)


def _seen(build, exercise):
    """What an answer needs of the project, and may read."""
    paths = [PROJECT / "common", FOLDER / "api", exercise.folder / "api.h",
             build.libraries / "precompiled", build.library(exercise)]
    return [path.resolve() for path in paths if path.exists()]


# ---- as root ----

class _UserRunner(check.Runner):
    """Each folder belongs to a user of its own, and what runs in it is that user."""

    def __init__(self, sandbox, worker):
        self._sandbox, self._worker = sandbox, worker
        self._first = sandbox.first_user(worker)
        self._users = {}  # folder -> user
        self._lock = threading.Lock()

    def folder(self, parent, name):
        path = super().folder(parent, name)
        with self._lock:
            assert len(self._users) < USERS_PER_WORKER
            user = self._users[path] = self._first + len(self._users)
        # All runs of an answer may read what was made; nobody else, and not each other's folder.
        path.chmod(0o750 if name == "made" else 0o700)
        os.chown(path, user, self._first)
        return path

    def run(self, command, folder, limits):
        user = self._users[folder]
        limits = dataclasses.replace(limits, processes=PROCESSES)
        pinned = self._sandbox.pinned(self._worker)
        holder = self._sandbox._holder
        try:
            if not holder:
                return contained.run([*pinned, *_privileges(), *command], folder, limits,
                                     user=user, group=self._first)
            inside = ["nsenter", "--target", str(holder.pid), "--mount", "--net", "--ipc", "--uts",
                      "env", "-C", str(folder), *pinned, *_privileges(),
                      "--reuid", str(user), "--regid", str(self._first), "--clear-groups"]
            return contained.run([*inside, *command], folder, limits)
        finally:
            end_all_of(user)


def _take_number():
    """A number that no other process of this machine has, and the socket that holds it: a name
    which goes when we go, however that may be."""
    for number in range(WORKERS):
        taken = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if sys.platform == "linux":
                taken.bind(f"\0zero-steps-grading-{number}")
        except OSError:
            taken.close()
            continue
        first = FIRST_USER + number * USERS_PER_WORKER
        left = processes_by_user()  # by a grading that was killed
        for user in range(first, first + USERS_PER_WORKER):
            if user in left:
                end_all_of(user)
        return number, taken
    raise Mistake("too many gradings at once on this machine")


def _privileges():
    """No program with the set-user-id bit may bring privileges back."""
    return ["setpriv", "--no-new-privs"] if shutil.which("setpriv") else []


def _status_of_all():
    """What the kernel says of each process."""
    for entry in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/status", encoding="utf-8", errors="replace") as file:
                    yield int(entry), file.read()
            except OSError:
                pass  # it has ended


def _said(status, name):
    return status.partition(f"\n{name}:")[2].partition("\n")[0].split()


def end_all_of(user):
    """Kills every process of a user: also those that left their group and their parent."""
    for _ in range(200):
        if user not in processes_by_user():
            return
        # As that user, who can signal nobody else: all at once, so that none forks in between.
        subprocess.run(["/bin/sh", "-c", "kill -9 -1"], user=user, group=user, extra_groups=[],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
        time.sleep(0.01)
    raise RuntimeError(f"processes of user {user} do not end")


def processes_by_user():
    """{user: ids}, without those that have ended and only wait for a parent to hear of it."""
    found = {}
    for process, status in _status_of_all():
        # Not who owns its folder: a process can make that root.
        if _said(status, "State")[:1] != ["Z"]:
            for user in set(_said(status, "Uid")):
                found.setdefault(int(user), []).append(process)
    return found


def _threads_of(user):
    return sum(int(_said(status, "Threads")[0]) for _, status in _status_of_all()
               if str(user) in _said(status, "Uid") and _said(status, "Threads"))


def _hold_namespaces(seen, hidden, work):
    """A process that holds namespaces which runs enter; None where the kernel does not allow that.
    It ends when its standard input is closed, so never later than we."""
    if sys.platform != "linux" or not all(map(shutil.which, ("unshare", "nsenter", "setpriv"))):
        return None
    script = _mounts(seen, hidden, work) + "echo ready\nexec cat >/dev/null\n"
    holder = subprocess.Popen(["unshare", "--mount", "--net", "--ipc", "--uts", "sh", "-c", script],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    if holder.stdout.readline() == "ready\n":
        return holder
    _end(holder)
    return None


def _end(holder):
    holder.stdin.close()
    holder.stdout.close()
    holder.wait()


def _mounts(seen, hidden, work):
    """The shell script that lays out what answers see: empty folders over everything hidden, and in
    them again what is seen; all of it read-only but the folder of the work."""
    kept = [path for path in [*seen, work]]
    empty = {pathlib.Path(name) for name in ("/tmp", "/var/tmp", "/dev/shm")
             if os.path.isdir(name)}
    empty |= {path for path in hidden if path.is_dir()}
    # A folder that only root may enter hides what is in it, also where that is needed.
    for path in kept:
        empty |= {parent for parent in path.parents if not parent.stat().st_mode & 0o001}
    files = [path for path in hidden if not path.is_dir()]
    top = [path for path in empty if not any(other in path.parents for other in empty)]
    stash = _stash([*kept, *top, *files])
    quoted = {path: shlex.quote(str(path)) for path in [*kept, *top, *files, stash]}
    lines = ["set -e", "mount --make-rprivate /", f"mount -t tmpfs tmpfs {quoted[stash]}"]
    for i, path in enumerate(kept):
        make = "mkdir" if path.is_dir() else "touch"
        lines += [f"{make} {quoted[stash]}/{i}", f"mount --bind {quoted[path]} {quoted[stash]}/{i}"]
    for path in files:
        if not any(folder in path.parents for folder in top):
            lines.append(f"mount --bind /dev/null {quoted[path]}")
    lines += [f"mount -t tmpfs -o mode=0755 tmpfs {quoted[path]}" for path in top]
    for i, path in enumerate(kept):
        make = "mkdir -p" if path.is_dir() else "touch"
        folder = path if path.is_dir() else path.parent
        lines += [f"mkdir -p {shlex.quote(str(folder))}", f"{make} {quoted[path]}",
                  f"mount --move {quoted[stash]}/{i} {quoted[path]}"]
    lines.append(f"umount {quoted[stash]}")
    # Read-only, but for the work and for /dev, whose files are no files. What cannot be, stays.
    lines.append("while read -r _ place _; do case $place in "
                 f"{quoted[work]}|/dev|/dev/pts|/proc) ;; "
                 "*) mount -o remount,bind,ro \"$place\" 2>/dev/null || : ;; esac; "
                 "done </proc/self/mounts")
    return "\n".join(lines) + "\n"


def _stash(paths):
    """A folder that neither holds any of the paths nor lies in one."""
    for name in ("/mnt", "/media", "/srv", "/opt", "/boot", "/home"):
        folder = pathlib.Path(name)
        if folder.is_dir() and not folder.is_symlink() and not any(
                folder == path or folder in path.parents or path in folder.parents
                for path in paths):
            return folder
    return pathlib.Path("/mnt")


# ---- as an ordinary user ----

class _BubblewrapRunner(check.Runner):
    """Every run is in namespaces of its own, where it sees its folder and what was made. When its
    first process ends, all of them do."""

    def __init__(self, sandbox, worker):
        self._sandbox, self._worker = sandbox, worker

    def run(self, command, folder, limits):
        sandbox = self._sandbox
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop",
                 "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                 "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"]
        for path in sandbox._hidden:
            words += ["--tmpfs", path] if path.is_dir() else ["--ro-bind", "/dev/null", path]
        for path in sandbox._seen:
            words += ["--ro-bind", path, path]
        made = folder.parent / "made"
        words += ["--ro-bind", made, made] if made.exists() else []
        for beside in folder.parent.glob(f"{folder.name}.*"):  # the instance
            words += ["--ro-bind", beside, beside]
        words += ["--bind", folder, folder, "--chdir", folder]
        for path in ("/tmp", "/var/tmp", "/dev"):
            words += ["--remount-ro", path]
        words.append("--")
        pinned = sandbox.pinned(self._worker)
        # They count with everything else that this user runs.
        limits = dataclasses.replace(limits, processes=PROCESSES + _threads_of(os.getuid()))
        ended = contained.run([*words, *pinned, *command], folder, limits)
        if ended.status > 128 and not ended.timed_out:
            try:
                return dataclasses.replace(ended, status=-signal.Signals(ended.status - 128))
            except ValueError:
                pass
        return ended
