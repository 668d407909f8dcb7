"""Wrong and right answers that an exercise keeps: whole ones (.cpp), and edits (.mutation)."""

import dataclasses
import re

from exercise import PROJECT, Mistake


@dataclasses.dataclass(frozen=True)
class Variant:
    what: str  # in one sentence
    rung: str  # at which it must fail; "" for a right answer
    text: str  # the whole answer


def read(exercise, path):
    text = path.read_text()
    if path.suffix == ".cpp":
        comments = re.match(r"(//.*\n)+", text)
        lines = [line.removeprefix("//").strip() for line in comments[0].splitlines()]
        return Variant(lines[0], _named(lines, "rung"), text)
    head = text.split("<<<<", 1)[0].splitlines()
    source = _named(head, "file")
    original = (PROJECT / source if source else exercise.answer_path).read_text()
    return Variant(head[0], _named(head, "rung"), _edited(path, original, text))


def _named(lines, name):
    found = [line[len(name) + 1:].strip() for line in lines if line.startswith(name + ":")]
    return found[0] if found else ""


def _edited(path, text, mutation):
    edits = re.findall(r"^<<<<\n(.*?)^====\n(.*?)^>>>>$", mutation, re.MULTILINE | re.DOTALL)
    if not edits:
        raise Mistake(f"{path}: no edit")
    for old, new in edits:
        times = text.count(old)
        if times != 1:
            raise Mistake(f"{path}: these lines are there {times} times, not once:\n{old}")
        text = text.replace(old, new)
    return text
