"""The commands of `./exercise`."""

import argparse
import errno
import importlib
import json
import os
import pathlib
import re
import signal
import sys

import anchors
import begin
import built
import contained
import ladder
import progress
import terminal
import version
from exercise import Mistake, all_exercises, find

DESCRIPTION = """\
The course, from counting bytes to ZeRO-3. Each exercise is one file that you write, a page that
says what to write, and a check that tells you how far it comes.

  ./exercise start 01        makes answers/01_bytes.cpp and names the page to read
  ./exercise check --watch   checks it, now and whenever you save it
  ./exercise hint            when you are stuck
  ./exercise list            how far you are
"""

EPILOG = """\
An exercise is named by its number or its name: 06, 6, zero1, 06_zero1, answers/06_zero1.cpp.
`check`, `hint` and `picture` without one mean the one you worked on last.

Answers are in answers/, which is yours alone (git leaves it out); the environment variable
ZERO_ANSWERS names another folder. NO_COLOR=1 turns colours off.
`./exercise COMMAND --help` explains a command.

Exit status: 0; 1: the answer does not pass yet, or something failed; 2: the command cannot be used.
"""

INSTRUCTORS = {
    "grade": "for instructors: grade a folder of submissions",
    "gradescope": "for instructors: make an autograder for Gradescope",
    "package": "for instructors: make what students are given",
}


def chosen(name, remembered):
    """The exercise that is named, or that was worked on last."""
    if name:
        return find(name)
    if not remembered.last:
        raise Mistake("name an exercise, for example 01 (./exercise list shows them)")
    return find(remembered.last)


# ---- check ----


def notes_on(exercise, answer):
    """What else is to be said of an answer: blanks that are left, another version."""
    try:
        text = answer.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    notes = []
    mask = anchors.masked(text)
    lines = [mask.count("\n", 0, found.start()) + 1 for found in re.finditer(r"\bblank\(", mask)]
    if lines:
        many = "one blank is" if len(lines) == 1 else f"{len(lines)} blanks are"
        notes.append(f"{many} left, in line{'' if len(lines) == 1 else 's'} "
                     f"{', '.join(map(str, lines))}")
    begun = version.read(text)
    if begun and begun[1] != exercise.name:
        notes.append(f"this file was begun for {begun[1]}, and is checked as {exercise.name}")
    elif begun and begun[0] != version.of(exercise):
        notes.append(f"this file was begun with version {begun[0]} of the exercise, which is "
                     f"{version.of(exercise)} now: read {terminal.path(exercise.folder)}/README.md "
                     "again")
    return notes


def what_next(exercise, report, remembered):
    number = exercise.number
    if report.passed:
        following = next_of(remembered, exercise)
        then = f"   next  ./exercise start {following.number}" if following else ""
        return f"  see it  ./exercise picture {number}{then}"
    shown, all_of = remembered.hints(exercise), len(exercise.hints)
    if shown < all_of:
        return f"  stuck?  ./exercise hint {number}   ({shown} of {all_of} hints shown)"
    return f"  read    {terminal.path(exercise.folder / 'README.md')}"


def check(arguments, remembered):
    name, file = arguments.exercise, arguments.file
    exercise = chosen(name, remembered)
    if file is None and name and ("/" in name or name.endswith(".cpp")) and os.path.isfile(name):
        file = name
    own = remembered.answer(exercise)
    answer = pathlib.Path(file).absolute() if file else own
    if arguments.watch and arguments.json:
        raise Mistake("--watch is for people, --json for programs: one of them")
    if file and not answer.is_file():
        raise Mistake(f"{file} is not a file")
    if not file and not arguments.watch:
        begin.is_there(exercise, answer)
    build = built.load_build()
    import check as checks
    import watch

    def once():
        text = progress.fingerprint(answer)
        try:
            report = checks.check(build, exercise, answer)
        except OSError as error:  # it went away, or cannot be read
            if arguments.watch:
                print(f"{terminal.path(answer)}: {error.strerror or error}", flush=True)
                return 1
            if error.errno == errno.ENOSPC:
                raise Mistake("the disk is full: a check needs some MiB where temporary files are "
                              "(TMPDIR)") from None
            raise Mistake(f"{terminal.path(answer)}: {error.strerror or error}") from None
        if arguments.watch:
            watch.clear()  # the last report stays until there is another
        report.notes += notes_on(exercise, answer)
        if answer == own:
            remembered.checked(exercise, report, text)
        if arguments.json:
            print(json.dumps({**report.as_dict(), "seconds": round(report.seconds, 2),
                              "file": str(answer)}, indent=2))
        else:
            print(terminal.ladder(ladder.text_of(report)), end="")
            print(terminal.coloured(f"  checked in {report.seconds:.1f} s", "dim"))
            print(what_next(exercise, report, remembered))
        sys.stdout.flush()
        return 0 if report.passed else 1

    return watch.watch(answer, once) if arguments.watch else once()


# ---- hint, list, picture ----


def hint(arguments, remembered):
    exercise = chosen(arguments.exercise, remembered)
    hints = exercise.hints
    if not hints:
        print(f"Exercise {exercise.number} has no hints; read "
              f"{terminal.path(exercise.folder / 'README.md')}")
        return 0
    shown = remembered.hints(exercise)
    if arguments.again:
        if not shown:
            print(f"None of the {len(hints)} hints was shown yet: ./exercise hint "
                  f"{exercise.number}")
        show = range(shown)
    elif shown == len(hints):
        print(f"These were all {len(hints)} hints: ./exercise hint {exercise.number} --again shows "
              "them once more.")
        return 0
    else:
        show = [shown]
        remembered.hinted(exercise, shown + 1)
    for i in show:
        title = terminal.coloured(f"hint {i + 1} of {len(hints)}", "bold")
        print(f"{title}\n{terminal.wrapped(hints[i], '  ')}")
    return 0


def next_of(remembered, after=None):
    """The exercise to do next: the first after `after` that has not passed, or the first at all."""
    exercises = all_exercises()
    names = [exercise.name for exercise in exercises]
    place = names.index(after.name) + 1 if after and after.name in names else 0
    for exercise in exercises[place:] + exercises[:place]:
        if not remembered.passed(exercise):
            return exercise
    return None


def list_them(_arguments, remembered):
    exercises = all_exercises()
    titles = max(len(exercise.title) for exercise in exercises)
    states = {exercise.name: remembered.state(exercise) for exercise in exercises}
    width = max(len(state) for state in states.values())
    print(f"    {'exercise':<{titles}}  {'hours':>5}  {'points':>7}  state")
    done = points = 0
    for exercise in exercises:
        state, score = states[exercise.name], remembered.score(exercise)
        done += score or 0
        points += exercise.points
        reached = f"{'-' if score is None else score}/{exercise.points}"
        colour = {"passed": "green", "not started": "dim"}.get(state, "yellow")
        print(f"{exercise.number}  {exercise.title:<{titles}}  {exercise.hours:>5g}  {reached:>7}  "
              f"{terminal.coloured(f'{state:<{width}}', colour)}".rstrip())
        print(terminal.coloured(terminal.wrapped(exercise.goal, "      "), "dim"))
    hours = sum(exercise.hours for exercise in exercises)
    print(f"\n{done} of {points} points; {terminal.hours(hours)} in all")
    last = next((one for one in exercises if one.name == remembered.last), None)
    if last and states[last.name] not in ("passed", "not started"):
        print(f"Next: ./exercise check {last.number}")
        return 0
    following = next_of(remembered, last)
    if not following:
        print("All of them pass.")
    elif states[following.name] == "not started":
        print(f"Next: ./exercise start {following.number}")
    else:
        print(f"Next: ./exercise check {following.number}")
    return 0


def picture(arguments, remembered):
    import picture as pictures
    exercise = chosen(arguments.exercise, remembered)
    answer = pathlib.Path(arguments.file).absolute() if arguments.file else remembered.answer(
        exercise)
    if exercise.kind == "stage":
        if not arguments.file:
            begin.is_there(exercise, answer)
        elif not answer.is_file():
            raise Mistake(f"{arguments.file} is not a file")
    source = pictures.source_of(exercise, answer, remembered.folder)
    out = pathlib.Path(arguments.out).absolute() if arguments.out else pictures.folder_of(exercise)
    return pictures.draw(built.load_build(), exercise, source, out)


# ---- the command line ----


def parser_for(command):
    """`command`: the one that is meant, so that only an instructor's own command is loaded."""
    parser = argparse.ArgumentParser(prog="./exercise", description=DESCRIPTION, epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")

    def add(name, run, summary, description):
        one = commands.add_parser(name, help=summary, description=description,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
        one.set_defaults(run=run)
        return one

    last = "number or name; the one worked on last if left out"
    one = add("start", begin.start, "make the file that you write your answer in", """\
Makes answers/NN_name.cpp, and names the page to read and the command to check with. A file that is
there is never changed.

From exercise 06 on, a program is turned into the next one. Your own answer to the exercise before
is what you begin with if it passes its check; otherwise the project's own program is.

  ./exercise start 01
  ./exercise start 06
  ./exercise start 06 --from answers/04_ddp.cpp     whether it passes or not""")
    one.add_argument("exercise", help="number or name: 06, zero1")
    one.add_argument("--from", dest="source", metavar="FILE", help="begin with this program")

    one = add("check", check, "how far does an answer come?", """\
Compiles the answer, runs it with several numbers of ranks, and compares what it kept, sent and
computed with what is right. That is a ladder: each rung has its points, and the first that does not
hold ends it, with what was expected, what was there, and what to look at.

  ./exercise check 06             answers/06_zero1.cpp
  ./exercise check                the one you worked on last
  ./exercise check 06 --watch     now, and whenever you save it
  ./exercise check 06 FILE        another file
  ./exercise check 06 --json      for programs

Exit status: 0: it passes; 1: it does not; 2: there is nothing to check.""")
    one.add_argument("exercise", nargs="?", help=last)
    one.add_argument("file", nargs="?", metavar="FILE", help="check this file instead")
    one.add_argument("--watch", action="store_true", help="check again after each save")
    one.add_argument("--json", action="store_true", help="print the report as JSON")

    one = add("hint", hint, "one more hint", """\
Shows one more hint each time; the last is nearly the answer. Read the exercise's page first.

  ./exercise hint 06              the next one
  ./exercise hint 06 --again      those that were shown already""")
    one.add_argument("exercise", nargs="?", help=last)
    one.add_argument("--again", action="store_true", help="those that were shown already")

    one = add("picture", picture, "see what an answer does", """\
Runs the answer, writes a picture of what its ranks hold in memory, and a trace that the visualizer
plays back, event by event. An answer that fails is drawn up to where it failed. Exercises of single
functions show a program of the project in which the same thing happens.

  ./exercise picture 06           into out/exercises/06_zero1""")
    one.add_argument("exercise", nargs="?", help=last)
    one.add_argument("file", nargs="?", metavar="FILE", help="draw this file instead")
    one.add_argument("--out", metavar="DIR", help="write it there")

    add("list", list_them, "all exercises, and how far you are", """\
Lists the exercises: how many hours each should take, the points of your last check, whether it
passes, and what to do next. An answer that you have changed since its last check is "edited".""")

    one = add("reset", begin.reset, "begin an answer again; the old one is kept", """\
Begins an answer again, after asking. The old file is kept beside it: 06_zero1.cpp.old-1.

  ./exercise reset 06
  ./exercise reset 06 --yes       without asking""")
    one.add_argument("exercise", help="number or name: 06, zero1")
    one.add_argument("--from", dest="source", metavar="FILE", help="begin with this program")
    one.add_argument("--yes", action="store_true", help="do not ask")

    for name, summary in INSTRUCTORS.items():
        if name == command:
            module = importlib.import_module(name)
            one = commands.add_parser(name, help=summary, description=module.__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
            module.add_arguments(one)
            one.set_defaults(run=lambda arguments, _: module.run(arguments))
        elif _is_there(name):
            commands.add_parser(name, help=summary)
    return parser


def _is_there(command):
    return (pathlib.Path(__file__).parent / f"{command}.py").exists()


def interrupted(_number, _frame):
    contained.stop()
    raise KeyboardInterrupt


def main(words):
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # a terminal that has no ✓
    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)  # the terminal is closed
    try:
        command = words[0] if words and words[0] in INSTRUCTORS else None
        if command and not _is_there(command):
            raise Mistake(f"{command} is for instructors, and not in a student's package")
        parser = parser_for(command)
        arguments = parser.parse_args(words)
        if arguments.command is None:
            parser.print_help()
            return 2
        return arguments.run(arguments, progress.Progress())
    except Mistake as mistake:
        print(f"exercise: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            place = f"{error.filename}: " if error.filename else ""
            print(f"exercise: {place}{error.strerror or error}", file=sys.stderr)
            return 2
        # Whoever read it has read enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
