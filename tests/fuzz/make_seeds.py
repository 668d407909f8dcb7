"""Writes the seeds of the corpus: shortened real traces, and what a disk or an enemy makes of them.

    python3 tests/fuzz/make_seeds.py BUILD tests/fuzz/corpus

BUILD is a build folder with the stage programs. Entries that a fuzzer found (found_*) are kept.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

NEXT = "# next rank\n"


def trace(build, stage, ranks, collectives, *more):
    """The lines of each rank of one short iteration of a tiny model."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{build}/stages/{stage}", "--ranks", str(ranks), "--batch", str(ranks),
                        "--collectives", collectives, "--iterations", "1", "--layers", "1",
                        "--heads", "1", "--channels", "4", "--context", "4", "--loss-scale", "1",
                        "--quiet", "--trace-values", "--trace", folder, *more], check=True)
        return [(pathlib.Path(folder) / f"rank{r}.jsonl").read_text().splitlines(True)
                for r in range(ranks)]


def shorten(lines):
    """What matters to the replay: few operators and activations, a header without its tensors."""
    kept, dropped, operators = [], set(), 0
    for line in lines:
        e = json.loads(line)
        kind = e["e"]
        if kind == "header":
            e["tensors"] = e["tensors"][:1]
            e["options"] = {"ranks": e["world_size"]}
            line = json.dumps(e, separators=(",", ":")) + "\n"
        if kind == "operator":
            operators += 1
        if kind in ("operator", "operator_end") and operators > 3:
            continue
        if kind == "allocate" and e["category"] in ("activations", "workspace"):
            if e["buffer"] % 8:
                dropped.add(e["buffer"])
        if kind in ("allocate", "write", "free") and e["buffer"] in dropped:
            continue
        if "values" in e:
            e["values"] = e["values"][:1]
            line = json.dumps(e, separators=(",", ":")) + "\n"
        kept.append(line)
    return kept


def entry(ranks):
    return NEXT.join("".join(lines) for lines in ranks).encode()


def main():
    build, corpus = sys.argv[1], pathlib.Path(sys.argv[2])
    seeds = {}
    for stage in ("ddp", "zero1", "zero2", "zero3"):
        seeds[f"{stage}_2_ring"] = entry(map(shorten, trace(build, stage, 2, "ring")))
    seeds["zero2_3_direct"] = entry(shorten(lines)[:90] for lines in trace(build, "zero2", 3, "direct"))
    seeds["zero3_3_ring"] = entry(shorten(lines)[:90] for lines in trace(build, "zero3", 3, "ring"))

    ddp = [shorten(lines) for lines in trace(build, "ddp", 2, "ring")]
    a, b = ddp
    header = json.loads(a[0])

    def with_header(**changes):
        return [json.dumps({**header, **changes}, separators=(",", ":")) + "\n"] + a[1:20]

    seeds["cut_off"] = entry([a[:50], b[:40]])[:-30]
    seeds["one_rank_of_two"] = entry([a])
    seeds["rank_0_is_missing"] = entry([[], b])
    seeds["ranks_swapped"] = entry([b[:40], a[:40]])
    seeds["another_run"] = entry([a, [b[0].replace(header["run"], "another")] + b[1:40]])
    seeds["empty"] = b""
    seeds["empty_line"] = b"\n"
    seeds["binary"] = bytes(range(256)) * 4
    seeds["not_utf8"] = entry([a[:9]]).replace(b'"params"', b'"\xff\xfe"')
    seeds["zero_bytes"] = entry([a[:9]]).replace(b'"params"', b'"\0"')
    seeds["version_2"] = entry([with_header(version=2)])
    seeds["a_billion_ranks"] = entry([with_header(world_size=10**9)])
    seeds["thousand_ranks"] = entry([with_header(world_size=1024)])
    seeds["header_with_control_characters"] = entry([with_header(version="1\n\x1b[2J" + "x" * 900)])
    seeds["deep_header"] = entry([with_header(options=None)]).replace(
        b'"options":null', b'"options":' + b'{"a":' * 70 + b"0" + b"}" * 70)
    seeds["deep_event"] = entry([a[:3] + ["[" * 3000 + "]" * 3000 + "\n"]])
    seeds["order_of_lines"] = entry([a[:1] + a[40:0:-1], b[:40]])
    seeds["every_line_twice"] = entry([[a[0]] + [line for line in a[1:50] for _ in (0, 1)], b[:50]])
    seeds["time_goes_back"] = entry([a[:10] + a[5:10], b])
    seeds["unknown_kind"] = entry([a[:5] + ['{"e":"\\u0007new","t":999999999999}\n'] + a[-1:], b])

    large = [a[0]]
    for n, (number, size) in enumerate([(1, 2**53), (2, 2**53), (3, 0), (2**53, 1)]):
        large.append(json.dumps({"e": "allocate", "t": 1, "buffer": number, "name": "large",
                                 "category": "temporary", "dtype": "fp16", "address": None,
                                 "bytes": 2**53, "size": size, "range": None}) + "\n")
        large.append(json.dumps({"e": "write", "t": 1, "buffer": number, "at": size - n,
                                 "size": n, "range": None, "what": "cast", "values": []}) + "\n")
    seeds["largest_numbers"] = entry([large])
    for name, value in (("2_to_the_53_and_1", "9007199254740993"), ("2_to_the_64", str(2**64)),
                        ("1e999", "1e999"), ("negative", "-1"), ("half", "0.5")):
        text = [line.replace('"size":3', f'"size":{value}') for line in a]
        seeds[f"size_{name}"] = entry([[line for line in a[:8]] +
                                       [f'{{"e":"free","t":999999999999,"buffer":{value}}}\n'] +
                                       text[8:]])
    seeds["range_backward"] = entry([with_header(shards=[{"owner": 0, "range": [9, 3]}])])

    # Two ranks that wait for each other's messages, in a circle.
    def hop(kind, source, destination, collective):
        place = {"buffer": 1, "at": 0}
        if kind == "receive":
            place.update({"own": None, "own_at": None, "divisor": 1})
        return json.dumps({"e": kind, "t": 1, "collective": collective, "name": "broadcast",
                           "algorithm": "ring", "step": 1, "steps": 1, "chunk": 0, "source": source,
                           "destination": destination, "effect": "copy", "range": [0, 2],
                           "bytes": 4, **place}, separators=(",", ":")) + "\n"

    seeds["circle"] = entry([[a[0], hop("receive", 1, 0, 1), hop("send", 0, 1, 2)],
                             [b[0], hop("receive", 0, 1, 2), hop("send", 1, 0, 1)]])
    seeds["same_key_again"] = entry([[a[0]] + [hop("send", 0, 1, 1)] * 4,
                                     [b[0]] + [hop("receive", 0, 1, 1)] * 6])
    seeds["to_itself"] = entry([[a[0], hop("send", 0, 0, 1), hop("receive", 0, 0, 1),
                                 hop("receive", 0, 0, 2), hop("send", 0, 0, 2)], b])

    # A library's collective, and a buffer of zero elements, as no stage writes them.
    allocate = {"e": "allocate", "t": 1, "buffer": 1, "name": "params", "category": "parameters",
                "dtype": "fp16", "address": "0x10", "bytes": 18, "size": 9, "range": [0, 9]}
    nothing = {**allocate, "buffer": 2, "bytes": 0, "size": 0, "range": [9, 9]}
    library = {"e": "library", "t": 2, "collective": 1, "name": "all_gather", "effect": "copy",
               "buffer": 1, "at": 0, "values": [1, "nan", -0.5],
               "parts": [{"range": [0, 5], "from": [0]}, {"range": [5, 9], "from": [0, 1]}]}
    average = {**library, "effect": "average", "parts": [{"range": [0, 9], "from": [0, 1]}]}
    seeds["library"] = entry([[first] + [json.dumps(e, separators=(",", ":")) + "\n" for e in
                                         (allocate, nothing, library, average)]
                              for first in (a[0], b[0])])

    corpus.mkdir(exist_ok=True)
    for old in corpus.glob("seed_*"):
        old.unlink()
    for name, content in seeds.items():
        (corpus / f"seed_{name}").write_bytes(content)
    total = sum(len(content) for content in seeds.values())
    print(f"{len(seeds)} seeds, {total:,} bytes, the largest {max(map(len, seeds.values())):,}")


if __name__ == "__main__":
    main()
