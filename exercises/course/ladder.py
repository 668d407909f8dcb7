"""The ladder: rungs that an answer climbs until one does not hold."""

import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is wrong, on which rung. The text names the invariant, the rank, the step, what was
    expected and what was there: "rank 2: gradients peak 4,096 B > 1,536 B in step 2, unit block1"."""

    rung: str
    text: str
    look: str = ""  # what to look at, one sentence
    case: str = ""  # in which run: "K = 3, N = 12,362, fp16"


@dataclasses.dataclass
class Report:
    """How far an answer came."""

    exercise: object
    findings: list  # of Finding; empty when the answer is right
    seconds: float = 0
    notes: list = dataclasses.field(default_factory=list)  # lines that cost nothing: warnings

    def __post_init__(self):
        self.findings.sort(key=lambda finding: self.exercise.order(finding.rung))

    @property
    def passed(self):
        return not self.findings

    @property
    def failed_rung(self):
        """The name of the first rung that does not hold, or None."""
        return self.findings[0].rung if self.findings else None

    def state(self, rung):
        """"passed", "failed", or "not tried" above the one that failed."""
        if self.passed:
            return "passed"
        failed = self.exercise.order(self.failed_rung)
        place = self.exercise.order(rung.name)
        return "passed" if place < failed else "failed" if place == failed else "not tried"

    @property
    def score(self):
        return sum(rung.points for rung in self.exercise.rungs if self.state(rung) == "passed")

    @property
    def first(self):
        """The finding to read first, and how many more there are on its rung."""
        same = [finding for finding in self.findings if finding.rung == self.failed_rung]
        return same[0], len(same) - 1

    def as_dict(self):
        return {"exercise": self.exercise.name, "score": self.score,
                "points": self.exercise.points, "failed_rung": self.failed_rung,
                "findings": [dataclasses.asdict(finding) for finding in self.findings],
                "notes": self.notes}


MARKS = {"passed": "✓", "failed": "✗", "not tried": "·"}


def text_of(report):
    """For people: the ladder from its foot, the first rung that fails, and what to do about it."""
    exercise = report.exercise
    width = max(len(rung.name) for rung in exercise.rungs)
    lines = [f"{exercise.number} {exercise.title}: {exercise.goal}", ""]
    for rung in exercise.rungs:
        state = report.state(rung)
        points = rung.points if state == "passed" else 0
        lines.append(f"  {MARKS[state]} {rung.name:<{width}}  {points:>2}/{rung.points}  {rung.asks}")
        if state == "failed":
            first, more = report.first
            lines.append("")
            lines += [f"      {line}" for line in first.text.splitlines()]
            if first.case:
                lines.append(f"      ({first.case})")
            if first.look:
                lines.append(f"      Look at: {first.look}")
            if more:
                others = "one other thing" if more == 1 else f"{more} other things"
                lines.append(f"      and {others} on this rung, perhaps by the same cause")
            lines.append("")
    lines += [f"  note: {note}" for note in report.notes]
    lines.append(f"  {report.score} of {exercise.points} points")
    return "\n".join(lines) + "\n"


def findings_of(text):
    """Those that a judge wrote as a JSON list."""
    return [Finding(**one) for one in json.loads(text)]
