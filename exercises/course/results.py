"""How a grade is written down: as Gradescope reads it, and never by half."""

import json
import os
import pathlib

VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")


def gradescope(report, notes, extra, visibility="visible"):
    """Gradescope's results.json: a test per rung. Fields: gradescope-autograders.readthedocs.io,
    "Autograder Specifications"."""
    tests = []
    for rung in report.exercise.rungs:
        state = report.state(rung)
        test = {"name": f"{rung.name}: {rung.asks}", "name_format": "text", "output_format": "text",
                "score": rung.points if state == "passed" else 0, "max_score": rung.points,
                "status": "passed" if state == "passed" else "failed", "visibility": visibility}
        if state == "failed":
            test["output"] = failed_text(report)
        elif state == "not tried":
            test["output"] = "not tried: the rung before it does not hold"
        tests.append(test)
    output = f"{report.exercise.number} {report.exercise.title}: {report.exercise.goal}"
    return {"score": report.score, "execution_time": round(report.seconds, 1),
            "output": "\n".join([output, *(f"note: {note}" for note in notes)]),
            "output_format": "text", "test_output_format": "text", "test_name_format": "text",
            "visibility": visibility, "stdout_visibility": "hidden", "extra_data": extra,
            "tests": tests}


def failed_text(report):
    first, more = report.first
    lines = [first.text]
    if first.case:
        lines.append(f"({first.case})")
    if first.look:
        lines.append(f"Look at: {first.look}")
    if more:
        lines.append(f"and {'one other thing' if more == 1 else f'{more} other things'} on this "
                     "rung, perhaps by the same cause")
    return "\n".join(lines)


def write(path, text):
    """Writes a file that is never there by half."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path, data, mode=0o644):
    """The same, in a folder that is there."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_json(path, content):
    write(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
