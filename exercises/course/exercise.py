"""The exercises as they lie in their folders: NN_name/exercise.json and the files beside it."""

import dataclasses
import functools
import importlib.util
import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent.parent  # exercises/
PROJECT = FOLDER.parent

# The rungs that every ladder begins with; an exercise.json adds its own.
COMPILES, ENDS = "compiles", "ends"


class Mistake(Exception):
    """Something that the user can put right: one line that says what to do. Exit status 2."""


@dataclasses.dataclass(frozen=True)
class Rung:
    name: str
    points: int
    asks: str  # what it asks, in a few words: "each category holds what the formula says"


@dataclasses.dataclass(frozen=True)
class Exercise:
    """What an exercise.json says (see MAKING.md), and where its files are."""

    folder: pathlib.Path
    title: str
    goal: str          # one sentence
    kind: str          # "functions" or "stage"
    hours: float       # that it should take
    rungs: tuple       # of Rung, in the order of the ladder
    blanks: tuple      # functions: names of functions; stage: "allocations" and numbers of steps
    skeleton_fails: str  # the rung
    hints: tuple       # of strings, from a nudge to nearly the answer
    begin: str = ""    # stage: the program to begin with, "stages/ddp.cpp"
    answer: str = ""   # stage: the program to arrive at; functions: the solution in the folder
    previous: str = ""  # stage: the exercise whose answer is the program to begin with, or ""
    keeps: bool = False  # stage: a blank keeps the lines that were there, to be rewritten
    picture: dict = dataclasses.field(default_factory=dict)  # see picture.py
    seconds: float = 10  # that one run may take
    memory: int = 2 << 30  # bytes of address space that one run may take

    @property
    def name(self):
        """"06_zero1"."""
        return self.folder.name

    @property
    def number(self):
        """"06"."""
        return self.name[:2]

    @property
    def points(self):
        return sum(rung.points for rung in self.rungs)

    def rung(self, name):
        return next(rung for rung in self.rungs if rung.name == name)

    def order(self, name):
        """The place of a rung on the ladder, from 0."""
        return [rung.name for rung in self.rungs].index(name)

    @property
    def answer_path(self):
        """The reference, in the project. It may be missing: a student's package has no answers."""
        return PROJECT / self.answer if self.kind == "stage" else self.folder / "solution.cpp"

    @functools.cached_property
    def module(self):
        """functions: the folder's check.py, with instances() and judge()."""
        return _load(self.folder / "check.py")

    def expected(self, instance):
        """functions: what a right answer returns for `instance`: by oracle.py, or, in a student's
        package, as it was recorded there."""
        oracle = self.folder / "oracle.py"
        if oracle.exists():
            return _load(oracle).expected(instance)
        recorded = self.folder / "expected.json"
        if not recorded.exists():
            raise Mistake(f"exercises/{self.name}: neither oracle.py nor expected.json is there")
        return json.loads(recorded.read_text())[key_of(instance)]

    def variants(self, what):
        """The files in mutants/ or solutions/, sorted: .mutation (edits of the reference) or .cpp.
        The first line says in words what it is."""
        return sorted(path for path in (self.folder / what).glob("*")
                      if path.suffix in (".mutation", ".cpp"))


def key_of(instance):
    """Names an instance in expected.json."""
    return json.dumps(instance, sort_keys=True, separators=(",", ":"))


@functools.lru_cache(maxsize=None)
def _load(path):
    spec = importlib.util.spec_from_file_location(f"exercise_{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(folder):
    path = folder / "exercise.json"
    told = json.loads(path.read_text())
    told["rungs"] = tuple(Rung(**rung) for rung in told["rungs"])
    for field in ("blanks", "hints"):
        told[field] = tuple(told.get(field, ()))
    exercise = Exercise(folder=folder, **told)
    names = [rung.name for rung in exercise.rungs]
    assert names[:2] == [COMPILES, ENDS], f"{path}: the ladder begins with compiles and ends"
    assert len(set(names)) == len(names) and exercise.skeleton_fails in names, path
    return exercise


def all_exercises():
    return [load(path.parent) for path in sorted(FOLDER.glob("[0-9][0-9]_*/exercise.json"))]


def find(name):
    """The exercise that is meant by "06", "6", "zero1" or "06_zero1"."""
    exercises = all_exercises()
    wanted = name.strip().rstrip("/").removesuffix(".cpp").rsplit("/", 1)[-1]
    if re.fullmatch(r"[0-9]+", wanted):
        wanted = wanted.zfill(2)
    for exercise in exercises:
        if wanted in (exercise.name, exercise.number, exercise.name[3:]):
            return exercise
    there = ", ".join(exercise.name for exercise in exercises)
    raise Mistake(f"there is no exercise {name}; there are {there}")
