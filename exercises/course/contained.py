"""Running a program that may hang, crash, eat memory or print without end."""

import dataclasses
import os
import re
import resource
import selectors
import signal
import subprocess
import threading
import time

OUTPUT = 64 << 10   # bytes of each stream that are kept; the rest is read and forgotten
FILES = 256 << 20   # bytes: the largest file that may be written


@dataclasses.dataclass(frozen=True)
class Limits:
    seconds: float = 10     # of the clock
    memory: int = 2 << 30   # bytes of address space of each process
    processes: int = 0      # of the user; 0: not limited. Only sensible for a user of its own


# What a container of the standard library says when an index is beyond its end.
_ASSERTED = re.compile(r"/(?:stl_)?(\w+)(?:\.h)?:\d+: .*: Assertion '(?:__)?(.*)' failed")
_LOOK = {signal.SIGSEGV: "memory that is not yours: an index, or a span, that goes too far",
         signal.SIGABRT: "indices beyond the end of a container, and exceptions that nobody catches",
         signal.SIGFPE: "divisions of integers: one is by 0"}


@dataclasses.dataclass
class Ended:
    status: int       # exit status; negative: the signal that ended it
    timed_out: bool
    out: str
    err: str
    seconds: float

    def look(self):
        """What to look at when it crashed; "" when it did not."""
        return _LOOK.get(-self.status, "")

    def how(self):
        """How it ended, when not as it should: one line."""
        if self.timed_out:
            return f"it did not end within {self.seconds:.0f} seconds"
        if self.status < 0:
            try:
                name = signal.Signals(-self.status).name
            except ValueError:
                name = f"signal {-self.status}"
            asserted = _ASSERTED.search(self.err)
            why = f": in std::{asserted[1]}, {asserted[2]} does not hold" if asserted else ""
            return f"it crashed ({name}{why})"
        return f"it ended with status {self.status}"


_stopped = threading.Event()


def stop():
    """Ends what runs, in every thread, with a KeyboardInterrupt there; nothing starts any more. For
    whoever is interrupted."""
    _stopped.set()


def run(command, folder, limits, user=None, group=None):
    """Runs `command` in `folder` with an environment that holds nothing of ours, as the numeric
    user `user` (None: as this one) and group, and kills it and its group of processes when the time
    is over."""

    def restrict():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILES, FILES))
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
        if limits.processes:
            resource.setrlimit(resource.RLIMIT_NPROC, (limits.processes, limits.processes))
        cpu = int(4 * limits.seconds) + 1  # several threads; in case it leaves its group
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))

    as_user = {} if user is None else {
        "user": user, "group": user if group is None else group, "extra_groups": []}
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder),
                   "TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    began = time.monotonic()
    child = subprocess.Popen([str(word) for word in command], cwd=folder, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, start_new_session=True, preexec_fn=restrict,
                             **as_user)
    texts = {child.stdout: bytearray(), child.stderr: bytearray()}
    timed_out = False
    try:
        with selectors.DefaultSelector() as selector:
            for stream in texts:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
            # A grandchild may hold the streams open: the child's own end is waited for, not theirs.
            while selector.get_map() or child.poll() is None:
                if _stopped.is_set():
                    raise KeyboardInterrupt
                left = began + limits.seconds - time.monotonic()
                if left <= 0:
                    timed_out = child.poll() is None
                    break
                ended = child.poll() is not None
                events = selector.select(0 if ended else min(left, 0.05))
                if ended and not events:
                    break
                for key, _ in events:
                    piece = key.fileobj.read(1 << 16)
                    if piece:
                        kept = texts[key.fileobj]
                        kept += piece[:max(0, OUTPUT - len(kept))]
                    elif piece == b"":
                        selector.unregister(key.fileobj)
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)  # what it started, too
        except (ProcessLookupError, PermissionError):
            pass
        child.wait()
        for stream in texts:
            stream.close()
    out, err = (bytes(text).decode("utf-8", "replace") for text in texts.values())
    return Ended(child.returncode, timed_out, out, err, time.monotonic() - began)


def read_data(path, limit):
    """A file that a contained program wrote: bytes, or None when it is not a plain file (a link to
    something that only we may read) or larger than `limit` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not os.path.stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None
