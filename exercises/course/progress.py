"""What a student has done so far: answers/ and what answers/.progress.json remembers."""

import hashlib
import json
import os
import pathlib
import tempfile
import time

from exercise import PROJECT

NOT_STARTED, STARTED, EDITED, PASSED = "not started", "started", "edited", "passed"


def answers_folder():
    """Where answers are: answers/, or what the environment variable ZERO_ANSWERS names."""
    return pathlib.Path(os.environ.get("ZERO_ANSWERS") or PROJECT / "answers").absolute()


def fingerprint(path):
    """Of a file's text; "" when it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


class Progress:
    """Remembers the exercise worked on last, the hints shown, and each answer's last report.

    Written as a whole or not at all. A file that cannot be understood is put aside, and what it
    said is forgotten: no answer depends on it."""

    def __init__(self, folder=None):
        self.folder = pathlib.Path(folder or answers_folder())
        self.path = self.folder / ".progress.json"
        self._told = self._read()

    def _read(self):
        try:
            told = json.loads(self.path.read_text(encoding="utf-8"))
            exercises = told["exercises"]
            if not all(isinstance(one, dict) for one in exercises.values()):
                raise ValueError("an exercise that is not an object")
            return {"last": str(told["last"]), "exercises": exercises}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            try:
                os.replace(self.path, self.path.with_name(".progress.unreadable.json"))
            except OSError:
                pass
        return {"last": "", "exercises": {}}

    def _write(self):
        """Into a file beside it, which then takes its place. What cannot be written (a full disk,
        somebody else's folder) is not remembered, and nothing else is lost by that."""
        temporary = None
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=self.folder, prefix=".progress.")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(self._told, file, indent=1)
            os.replace(temporary, self.path)
        except OSError:
            if temporary and os.path.exists(temporary):
                os.unlink(temporary)

    def _change(self, exercise, **what):
        self._told = self._read()  # another terminal may have written in between
        self._told["exercises"].setdefault(exercise.name, {}).update(what)
        self._told["last"] = exercise.name
        self._write()

    def _about(self, exercise):
        return self._told["exercises"].get(exercise.name, {})

    @property
    def last(self):
        """The name of the exercise that was worked on last, or ""."""
        return self._told["last"]

    def answer(self, exercise):
        """The file that the student edits."""
        return self.folder / f"{exercise.name}.cpp"

    # ---- what is remembered ----

    def started(self, exercise):
        self._change(exercise, begun=fingerprint(self.answer(exercise)), rung=None, score=0,
                     checked="")

    def worked_on(self, exercise):
        self._change(exercise)

    def checked(self, exercise, report, text):
        """`text`: the fingerprint of what was checked, taken before."""
        self._change(exercise, checked=text, rung=report.failed_rung, score=report.score,
                     time=int(time.time()))

    def hints(self, exercise):
        """How many hints have been shown."""
        shown = self._about(exercise).get("hints", 0)
        return min(max(shown, 0), len(exercise.hints)) if isinstance(shown, int) else 0

    def hinted(self, exercise, count):
        self._change(exercise, hints=count)

    # ---- what follows from it ----

    def passed(self, exercise):
        """Whether the answer, as it is now, has passed its check."""
        return self.state(exercise) == PASSED

    def state(self, exercise):
        """"not started", "started" (nothing written yet), "edited" (not checked since), "passed",
        or the rung that did not hold: "fails at traffic"."""
        now = fingerprint(self.answer(exercise))
        about = self._about(exercise)
        if not now:
            return NOT_STARTED
        if now == about.get("checked"):
            rung = about.get("rung")
            return f"fails at {rung}" if rung else PASSED
        return STARTED if now == about.get("begun") else EDITED

    def score(self, exercise):
        """Points of the last check, or None when the answer was changed since, or never checked."""
        about = self._about(exercise)
        now = fingerprint(self.answer(exercise))
        score = about.get("score") if now and now == about.get("checked") else None
        return score if isinstance(score, int) else None
