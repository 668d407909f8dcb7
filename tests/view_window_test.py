"""The real window, on a display in memory: it is drawn, follows keys, and ends by them.

Usage: view_window_test.py VISUALIZER STAGE-PROGRAM. Exit status 77: this machine cannot show one.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PATIENCE = 60  # seconds: a busy machine draws slowly


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def until(condition, what):
    """What condition() returns once it is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {PATIENCE} seconds")


class Display:
    """Xvfb, on a number that is free."""

    def __init__(self, folder):
        self.folder = folder  # where its memory is

    def __enter__(self):
        read, write = os.pipe()
        self.server = subprocess.Popen(
            # Without -noreset it begins anew when its last client leaves, and refuses the next one.
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x900x24", "-nolisten", "tcp",
             "-noreset", "-fbdir", str(self.folder)],
            pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as numbers:
            number = numbers.readline().strip()  # empty when it has ended
        if not number:
            skip("Xvfb does not start")
        self.environment = dict(os.environ, DISPLAY=f":{number}", LIBGL_ALWAYS_SOFTWARE="1")
        self.environment.pop("WAYLAND_DISPLAY", None)
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, timeout=PATIENCE)

    def start(self, *command):
        return subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True)

    def window_of(self, program):
        """Its number, once it has this program's title."""
        def find():
            assert program.poll() is None, program.communicate()[1]
            found = self.ask("xdotool", "search", "--pid", str(program.pid)).stdout.split()
            return found[-1].decode() if found else None
        return until(find, "a window")

    def title(self, window):
        return self.ask("xdotool", "getwindowname", window).stdout.decode().strip()

    def picture(self, window):
        """Width, height, and the pixels, four bytes each: out of the memory of the display."""
        shell = self.ask("xdotool", "getwindowgeometry", "--shell", window).stdout.decode()
        place = dict(line.split("=") for line in shell.split())
        x, y, width, height = (int(place[key]) for key in ("X", "Y", "WIDTH", "HEIGHT"))
        screen = (self.folder / "Xvfb_screen0").read_bytes()  # as `xwd` writes it
        header = struct.unpack(">25I", screen[:100])
        begin = header[0] + 12 * header[19]  # after the header and its colours
        assert header[11] == 32, "pixels of another size"
        rows = []
        for row in range(y, min(y + height, header[5])):
            at = begin + row * header[12] + 4 * x
            rows.append(screen[at:at + 4 * width])
        return width, height, b"".join(rows)

    def type(self, window, key):
        def focused():
            self.ask("xdotool", "windowfocus", window)
            return self.ask("xdotool", "getwindowfocus").stdout.decode().strip() == window
        until(focused, "the window's focus")
        self.ask("xdotool", "key", key)


STRIDE = 4 * 7  # bytes: every seventh pixel is looked at


def colours(pixels):
    return len({pixels[i:i + 4] for i in range(0, len(pixels), STRIDE)})


def parts_that_differ(a, b):
    """Of the pixels."""
    assert a
    if len(a) != len(b):
        return 0  # no picture was taken
    differ = sum(a[i:i + 4] != b[i:i + 4] for i in range(0, len(a), STRIDE))
    return STRIDE * differ / len(a)


def at_rest(display, window):
    """The picture once it stays: one that is taken while it is drawn is half the one before."""
    def stays():
        before = display.picture(window)[2]
        time.sleep(0.6)  # longer than the window is idle between two frames
        pixels = display.picture(window)[2]
        return pixels if before and pixels == before else None
    return until(stays, "a picture that stays")


def check_without_display(visualizer, run):
    """One line, that says what to do instead."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    result = subprocess.run([visualizer, run], env=environment, capture_output=True, text=True)
    assert result.returncode == 1, result
    assert result.stdout == "", result
    assert result.stderr.count("\n") == 1 and "--export" in result.stderr, result
    if "without GLFW" in result.stderr:
        skip("the visualizer was built without a window")


def check_keys(display, visualizer, run):
    program = display.start(visualizer, run)
    window = display.window_of(program)
    until(lambda: display.title(window).startswith("zero2"), "the run's title")

    def drawn():
        width, height, pixels = display.picture(window)
        return pixels if (width, height) == (1280, 720) and colours(pixels) > 20 else None
    until(drawn, "a picture of the run")

    def shows_change(key, least):
        """After a key at least this part of the pixels is another."""
        before = at_rest(display, window)
        display.type(window, key)
        until(lambda: parts_that_differ(before, display.picture(window)[2]) > least,
              f"a change with the key {key}")

    shows_change("question", 0.2)  # the help lies over everything
    shows_change("Escape", 0.2)
    shows_change("3", 0.005)
    shows_change("d", 0.5)         # dark
    shows_change("m", 0.02)        # another view
    shows_change("space", 0.0005)  # it plays
    display.type(window, "space")
    display.type(window, "q")
    _, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, (program.returncode, errors)
    assert errors == "", errors


def check_errors(display, visualizer, run, folder):
    """A run that is not there: alone, the program ends; beside another, it is named in a line."""
    missing = str(folder / "missing")
    program = display.start(visualizer, missing)
    _, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 1, program.returncode
    assert errors.count("\n") == 1 and missing in errors, errors

    program = display.start(visualizer, run, missing)
    window = display.window_of(program)
    until(lambda: display.title(window).startswith("zero2"), "the run's title")
    display.type(window, "q")
    _, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, program.returncode
    assert errors.count("\n") == 1 and missing in errors, errors


def check_follow(display, visualizer, run, folder):
    """A run that has not begun, begins, and grows: the window goes along."""
    growing = folder / "growing"
    growing.mkdir()
    program = display.start(visualizer, "--follow", str(growing))
    window = display.window_of(program)
    files = {}
    for path in sorted(pathlib.Path(run).glob("rank*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        files[path.name] = lines
    for name, lines in files.items():
        (growing / name).write_bytes(b"".join(lines[:len(lines) // 3]))
    until(lambda: display.title(window).startswith("zero2"), "the run's title")

    def drawn():
        pixels = display.picture(window)[2]
        return pixels if colours(pixels) > 20 else None
    until(drawn, "a picture of the run")
    before = at_rest(display, window)
    for name, lines in files.items():
        with open(growing / name, "ab") as file:
            file.write(b"".join(lines[len(lines) // 3:]))
    until(lambda: parts_that_differ(before, display.picture(window)[2]) > 0.01, "a later moment")
    display.type(window, "q")
    _, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, (program.returncode, errors)


def main():
    visualizer, stage = sys.argv[1:]
    for tool in ("Xvfb", "xdotool"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run = str(folder / "run")
        subprocess.run([stage, "--ranks", "3", "--iterations", "2", "--layers", "2", "--heads", "2",
                        "--channels", "14", "--context", "7", "--batch", "6", "--quiet",
                        "--trace", run], check=True)
        check_without_display(visualizer, run)
        with Display(folder) as display:
            check_keys(display, visualizer, run)
            check_errors(display, visualizer, run, folder)
            check_follow(display, visualizer, run, folder)


if __name__ == "__main__":
    main()
