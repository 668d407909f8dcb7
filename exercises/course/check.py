"""Checks one answer: compiles it, runs it on every instance within limits, and compares."""

import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import struct
import tempfile
import threading
import time

import compiling
import contained
import stage
import symbols
from exercise import COMPILES, ENDS
from ladder import Finding, Report

PUBLIC_SEED = "public"  # of the instances that everybody sees; a grader has its own
RESULT = 16 << 20       # bytes that a result may have
ROOM = 16 << 20         # bytes on the disk, more than a check needs


class Runner:
    """How answers are compiled and run: in folders of their own, as this user. The grader's runs
    them as another (see sandbox.py)."""

    def folder(self, parent, name):
        """A new folder that the contained program may write to."""
        path = pathlib.Path(parent) / name
        path.mkdir()
        return path

    def run(self, command, folder, limits):
        return contained.run(command, folder, limits)


def instances(exercise, seed):
    """What an answer is run on: the same for the same seed, on every machine."""
    chosen = random.Random(f"{exercise.name}/{seed}")
    if exercise.kind == "stage":
        return stage.instances(exercise, chosen)
    return exercise.module.instances(chosen)


def check(build, exercise, source, seed=PUBLIC_SEED, runner=None, keep=None):
    """The Report of the answer in the file `source`. `keep`: a folder for what it was made from and
    wrote, which is otherwise removed."""
    runner = runner or Runner()
    began = time.monotonic()
    folder = pathlib.Path(keep or tempfile.mkdtemp(prefix="exercise-"))
    try:
        os.chmod(folder, 0o755)
        findings, notes = _climb(build, exercise, pathlib.Path(source), seed, runner, folder)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return Report(exercise, findings, time.monotonic() - began, notes)


def _climb(build, exercise, source, seed, runner, folder):
    made = runner.folder(folder, "made")
    copy = made / f"{exercise.name}.cpp"
    shutil.copyfile(source, copy)
    said = compiling.compile_object(build, copy, made, runner.run)
    if said:
        _need_room(folder)
        return [Finding(COMPILES, compiling.first_errors(said, copy))], []
    refused = symbols.refuse(build, exercise, copy, made)
    if refused:
        return [Finding(COMPILES, refused)], []
    said = compiling.link(build, exercise, made, runner.run)
    if said:
        _need_room(folder)
        return [Finding(COMPILES, compiling.first_errors(said, copy),
                        look="every function of the skeleton must still be there")], []

    cases = instances(exercise, seed)
    run_one = stage.run_one if exercise.kind == "stage" else run_functions

    def one(i, again=""):
        place = runner.folder(folder, f"run{i}{again}")
        return run_one(build, exercise, made / "answer", cases[i], place, runner)

    findings = _run_all(one, len(cases))
    if _does_not_end(findings):
        _need_room(folder)
    return findings, []


def _need_room(folder):
    """Raises OSError when the disk is full: then what failed may not be the answer's fault. It is
    tried, since an answer can say what it likes."""
    probe = folder / "room"
    try:
        probe.write_bytes(bytes(ROOM))
    finally:
        probe.unlink(missing_ok=True)


def _run_all(one, count):
    """The findings of one(0) ... one(count - 1). When one does not end, those that have not begun
    are left out, and it is the only finding: always the first, since they begin in order."""
    stop = threading.Event()

    def unless_stopped(i):
        if stop.is_set():
            return []
        findings = one(i)
        if _does_not_end(findings):
            stop.set()
        return findings

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = list(pool.map(unless_stopped, range(count)))
    first = next((i for i in range(count) if _does_not_end(found[i])), None)
    if first is None:
        return [finding for findings in found for finding in findings]
    # A busy machine must not cost a point: it gets a second run, alone, and so do the others then.
    for i in range(first, count):
        findings = one(i, again=" again")
        if _does_not_end(findings):
            return findings
        found[i] = findings
    return [finding for findings in found for finding in findings]


def _does_not_end(findings):
    return any(finding.rung == ENDS for finding in findings)


def run_functions(build, exercise, program, instance, place, runner):
    """What is wrong with one run of a program that was made of functions: it reads instance.json
    and writes result.json, data and never a verdict."""
    case = exercise.module.describe(instance)
    given = place.parent / f"{place.name}.json"
    given.write_text(json.dumps(instance))
    limits = contained.Limits(exercise.seconds, exercise.memory)
    ended = runner.run([program, given, "result.json"], place, limits)
    if ended.timed_out or ended.status != 0:
        return [Finding(ENDS, failure(ended), ended.look(), case)]
    data = contained.read_data(place / "result.json", RESULT)
    try:
        result = json.loads(data)
        findings = exercise.module.judge(instance, result, exercise.expected(instance))
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError,
            RecursionError, struct.error) as error:
        return [Finding(ENDS, "the program ended without the results it should have written "
                              f"({type(error).__name__})", case=case)]
    return [Finding(finding.rung, finding.text, finding.look, finding.case or case)
            for finding in findings]


def failure(ended, lines=8):
    """How a program failed, in its own words where it has some."""
    said = [line for line in ended.err.splitlines() if line.strip()][:lines]
    if ended.status < 0 and not ended.timed_out:
        return ended.how()
    if ended.timed_out or not said:
        said.insert(0, ended.how())
    return "\n".join(said)
