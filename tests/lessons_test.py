#!/usr/bin/env python3
"""Checks that stages/lessons.md says what the programs do; with --update, puts it there.

usage: lessons_test.py stages/lessons.md BUILD [--update]

A line "    $ command" is run, and what it prints has to follow it. A command may go on in the next
lines, up to the one that closes it. Tables between markers are made here, from formulas and runs.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

PAGE, BUILD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
STAGES = ["ddp", "zero1", "zero2", "zero3"]
NAMES = "| | DDP | ZeRO-1 | ZeRO-2 | ZeRO-3 |\n|---|---|---|---|---|\n"
BUDGET = 64 << 20
BYTES_A_PARAMETER = [16, 7, 5.5, 4]  # fp16, M = 12, K = 4
BLOCK, OTHERS = 12 * 128 * 128 + 13 * 128, (16 + 2 * 256 + 2) * 128  # C = 128, T = 16, V = 256


def run(stage, ranks, layers):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "json")
        subprocess.run([f"{BUILD}/stages/{stage}", "--device", "simulated", "--ranks", str(ranks),
                        "--batch", str(ranks), "--layers", str(layers), "--quiet", "--json", path],
                       check=True, stderr=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def most(result):
    """The peaks of the rank that had most, by category, and of everything."""
    rank = max(result["ranks"], key=lambda r: r["peak_total"])
    return {k: v["peak"] for k, v in rank["memory"].items()}, rank["peak_total"]


def row(name, numbers):
    return f"| {name} | " + " | ".join(f"{n:,}" for n in numbers) + " |\n"


def ladder(page):
    """Predicted beside found; the latter is what ladder.sh printed on the page."""
    found = layers_found(page)
    parameters = [int(BUDGET / b) for b in BYTES_A_PARAMETER]
    return (NAMES + row("predicted: parameters, at most", parameters) +
            row("layers", [(n - OTHERS) // BLOCK for n in parameters]) +
            row("found: parameters", [OTHERS + n * BLOCK for n in found]) + row("layers", found))


def layers_found(page):
    printed = page.split("$ stages/ladder.sh\n")[1]
    return [int(re.search(rf"{stage} +(\d+)", printed)[1]) for stage in STAGES]


def gap(page):
    rows = {}
    for number, (stage, layers) in enumerate(zip(STAGES, layers_found(page))):
        peaks, total = most(run(stage, 4, layers))
        states = sum(peaks[k] for k in ("parameters", "gradients", "optimizer_states"))
        rest = [peaks[k] for k in ("activations", "temporary", "communication")]
        assert states == BYTES_A_PARAMETER[number] * (OTHERS + layers * BLOCK)
        one_more = most(run(stage, 4, layers + 1))[1] - total
        assert total <= BUDGET < total + one_more
        column = [states, *rest, total - states - sum(rest), total, BUDGET - total, one_more]
        for name, value in zip(["model states", "activations", "temporary", "communication",
                                "not all at once", "**at the peak**", "left of 64 MiB",
                                "one layer more"], column):
            rows.setdefault(name, []).append(value)
    return NAMES + "".join(row(name, values) for name, values in rows.items())


def edge(_):
    text = ("| GPUs | N (1 - 1/K) | 2U - 2N (1 - 1/K) | ZeRO-2 less ZeRO-1 | ZeRO-3 less ZeRO-2 |\n"
            "|---|---|---|---|---|\n")
    for ranks in range(1, 6):
        results = [run(stage, ranks, 1) for stage in STAGES]
        peaks = [most(result)[1] for result in results]
        saved = results[0]["padded_parameters"] * (ranks - 1) // ranks
        text += row(str(ranks), [saved, 2 * BLOCK - 2 * saved, peaks[2] - peaks[1],
                                 peaks[3] - peaks[2]])
    return text


def with_output(page):
    """The page with what its commands print, each after its command."""
    lines, result = page.splitlines(), []
    while lines:
        line = lines.pop(0)
        result.append(line)
        start = re.match(r"( +)\$ (.*)", line)
        if not start:
            continue
        indent, command = start[1], start[2]
        while re.search(r"(\\|\|)$", command):
            result.append(lines.pop(0))
            command += "\n" + result[-1]
        while lines and lines[0].startswith(indent):
            lines.pop(0)
        command = command.replace("build/", BUILD + "/")
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True,
                              cwd=os.path.dirname(os.path.dirname(PAGE)),
                              env={**os.environ, "BUILD": BUILD})
        result += [(indent + line).rstrip() for line in done.stdout.splitlines()]
    return "\n".join(result) + "\n"


def with_tables(page):
    for name, table in (("ladder", ladder), ("gap", gap), ("edge", edge)):
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->\n"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{table(page)}\n{end}{rest.split(end)[1]}"
    return page


def main():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    expected = with_tables(with_output(page))
    if "--update" in sys.argv:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(expected)
    elif page != expected:
        said, done = page.splitlines(), expected.splitlines()
        for line in [line for line in said if line not in done]:
            print("the page says:   ", line)
        for line in [line for line in done if line not in said]:
            print("the programs say:", line)
        sys.exit("stages/lessons.md is not what the programs do: lessons_test.py --update")


main()
