"""From an answer, one file, to a program: nothing else is compiled."""

import dataclasses
import json
import pathlib
import re

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


# file:line:column: error: what it is, as g++ and clang++ write it.
_DIAGNOSTIC = re.compile(r"[^\s:][^:]*:\d+:\d+: (fatal error|error|warning|note): ")


def first_errors(said, source, errors=3, lines=5):
    """What a compiler or a linker said: its first errors, each with the line it is about, and the
    answer by its name alone. Not the notes, which are mostly about other files."""
    blocks, block = [], None
    for line in said.replace(str(source), pathlib.Path(source).name).splitlines():
        diagnostic = _DIAGNOSTIC.match(line)
        if diagnostic:
            block = [line] if diagnostic[1].endswith("error") else None
        elif "undefined reference" in line or "multiple definition" in line:
            block = [re.sub(r"^.*?answer\.o: in function ", "in function ", line)]
        elif block and line.startswith(" ") and len(block) < lines:
            block.append(line)
            continue
        else:
            block = None
        if block:
            blocks.append(block)
    if not blocks:
        return "\n".join(said.splitlines()[:lines])
    kept = [line for block in blocks[:errors] for line in block]
    left = len(blocks) - errors
    if left > 0:
        kept.append(f"and {left} more error{'s' if left > 1 else ''}")
    return "\n".join(kept)
