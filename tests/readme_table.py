#!/usr/bin/env python3
"""Checks that the table in README.md is what `compare` prints; with --update, puts it there.

usage: readme_table.py README.md PATH/TO/compare [--update]

Times, and the last bits of the loss, differ between machines: their lines are not compared.
"""
import re
import subprocess
import sys

BEGIN, END = "<!-- table:begin -->\n", "<!-- table:end -->\n"
DIFFERS = re.compile(r"an iteration, median|relative to DDP|final loss|fingerprint")


def comparable(text):
    return [line for line in text.splitlines() if not DIFFERS.search(line)]


def main():
    readme, compare = sys.argv[1:3]
    run = subprocess.run([compare, "--width", "100"], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"compare failed with status {run.returncode}: {run.stderr}")
    printed = "".join(f"    {line}".rstrip() + "\n" for line in run.stdout.splitlines())
    with open(readme, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
        shown, after = rest.split(END)
    if "--update" in sys.argv:
        with open(readme, "w", encoding="utf-8") as file:
            file.write(f"{before}{BEGIN}\n{printed}\n{END}{after}")
        return
    expected, found = comparable(printed), comparable(shown.strip("\n"))
    if len(expected) < 20 or expected != found:
        for line in found:
            if line not in expected:
                print("README says: ", line)
        for line in expected:
            if line not in found:
                print("compare says:", line)
        sys.exit("the table in README.md is not what compare prints: readme_table.py --update")


main()
