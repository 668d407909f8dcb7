"""Exercises whose answer is a whole stage program: on what it runs, and what its run is worth."""

import json
import os
import re

import contained
from exercise import ENDS
from ladder import Finding

# As the ground truth trains: kTruthOptions in tests/support/ground_truth.h.
TRAINING = ["--learning-rate", "0.003", "--warmup", "5", "--clip", "1", "--weight-decay", "0.1"]

STATES = ("parameters", "master", "exp_avg", "exp_avg_sq")
RESULT = 1 << 20        # bytes that a run's result may have; index.json, too
TRACE = 8 << 20         # the trace of a rank
STATE = 1 << 20         # a state of a rank
CALM = 1024             # a loss scale with which nothing overflows by itself
JUDGE = contained.Limits(seconds=30, memory=4 << 30)


# ---- instances ----------------------------------------------------------------------------------

def parameters(instance):
    """N, without padding."""
    L, C, T, V = (instance[name] for name in ("layers", "channels", "context", "vocab"))
    return (V + T) * C + L * (12 * C * C + 13 * C) + 2 * C + V * C


def instances(exercise, random):
    """Small and odd: no K divides its N, so that there is padding, and units straddle shards. One
    rank alone overflows; a few elements alone overflow; both orders of addition; two types."""

    def work(ranks, **given):
        while True:
            heads = random.choice([1, 2, 3, 5])
            instance = {"ranks": ranks, "dtype": "fp16", "collectives": "ring",
                        "layers": random.choice([1, 2]), "heads": heads,
                        "channels": heads * random.randrange(-(-11 // heads), 17 // heads + 1),
                        "context": random.choice([5, 6, 7, 9]),
                        "vocab": random.randrange(256, 261),
                        "batch": ranks * random.choice([1, 2]), "iterations": 3,
                        "seed": random.randrange(1, 1 << 32), "loss_scale": CALM, "more": []}
            instance.update(given)
            if ranks == 1 or parameters(instance) % ranks != 0:
                return instance

    plain = work(3)
    # One rank overflows in an iteration that is neither the first nor the last.
    ranks, iterations = 4, 4
    where = f"{random.randrange(ranks)}:{random.randrange(1, iterations - 1)}"
    overflow = work(ranks, iterations=iterations, more=["--overflow-at", where],
                    collectives=random.choice(["ring", "direct"]))
    direct = work(random.choice([3, 5]), dtype="bf16", collectives="direct")
    # The scale falls until nothing overflows: before that, on some shards only.
    settling = work(random.choice([4, 5]), layers=1, batch=20, iterations=12, loss_scale=1 << 24)
    alone = work(1, dtype=random.choice(["fp16", "bf16", "fp32"]))
    return [plain, overflow, direct, settling, alone]


def describe(instance):
    """"K = 3, N = 12,362, fp16, ring": the case that a message names."""
    words = [f"K = {instance['ranks']}", f"N = {parameters(instance):,}", instance["dtype"],
             instance["collectives"]]
    if "--overflow-at" in instance["more"]:
        rank, iteration = instance["more"][instance["more"].index("--overflow-at") + 1].split(":")
        words.append(f"rank {rank} overflows in iteration {int(iteration) + 1}")
    if instance["loss_scale"] != CALM:
        words.append(f"loss scale {instance['loss_scale']:,} at first")
    return ", ".join(words)


def options(instance):
    words = []
    for name in ("ranks", "dtype", "collectives", "layers", "heads", "channels", "context", "vocab",
                 "batch", "iterations", "seed"):
        words += [f"--{name}", str(instance[name])]
    return words + ["--loss-scale", str(instance["loss_scale"]), *TRAINING, *instance["more"],
                    "--fill-nan", "--quiet", "--timeout", "3"]


# ---- one run ------------------------------------------------------------------------------------

def run_one(build, exercise, program, instance, place, runner):
    """What is wrong with one run of the stage program `program`."""
    findings, again = judged_run(build, exercise, program, instance, place, runner)
    if again:
        # The loss of an iteration only shows that the one before left another state than it
        # should: run up to there, the program shows which.
        shorter = dict(instance, iterations=again, more=until(instance["more"], again))
        folder = runner.folder(place.parent, f"{place.name} until {again}")
        earlier, _ = judged_run(build, exercise, program, shorter, folder, runner)
        findings = [_with_cause(finding, earlier) for finding in findings]
    case = describe(instance)
    return [Finding(finding.rung, finding.text, finding.look, case) for finding in findings]


def judged_run(build, exercise, program, instance, place, runner):
    """Findings of one run, and after how many iterations a run should stop that tells more, or
    0."""
    # All in one folder, with names that are known: nothing is looked up where the answer could
    # lead us elsewhere.
    command = [program, *options(instance), "--json", "result.json", "--trace", ".",
               "--trace-iterations", "0", "--dump-state", "."]
    ended = runner.run(command, place, contained.Limits(exercise.seconds, exercise.memory))
    failed = failure(ended) if ended.timed_out or ended.status != 0 else None
    if failed and failed.rung == ENDS:
        return [failed], 0
    data = place.parent / f"{place.name}.data"
    data.mkdir()
    missing = collect(place, data, instance["ranks"], traces_only=bool(failed))
    if missing:
        return [Finding(ENDS, f"the program ended without the {missing} that it should have "
                              "written", "whether every iteration ends in report")], 0
    request = place.parent / f"{place.name}.json"
    request.write_text(json.dumps({"stage": os.path.basename(exercise.answer)[:-len(".cpp")],
                                   "instance": instance, "folder": str(data),
                                   "diverged": bool(failed)}))
    judged = contained.run([build.judge, request], data, JUDGE)
    if judged.timed_out or judged.status != 0:
        return [Finding(ENDS, "what the program wrote cannot be judged: "
                              f"{judged.err.strip() or judged.how()}")], 0
    told = json.loads(judged.out)
    findings = [Finding(one["rung"], one["text"], one["look"]) for one in told]
    return findings + ([failed] if failed else []), max([one["again"] for one in told], default=0)


def until(more, iterations):
    """The options `more` for so many iterations only."""
    if "--overflow-at" in more:
        at = more.index("--overflow-at")
        if int(more[at + 1].split(":")[1]) >= iterations:
            return more[:at] + more[at + 2:]
    return more


def _with_cause(finding, earlier):
    if finding.rung != "numbers":
        return finding
    causes = [other for other in earlier if other.rung == "numbers"]
    if not causes:
        return finding
    return Finding(finding.rung, f"{finding.text}\nThe cause: {causes[0].text}", causes[0].look)


def collect(place, data, ranks, traces_only):
    """Copies a run's files from the answer's folder `place` to ours, `data`. Returns what is not
    there as it should be, "" when nothing."""
    names = [(f"rank{rank}.jsonl", TRACE, f"trace of rank {rank}") for rank in range(ranks)]
    if not traces_only:
        names += [("result.json", RESULT, "result"), ("index.json", RESULT, "state")]
        names += [(f"rank{rank}_{state}.bin", STATE, f"state of rank {rank}")
                  for rank in range(ranks) for state in STATES]
    for name, limit, what in names:
        content = contained.read_data(place / name, limit)
        if content is None:
            return what
        (data / name).write_bytes(content)
    return ""


# ---- what a failed run says ---------------------------------------------------------------------

# `rank 2, iteration 1, step "3. Reduce", unit block 1: what`, as every rank that fails writes it.
FAILED = re.compile(r'rank (?P<rank>\d+)(, iteration (?P<iteration>\d+))?, '
                    r'step "(?P<step>\d+)[^"]*"(, unit (?P<unit>[^:]+))?: '
                    r'(rank (?P=rank)[,:] )?(?P<what>.*)')
# What it was doing, when that was a collective.
COLLECTIVE = re.compile(r"(stopped in )?(?P<name>\w+) \((ring|direct|after|collective)[^)]*\)")
# Two ranks that met with different intentions.
DISAGREE = re.compile(r"rank (?P<other>\d+) is doing something else: "
                      r"expected (?P<mine>.*); there (?P<theirs>.*)")
INTENTION = re.compile(r"collective \d+ is (?P<name>\w+) \(\w+\) of (?P<range>\[.*?\)) in \w+"
                       r"(?P<rest>.*)")
HOLD = re.compile(r"ranks (\d+) and (\d+) hold different bits: (.*): fingerprints .*")
NORMS = re.compile(r"two ranks have different norms: (\S+) here, (\S+)")


def failure(ended):
    """How a run failed, as a Finding: in the words of the rank that failed first, or, when ranks
    waited for each other in vain, where each of them was. Ranks that reached the end of an
    iteration with different bits have ended, with wrong numbers."""
    if ended.timed_out:
        return Finding(ENDS, ended.how(),
                       "the loops, and the order in which the ranks call the collectives")
    if ended.status < 0:
        return Finding(ENDS, ended.how(),
                       "indices and pointers of your own, and Views of Buffers that are gone")
    lines = [line for line in ended.err.splitlines() if line.strip()]
    told = [match for match in map(FAILED.fullmatch, lines) if match]
    if not told:
        return Finding(ENDS, "\n".join(lines[:8]) or ended.how())
    first, what = told[0], told[0]["what"]
    different = HOLD.fullmatch(what)
    if different:
        return Finding("numbers", f"ranks {different[1]} and {different[2]} hold different "
                                  f"{different[3]} after iteration {first['iteration']}",
                       "which ranks compute these positions, from which values, and how the "
                       "others get them")
    norms = NORMS.fullmatch(what)
    if norms:
        return Finding("numbers", f"two ranks have different norms in iteration "
                                  f"{first['iteration']}: {norms[1]} and {norms[2]}",
                       "the norm in step 4: it is one number, of the whole gradient")
    if COLLECTIVE.match(what):
        return Finding(ENDS, "\n".join(_in_vain(told)),
                       "what every rank calls here: all of them must call the same collectives in "
                       "the same order (global_norm and report call all_gather_scalar)")
    ranks = sorted({int(match["rank"]) for match in told if match["what"] == what})
    return Finding(ENDS, f"{_ranks(ranks)}, {_place(first)}: {what}", _look(what))


def _in_vain(told):
    """Where each rank waited, a line for those that were at the same place, and what two of them
    were about to do, when that is why."""
    places = {}
    for match in told:
        doing = COLLECTIVE.match(match["what"])
        what = f"{doing['name'] if doing else 'an error'} ({_place(match)})"
        places.setdefault(what, []).append(int(match["rank"]))
    yield "the ranks do not meet: " + "; ".join(f"{_ranks(sorted(ranks))} in {what}"
                                                for what, ranks in places.items())
    for match in told:
        disagree = DISAGREE.search(match["what"])
        if disagree:
            for rank, told_there in ((match["rank"], disagree["mine"]),
                                     (disagree["other"], disagree["theirs"])):
                intention = INTENTION.match(told_there)
                if intention:
                    scalar = intention["name"] == "all_gather_scalar"
                    of = "" if scalar else f" of {intention['range']}{intention['rest']}"
                    yield f"  rank {rank}: {intention['name']}{of}"
            return
    silent = re.search(r"(nothing from rank \d+ for [\d.]+ seconds|"
                       r"rank \d+ has ended without taking part)", told[0]["what"])
    if silent:
        yield f"  {silent[0]}"


def _ranks(ranks):
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


def _place(match):
    if match["iteration"] is None:
        return "at the start"
    unit = f", unit {match['unit']}" if match["unit"] else ""
    return f"iteration {match['iteration']}, step {match['step']}{unit}"


def _look(what):
    if "is still blank" in what:
        return ""
    if "not held here" in what or "needs positions" in what:
        return "which positions this buffer was allocated with, and which ones are asked for"
    if "AdamW::step" in what:
        return "the View that the optimizer was made with, and the one that it is given here"
    return "the line of this step that works with what the message names"
