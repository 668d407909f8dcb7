#!/usr/bin/env python3
"""Sums the bytes that a run's traces say were sent, per rank and iteration, and prints JSON.

usage: sum_trace.py DIR

Independent of the project's own reader: it needs Python's standard library only, and knows of the
format just what common/trace/FORMAT.md says. The output:

  {"run": "...", "world_size": 3,
   "ranks": [{"rank": 0, "ended": "closed", "sent_bytes": {"0": 1234, "1": 1234},
              "messages": {"0": 12, "1": 12}, "received_bytes": {...}}, ...],
   "unmatched": {"sends": 0, "receives": 0}}

"ended" is null where the trace was cut off. The iteration of an event is that of the step it is in;
-1 is before the first. "unmatched" counts messages that one side tells and the other does not.
"""

import collections
import json
import os
import re
import sys


def events_of(path):
    """The whole lines of a file; a last line without its end is where the trace ends."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError as error:
                sys.exit(f"{path}:{number}: {error}")


def key_of(event):
    return tuple(event[k] for k in ("collective", "step", "chunk", "source", "destination"))


def sum_rank(path, sends, receives):
    header = None
    iteration = -1
    ended = None
    sent = collections.Counter()
    received = collections.Counter()
    messages = collections.Counter()
    for event in events_of(path):
        kind = event["e"]
        if header is None:
            if event.get("format") != "zero-steps-trace" or event.get("version") != 1:
                sys.exit(f"{path}:1: not a trace that this script reads")
            header = event
        elif kind == "step":
            iteration = event["iteration"]
            sent[iteration] += 0  # an iteration that sends nothing is told too
        elif kind == "send":
            sent[iteration] += event["bytes"]
            messages[iteration] += 1
            sends[key_of(event)] += event["bytes"]
        elif kind == "receive":
            received[iteration] += event["bytes"]
            receives[key_of(event)] += event["bytes"]
        elif kind == "end":
            ended = event["reason"]
    if header is None:
        sys.exit(f"{path}:1: no header")
    return header, {
        "rank": header["rank"],
        "ended": ended,
        "sent_bytes": sent,
        "messages": messages,
        "received_bytes": received,
    }


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    directory = sys.argv[1]
    if not os.path.isdir(directory):
        sys.exit(f"{directory}: no such folder")
    names = [name for name in os.listdir(directory) if re.fullmatch(r"rank\d+\.jsonl", name)]
    if not names:
        sys.exit(f"{directory}: no rank0.jsonl here")
    sends = collections.Counter()
    receives = collections.Counter()
    results = [sum_rank(os.path.join(directory, name), sends, receives) for name in names]
    results.sort(key=lambda result: result[1]["rank"])
    header = results[0][0]
    for other, rank in results:
        if other["run"] != header["run"]:
            sys.exit(f"{directory}: rank {rank['rank']} belongs to another run")
    print(json.dumps({
        "run": header["run"],
        "world_size": header["world_size"],
        "ranks": [rank for _, rank in results],
        "unmatched": {
            "sends": sum(1 for key in sends if sends[key] != receives[key]),
            "receives": sum(1 for key in receives if key not in sends),
        },
    }, indent=1))


if __name__ == "__main__":
    main()
