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
import tempfile
import threading

import check
import contained
import namespaces
import users
from exercise import FOLDER, PROJECT, Mistake

PROCESSES = 128  # that a user may have, threads included

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
            self._holder = namespaces.hold(self._seen, self._hidden, self.work)
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
                self._numbers[worker] = users.take_number()
            return users.FIRST_USER + self._numbers[worker][0] * users.USERS_PER_WORKER

    def place(self):
        """A new folder for what an answer is made from and writes."""
        path = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        path.chmod(0o711)
        return path

    def remove(self, place):
        shutil.rmtree(place, ignore_errors=True)

    def close(self):
        if self._holder:
            namespaces.end(self._holder)
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
            assert len(self._users) < users.USERS_PER_WORKER
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
            users.end_all_of(user)


def _privileges():
    """No program with the set-user-id bit may bring privileges back."""
    return ["setpriv", "--no-new-privs"] if shutil.which("setpriv") else []


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
        limits = dataclasses.replace(limits, processes=PROCESSES + users.threads_of(os.getuid()))
        ended = contained.run([*words, *pinned, *command], folder, limits)
        if ended.status > 128 and not ended.timed_out:
            try:
                return dataclasses.replace(ended, status=-signal.Signals(ended.status - 128))
            except ValueError:
                pass
        return ended
