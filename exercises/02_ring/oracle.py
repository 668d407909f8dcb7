"""What the ring collectives return, from the definition: for each element, in its owner's order."""

import struct


def fp32(value):
    """Rounded to fp32. Sums and quotients of two fp32 numbers that were computed in fp64 are
    rounded here as if they had been computed in fp32: fp64 has more than twice the digits."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def bits_of(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def value_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def owner_of(element, elements, ranks):
    """Shards have ceil(N/K) elements as long as there are any."""
    return element // -(-elements // ranks)


def average(element, values):
    """values[r][element] of every rank r, added from the rank after the owner's on."""
    ranks = len(values)
    owner = owner_of(element, len(values[0]), ranks)
    total = value_of(values[(owner + 1) % ranks][element])
    for steps in range(2, ranks):
        total = fp32(total + value_of(values[(owner + steps) % ranks][element]))
    if ranks > 1:
        total = fp32(total + value_of(values[owner][element]))
    return bits_of(fp32(total / ranks))


def expected(instance):
    """"average" is the whole vector after reduce_scatter (of which each rank has its shard) and
    after all_reduce; "gathered" is the whole vector after all_gather."""
    values = instance["values"]
    elements = range(len(values[0]))
    return {"average": [average(i, values) for i in elements],
            "gathered": [values[owner_of(i, len(values[0]), len(values))][i] for i in elements]}
