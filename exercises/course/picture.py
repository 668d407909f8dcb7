"""Pictures of what an answer does: `./exercise picture 06`.

In an exercise.json:

    "picture": {
      "program": "ddp",                 functions: which program of the project is run and shown;
                                        stage: left out, the answer itself is
      "options": ["--ranks", "3"],      of that program (a trace is always written)
      "view": "memory", "at": "2:3",    any long option of the visualizer, without its dashes; true
      "ring": true,                     for one that takes no value
      "look": "what to look for in it"  one or two sentences, printed below
    }
"""

import dataclasses
import os
import pathlib
import re
import shutil
import tempfile

import compiling
import contained
import stage
import terminal
from exercise import PROJECT, Mistake, all_exercises

LIMITS = contained.Limits(seconds=60, memory=8 << 30)
DEFAULTS = {"--iterations": "3", "--timeout": "10"}  # options of the program, unless they are given
OURS = ("program", "options", "look")


def folder_of(exercise):
    return PROJECT / "out" / "exercises" / exercise.name


def source_of(exercise, answer, answers):
    """The program that is run: the answer itself, or the one that the exercise names. `answers`:
    the folder with the student's, where the project's own programs are not there."""
    if exercise.kind == "stage":
        return answer
    program = f"stages/{exercise.picture.get('program', 'ddp')}.cpp"
    if (PROJECT / program).exists():
        return PROJECT / program
    for other in all_exercises():
        own = pathlib.Path(answers) / f"{other.name}.cpp"
        if other.kind == "stage" and other.answer == program:
            if own.exists():
                return own
            raise Mistake(f"the picture shows a run of {pathlib.Path(program).stem}, which you "
                          f"write in exercise {other.number}: draw it then")
    raise Mistake(f"the picture shows a run of {program}, which is not there")


def draw(build, exercise, source, out):
    """Runs the program in the file `source` and draws its trace. Prints what there is to see; the
    exit status."""
    out = pathlib.Path(out)
    trace = out / "trace"
    shutil.rmtree(trace, ignore_errors=True)
    for old in out.glob("*.png"):
        old.unlink()
    out.mkdir(parents=True, exist_ok=True)
    ended = _run(build, exercise, source, trace)
    if ended is None:
        return 1
    failed = ended.timed_out or ended.status != 0
    if failed:
        print("It does not run to its end:\n")
        text = stage.failure(ended).text
        print("\n".join(terminal.wrapped(line, "  ") for line in text.splitlines()) + "\n")
    if not any(trace.glob("*.jsonl")):
        print("It wrote no trace, so there is nothing to draw.")
        return 1
    pictures = _pictures(build, exercise, trace, out, _moment_of(ended) if failed else "")
    until = ", up to where it failed" if failed else ""
    if exercise.kind != "stage":
        print(f"A run of {terminal.path(source)}{until}:")
    for picture in pictures:
        print(f"  picture  {terminal.path(picture)}")
    print(f"  trace    {terminal.path(trace)}{until if exercise.kind == 'stage' else ''}")
    if exercise.picture.get("look") and not failed:
        look = exercise.picture["look"]
        print("\n" + terminal.wrapped(f"What to look for: {look[0].upper()}{look[1:]}"))
    if build.visualizer:
        print("\nTo watch it, event by event:\n"
              f"  {terminal.path(build.visualizer)} {terminal.path(trace)}")
    else:
        print("\nThe visualizer, which draws it, is not built. It needs Dear ImGui and libpng; on "
              "Debian\nand Ubuntu: apt-get install libimgui-dev libpng-dev libglfw3-dev libgl-dev\n"
              f"Then: cmake {terminal.path(build.folder)}, and repeat this command.")
    return 1 if failed else 0


def _run(build, exercise, source, trace):
    """How the program ended; None when it does not compile, which is said."""
    options = [str(option) for option in exercise.picture.get("options", [])]
    for option, value in DEFAULTS.items():
        if not any(word.split("=")[0] == option for word in options):
            options += [option, value]
    with tempfile.TemporaryDirectory(prefix="exercise-") as made:
        copy = pathlib.Path(made) / f"{exercise.name}.cpp"
        shutil.copyfile(source, copy)
        said_against = compiling.compile_object(build, copy, made) or compiling.link(
            build, dataclasses.replace(exercise, kind="stage"), made)
        if said_against:
            print(f"{terminal.path(source)} does not compile:\n\n"
                  + compiling.first_errors(said_against, copy))
            return None
        program = pathlib.Path(made) / pathlib.Path(source).stem  # as pictures call it
        os.rename(pathlib.Path(made) / "answer", program)
        command = [program, "--quiet", "--trace", trace, *options]
        return contained.run(command, made, LIMITS)


def _moment_of(ended):
    """Where a run failed, as the visualizer names moments: the beginning of that step, since what
    the rank held is gone at its end."""
    place = re.search(r'iteration (\d+), step "(\d+)\.[^"\n]*"(?:, unit ([^:\n]+))?', ended.err)
    if not place:
        return "end"
    unit = f":{place[3]}" if place[3] else ""
    return f"{place[1]}:{place[2]}{unit}@0%"


def _pictures(build, exercise, trace, out, failed):
    """Draws what the exercise asks for, and memory over time; returns the files. `failed`: the
    moment at which the run failed, which then is what is shown."""
    if not build.visualizer or not pathlib.Path(build.visualizer).exists():
        return []
    asked = {name: value for name, value in exercise.picture.items() if name not in OURS}
    asked.setdefault("view", "stages")
    memory = {"view": "memory"}
    views = [asked] + ([memory] if asked["view"] != "memory" else [])
    drawn = []
    for view in views:
        file = out / f"{view['view']}.png"
        moments = [failed, "end"] if failed else [view.get("at")]
        for moment in moments:
            ended = _export(build, trace, file, {**view, "at": moment} if moment else view)
            if ended.status == 0:
                break
        if ended.status == 0 and file.exists():
            drawn.append(file)
        else:
            print(f"The visualizer could not draw {file.name}:\n"
                  f"  {ended.err.strip() or ended.how()}\n")
    return drawn


def _export(build, trace, file, view):
    words = []
    for name, value in {"size": "1600x900", **view}.items():
        words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return contained.run([build.visualizer, trace, "--export", file, *words], file.parent, LIMITS)
