"""`./exercise check --watch`: checks an answer again whenever it is saved."""

import os
import sys
import time

import terminal

PAUSE = 0.2  # seconds between two looks at the file


def state_of(path):
    """Changes whenever a file is saved, by whatever way an editor does it: written in place, or
    another file put in its place. None while there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def clear():
    """Empties the screen, where it is one."""
    if sys.stdout.isatty():
        print("\033[2J\033[3J\033[H", end="")


def watch(path, check):
    """Calls check() at once and after each save, until Ctrl-C. The state of the file is taken
    before: what is saved while a check runs is checked afterwards."""
    seen = "nothing yet"
    try:
        while True:
            now = state_of(path)
            if now == seen:
                time.sleep(PAUSE)
                continue
            if now is None:
                print(f"{terminal.path(path)} is not there; waiting for it ...", flush=True)
            else:
                if sys.stdout.isatty():
                    print(terminal.coloured("checking ...", "dim"), flush=True)
                check()
                print(terminal.coloured(f"\n{time.strftime('%H:%M:%S')}  watching "
                                        f"{terminal.path(path)}; Ctrl-C ends", "dim"), flush=True)
            seen = now
    except KeyboardInterrupt:
        print()
        return 0
