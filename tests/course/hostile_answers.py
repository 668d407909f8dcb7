"""The answers in hostile/: each is put in front of a right answer, which calls it first."""

import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent / "hostile"


def fixtures(kind=None):
    """{name: text}; those for exercises of a kind."""
    texts = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.cpp"))}
    return {name: text for name, text in texts.items()
            if kind is None or (kind == "stage") == name.startswith("stage_")}


def header(text, name):
    """What its first comment says: rung, says, anyway, exercise."""
    found = re.search(rf"^// {name}: (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def whole(text, exercise, **names):
    """The fixture, with `names` for what stands between @, and a right answer that calls it: what
    goes unnoticed has all points. For stages, and for exercise 01."""
    for name, value in names.items():
        text = text.replace(f"@{name}@", str(value))
    right = exercise.answer_path.read_text()
    begin, call = (("void train(Rank& rank) {", "attack(rank);") if exercise.kind == "stage"
                   else ("num_parameters(const ModelShape& model) {", "attack();"))
    assert right.count(begin) == 1, f"{exercise.answer_path}: {begin}"
    return text + right.replace(begin, f"{begin} {call}")
