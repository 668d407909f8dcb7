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
import pathlib
import shutil
import tempfile

import compiling
import contained
import terminal
from exercise import PROJECT, Mistake, all_exercises

LIMITS = contained.Limits(seconds=60, memory=8 << 30)
DEFAULTS = {"--iterations": "3"}  # options of the program, unless they are given
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
        lines = [line for line in ended.err.splitlines() if line.strip()]
        print("\n".join(f"  {line}" for line in lines[:8]) or f"  {ended.how()}")
        if ended.timed_out:
            print(f"  {ended.how()}")
        print()
    if not any(trace.glob("*.jsonl")):
        print("It wrote no trace, so there is nothing to draw.")
        return 1
    pictures = _pictures(build, exercise, trace, out)
    until = ", up to where it failed" if failed else ""
    if exercise.kind != "stage":
        print(f"A run of {terminal.path(source)}{until}:")
    for picture in pictures:
        print(f"  picture  {terminal.path(picture)}")
    print(f"  trace    {terminal.path(trace)}{until if exercise.kind == 'stage' else ''}")
    if exercise.picture.get("look") and not failed:
        print("\n" + terminal.wrapped(f"Look for: {exercise.picture['look']}"))
    if build.visualizer:
        print("\nTo watch it, event by event:\n"
              f"  {terminal.path(build.visualizer)} {terminal.path(trace)}")
    else:
        print("\nThe visualizer, which draws it, is not built: install Dear ImGui and libpng (on "
              "Debian and\nUbuntu: apt-get install libimgui-dev libpng-dev libglfw3-dev "
              "libgl-dev), remove\nbuild/CMakeCache.txt, and repeat this command.")
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
        command = [pathlib.Path(made) / "answer", "--quiet", "--trace", trace, *options]
        return contained.run(command, made, LIMITS)


def _pictures(build, exercise, trace, out):
    """Draws what the exercise asks for, and memory over time; returns the files."""
    if not build.visualizer or not pathlib.Path(build.visualizer).exists():
        return []
    asked = {name: value for name, value in exercise.picture.items() if name not in OURS}
    asked.setdefault("view", "stages")
    memory = {"view": "memory"}
    views = [asked] + ([memory] if asked["view"] != "memory" else [])
    drawn = []
    for view in views:
        file = out / f"{view['view']}.png"
        options = {"size": "1600x900", **view}
        words = []
        for name, value in options.items():
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        ended = contained.run([build.visualizer, trace, "--export", file, *words], out, LIMITS)
        if ended.status == 0 and file.exists():
            drawn.append(file)
        elif view is asked:
            print(f"The visualizer could not draw it:\n  {ended.err.strip() or ended.how()}\n")
    return drawn
