"""From an answer, one file, to a program: nothing else is compiled."""

import dataclasses
import json
import pathlib

import contained
from exercise import PROJECT, Mistake


@dataclasses.dataclass(frozen=True)
class Build:
    """What CMake built and how it compiles: build/exercises/course.json."""

    folder: pathlib.Path   # build/
    compiler: str
    flags: tuple           # for one file
    libraries: pathlib.Path  # with libexercise_NN.so and libexercise_stage.so
    judge: pathlib.Path    # the program stage_judge
    visualizer: str        # the program, or ""

    def library(self, exercise):
        name = "stage" if exercise.kind == "stage" else exercise.number
        return self.libraries / f"libexercise_{name}.so"


def load_build(folder=PROJECT / "build"):
    path = pathlib.Path(folder) / "exercises" / "course.json"
    if not path.exists():
        raise Mistake(f"{path} is not there: ./exercise builds it, or "
                      "cmake --build build --target course")
    told = json.loads(path.read_text())
    return Build(folder=pathlib.Path(folder), compiler=told["compiler"],
                 flags=tuple(told["flags"]), libraries=pathlib.Path(told["libraries"]),
                 judge=pathlib.Path(told["judge"]), visualizer=told["visualizer"])


COMPILE = contained.Limits(seconds=60, memory=4 << 30)


def compile_object(build, source, folder, run=contained.run):
    """folder/answer.o, with answer.d beside it: the files it was made from. Returns what the
    compiler said against it, "" when nothing."""
    ended = run([build.compiler, *build.flags, "-MD", "-MF", "answer.d", "-fdiagnostics-color=never",
                 "-c", source, "-o", "answer.o"], folder, COMPILE)
    if ended.status == 0 and not ended.timed_out:
        return ""
    return ended.err or ended.how()


def link(build, exercise, folder, run=contained.run):
    """folder/answer, from answer.o. Returns what the linker said against it."""
    library = build.library(exercise)
    ended = run([build.compiler, "answer.o", "-o", "answer", library,
                 f"-Wl,-rpath,{build.libraries}", "-pthread"], folder, COMPILE)
    return "" if ended.status == 0 and not ended.timed_out else ended.err or ended.how()


def first_errors(said, source, lines=12):
    """What a compiler said, its first error first, and the answer by its name alone."""
    kept = []
    for line in said.splitlines():
        line = line.replace(str(source), pathlib.Path(source).name)
        if kept or ": error: " in line or ": fatal error: " in line or "undefined reference" in line:
            kept.append(line)
    return "\n".join((kept or said.splitlines())[:lines])
