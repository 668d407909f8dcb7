"""The grades of a class as tables: for the terminal and as CSV."""

import csv
import io

import ladder


def marks(exercise, graded):
    """"✓✓✗··": the ladder in a table."""
    if graded["status"] == "not graded":
        return ""
    failed = graded["failed_rung"]
    place = exercise.order(failed) if failed else len(exercise.rungs)
    states = ["passed" if i < place else "failed" if i == place else "not tried"
              for i in range(len(exercise.rungs))]
    return "".join(ladder.MARKS[state] for state in states)


def duration(seconds):
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def line_of(record):
    if record["status"] == "not graded":
        return f"{record['student']}: NOT GRADED, {record['why']}"
    where = f", stops at {record['failed_rung']}" if record["failed_rung"] else ""
    return f"{record['student']}: {record['score']} of {record['points']}{where}"


def table_text(exercise, table):
    """The table on the terminal."""
    wide = max([len("student"), *(len(one["student"]) for one in table)])
    lines = [f"{exercise.number} {exercise.title}", "",
             f"{'student':<{wide}}  points  {'ladder':<{len(exercise.rungs)}}  stops at"]
    for one in table:
        if one["status"] == "not graded":
            lines.append(f"{one['student']:<{wide}}       -  not graded: {first_line(one['why'])}")
            continue
        why = f"{one['failed_rung']}: {first_line(one['why'])}" if one["failed_rung"] else ""
        lines.append(f"{one['student']:<{wide}}  {one['score']:>2}/{one['points']:<3}  "
                     f"{marks(exercise, one):<{len(exercise.rungs)}}  {why}".rstrip())
    graded = [one["score"] for one in table if one["status"] != "not graded"]
    if graded:
        full = sum(score == exercise.points for score in graded)
        lines += ["", f"{len(graded)} graded: {full} with all {exercise.points} points, "
                      f"{sum(graded) / len(graded):.1f} on average"]
    if len(graded) < len(table):
        lines.append(f"{len(table) - len(graded)} NOT graded, by no fault of their own: see their "
                     "report.txt, then give the same command again")
    return "\n".join(lines) + "\n"


def first_line(text, limit=90):
    line = (text.splitlines() or [""])[0]
    return line if len(line) <= limit else line[:limit - 3] + "..."


def csv_text(exercise, table):
    out = io.StringIO()
    rungs = [rung.name for rung in exercise.rungs]
    writer = csv.writer(out)
    writer.writerow(["student", "exercise", "status", "score", "points", "stops_at", *rungs,
                     "version", "handed_in", "seconds", "why"])
    for one in table:
        writer.writerow([_no_formula(one["student"]), one["exercise"], one["status"],
                         one.get("score", ""), one.get("points", ""),
                         one.get("failed_rung") or "",
                         *(one.get("rungs", {}).get(name, "") for name in rungs), one["version"],
                         _no_formula(one["handed_in"]), one.get("seconds", ""),
                         _no_formula(first_line(one["why"]))])
    return out.getvalue()


def _no_formula(text):
    """A name that a spreadsheet would compute, as a text."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
