"""Computes the fingerprint of a state again, from what --dump-state wrote.

    fingerprint.py FOLDER

Prints it as the programs do: 16 hexadecimal digits. Needs Python's standard library only, and
shares nothing with the programs but the definition in common/train/fingerprint.cpp.
"""
import array
import json
import os
import sys

MASK = (1 << 64) - 1
STATES = {"exp_avg": 1, "exp_avg_sq": 2, "master": 3, "parameters": 4}


def hash_of(state, position, bits):
    x = ((position * 8 + state) * 0x9E3779B97F4A7C15 + bits * 0xD6E8FEB86659FD93) & MASK
    x = ((x ^ (x >> 32)) * 0xD6E8FEB86659FD93) & MASK
    x = ((x ^ (x >> 29)) * 0x9E3779B97F4A7C15) & MASK
    return x ^ (x >> 32)


def elements(folder, entry):
    """The bits of each element of one array, as unsigned numbers."""
    values = array.array("I" if entry["dtype"] == "fp32" else "H")
    with open(os.path.join(folder, entry["file"]), "rb") as file:
        values.frombytes(file.read())
    if sys.byteorder == "big":
        values.byteswap()
    if len(values) != entry["end"] - entry["begin"]:
        raise SystemExit(entry["file"] + ": not as long as index.json says")
    return values


def main(folder):
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
        index = json.load(file)
    count = index["num_parameters"]  # the padding does not enter
    total = 0
    for state, number in STATES.items():
        seen = {}
        for rank in index["ranks"]:
            for entry in rank["arrays"]:
                if entry["state"] != state:
                    continue
                for i, bits in enumerate(elements(folder, entry)):
                    position = entry["begin"] + i
                    if position >= count:
                        if bits != 0:
                            raise SystemExit(f"{state}: the padding at {position} is not zero")
                    elif seen.setdefault(position, bits) != bits:
                        raise SystemExit(f"{state}: ranks differ at {position}")
        if len(seen) != count:
            raise SystemExit(f"{state}: {len(seen)} of {count} elements are there")
        total += sum(hash_of(number, position, bits) for position, bits in seen.items())
    print(f"{total & MASK:016x}")


if __name__ == "__main__":
    main(sys.argv[1])
