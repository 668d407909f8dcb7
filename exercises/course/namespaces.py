"""Namespaces that answers run in: without network, and with a view of what they need alone."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys


def hold(seen, hidden, work):
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
    end(holder)
    return None


def end(holder):
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
