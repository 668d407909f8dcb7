"""`./exercise start` and `reset`: what an answer begins with, and where it is written."""

import os
import pathlib
import sys

import built
import check
import progress
import skeleton
import terminal
from exercise import PROJECT, Mistake, find


def is_there(exercise, answer):
    if not answer.is_file():
        raise Mistake(f"{terminal.path(answer)} is not there: ./exercise start {exercise.number}")


def begin_with(exercise, file, remembered):
    """What an answer begins with: (the text, and in words where that is from, "" from nowhere)."""
    if file:
        if exercise.kind != "stage" or not exercise.previous:
            raise Mistake(f"exercise {exercise.number} begins with a text of its own: leave --from "
                          "out")
        try:
            text = pathlib.Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Mistake(f"{file} cannot be read: {error}") from None
        try:
            return skeleton.generate(exercise, text), f"begun with {terminal.path(file)}"
        except skeleton.CannotBegin as error:
            raise Mistake(f"{file} cannot be begun with: {error}") from None

    previous = find(exercise.previous) if exercise.kind == "stage" and exercise.previous else None
    own = remembered.answer(previous) if previous else None
    why = ""
    if own and own.is_file():
        why = against(previous, own, remembered)
        if not why:
            try:
                text = skeleton.generate(exercise, own.read_text(encoding="utf-8"))
                return text, f"begun with your own {terminal.path(own)}, which passes its check"
            except (skeleton.CannotBegin, UnicodeDecodeError) as error:
                why = str(error)
    try:
        text = skeleton.generate(exercise)
    except skeleton.CannotBegin as error:
        if not previous:
            raise
        if not why:
            raise Mistake(f"exercise {exercise.number} begins with your answer to {previous.name}: "
                          f"./exercise start {previous.number}, or name a program with --from "
                          "FILE") from None
        raise Mistake(f"exercise {exercise.number} begins with your answer to {previous.name}, and "
                      f"of {terminal.path(own)}: {why}; put that right first, or name a program "
                      "with --from FILE, that one too") from error
    if not previous or not (PROJECT / exercise.begin).exists():
        return text, ""
    if why:
        why = f", and not with your own {terminal.path(own)}: {why} (--from FILE names a program)"
    return text, f"begun with {exercise.begin}{why}"


def against(exercise, answer, remembered):
    """Why an answer is not begun with: as remembered, or by checking it, where something is built.
    "" when it passes."""
    state = remembered.state(exercise)
    if state == progress.PASSED:
        return ""
    if state in (progress.EDITED, progress.STARTED):
        try:
            build = built.load_build(up_to_date=False)
        except Mistake:
            return "it was not checked yet"
        print(f"checking {terminal.path(answer)} ...", file=sys.stderr, flush=True)
        text = progress.fingerprint(answer)
        report = check.check(build, exercise, answer)
        remembered.checked(exercise, report, text)
        if report.passed:
            return ""
    return "it does not pass its check"


def write_new(path, text):
    """Writes a file that must not be there yet."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Mistake(f"{terminal.path(path.parent)} cannot be made: {error.strerror}") from None
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Mistake(f"{terminal.path(path)} is there, and is not overwritten") from None
    except OSError as error:
        path.unlink(missing_ok=True)  # by half
        raise Mistake(f"{terminal.path(path)} cannot be written: {error.strerror}") from None


def say_started(exercise, answer, how):
    print(f"{exercise.number} {exercise.title}: {exercise.goal}\n")
    if how:
        print(terminal.wrapped(f"{terminal.path(answer)} is {how}.") + "\n")
    print(f"  read    {terminal.path(exercise.folder / 'README.md')}\n"
          f"  write   {terminal.path(answer)}\n"
          f"  then    ./exercise check {exercise.number} --watch\n\n"
          f"It should take about {terminal.hours(exercise.hours)}, for {exercise.points} points.")


def start(arguments, remembered):
    exercise = find(arguments.exercise)
    answer = remembered.answer(exercise)
    if answer.exists() or answer.is_symlink():
        print(f"{terminal.path(answer)} is there already ({remembered.state(exercise)}); nothing "
              "was changed.\n\n"
              f"  go on         ./exercise check {exercise.number}\n"
              f"  begin again   ./exercise reset {exercise.number}   (keeps the old file)")
        remembered.worked_on(exercise)
        return 0
    text, how = begin_with(exercise, arguments.source, remembered)
    write_new(answer, text)
    remembered.started(exercise)
    say_started(exercise, answer, how)
    return 0


def reset(arguments, remembered):
    exercise = find(arguments.exercise)
    answer = remembered.answer(exercise)
    is_there(exercise, answer)
    if not arguments.yes and not sys.stdin.isatty():
        raise Mistake("reset asks before it begins again, and nobody is here to be asked: "
                      f"./exercise reset {exercise.number} --yes")
    text, how = begin_with(exercise, arguments.source, remembered)
    number = 1
    while (old := answer.with_name(f"{answer.name}.old-{number}")).exists():
        number += 1
    if not arguments.yes:
        question = (f"Begin {terminal.path(answer)} again? What is in it is kept as {old.name}. "
                    "[y/N] ")
        if input(question).strip().lower() not in ("y", "yes"):
            print("Nothing was changed.")
            return 1
    os.rename(answer, old)
    try:
        write_new(answer, text)
    except Mistake:
        if not answer.exists():
            os.rename(old, answer)
        raise
    remembered.started(exercise)
    print(f"What was there is kept: {terminal.path(old)}\n")
    say_started(exercise, answer, how)
    return 0
