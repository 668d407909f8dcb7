"""Exercise 03: contributions whose bits tell in which order, and how, they were averaged."""

import math
import struct

from ladder import Finding

ORDER = "in which order the contributions of one element are added"
SUM = "in which type the running sum is kept, from the first addition to the division"
DIVISION = "where the division by K stands, and that it is a division"
OWN = "which contributions are added, each once"


# ---- rounding: a sum, product or quotient of fp32 numbers in Python's 53 bits, rounded once more,
# ---- is what fp32 arithmetic gives

def fp32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def fp16(x):
    try:
        return struct.unpack("<e", struct.pack("<e", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def value_of(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def bits_of(x):
    """Of an fp32 number, rounded to fp16."""
    return struct.unpack("<H", struct.pack("<e", fp16(x)))[0]


# ---- ways to average one element ----

def added(values, order, keep=fp32):
    """From the left, in the order of ranks `order`."""
    total = values[order[0]]
    for rank in order[1:]:
        total = keep(total + values[rank])
    return total


def averaged(values, order, keep=fp32):
    return bits_of(fp32(added(values, order, keep) / len(values)))


def in_pairs(values):
    """As a tree: neighbours first."""
    while len(values) > 1:
        pairs = [values[i:i + 2] for i in range(0, len(values), 2)]
        values = [fp32(sum(pair)) for pair in pairs]
    return values[0]


def other_ways(world_size, own):
    """Other ways to average than the one that is asked for: what to look at, and a function of an
    element's values. Only those that can give other bits for this K and owner."""
    ranks = list(range(world_size))
    orders = [ranks[own:] + ranks[:own], ranks[own + 1:] + ranks[:own + 1], ranks[::-1],
              [own] + ranks[:own] + ranks[own + 1:], ranks[:own] + ranks[own + 1:] + [own]]
    ways = [(ORDER, lambda values, order=order: averaged(values, order))
            for order in orders if like(order) != like(ranks)]
    if world_size > 3:
        ways.append((ORDER, lambda values: bits_of(fp32(in_pairs(values) / world_size))))
    ways += [(SUM, lambda values: averaged(values, ranks, keep=fp16)),
             (SUM, lambda values: averaged(values, ranks, keep=float)),
             (OWN, lambda values: averaged([0.0 if rank == own else values[rank]
                                            for rank in ranks], ranks)),
             (DIVISION, lambda values: bits_of(fp32(fp16(added(values, ranks)) / world_size))),
             (DIVISION, lambda values: bits_of(added([fp16(x / world_size) for x in values],
                                                     ranks)))]
    if world_size & world_size - 1:  # a division by a power of 2 may stand anywhere
        ways.append((DIVISION, lambda values: bits_of(added([fp32(x / world_size)
                                                             for x in values], ranks))))
    if world_size == 3:
        ways.append((DIVISION, lambda values: bits_of(fp32(added(values, ranks)
                                                           * fp32(1 / world_size)))))
    return ways


def like(order):
    """Orders that always give the same bits are equal in this: a + b = b + a."""
    return sorted(order[:2]) + order[2:]


# ---- elements: K values of fp16 ----

def cancelling(random, world_size):
    """Two large values that cancel each other, and small ones that are rounded beside them."""
    values = [random.uniform(-1, 1) * 2.0 ** random.randint(-9, -2) for _ in range(world_size)]
    large = random.uniform(1, 1.9) * 2.0 ** random.randint(12, 15)
    first, second = random.sample(range(world_size), 2)
    values[first], values[second] = large, -large
    return values


def alike(random, world_size):
    scale = 2.0 ** random.randint(-8, 8)
    return [random.choice((-1, 1)) * random.uniform(0.1, 1) * scale for _ in range(world_size)]


def subnormal(random, world_size):
    return [random.choice((-1, 1)) * random.randint(1, 40) * 2.0 ** -24 for _ in range(world_size)]


def overflowing(random, world_size):
    """The sum is beyond 65504, the average is not."""
    return [random.uniform(40000, 65000) for _ in range(world_size)]


def nearly_a_tie(random, world_size):
    """The sum is K t - 2^-22 for a t that lies halfway between two numbers of fp16: the division
    has to see the last bit of the sum."""
    middle = random.randint(2048, 2700) | 1
    whole = world_size * middle * 2.0 ** -11
    values = [0.0] * world_size
    rest = 2.0 ** random.randint(-8, -5)
    values[0], values[1], values[-1] = fp16(whole) - rest, whole - fp16(whole) + rest, -2.0 ** -22
    return values


def element(random, world_size):
    kind = random.choice((cancelling, cancelling, alike, subnormal, overflowing, nearly_a_tie))
    return [fp16(x) for x in kind(random, world_size)]


def right(values):
    return averaged(values, range(len(values)))


def telling(random, world_size, orders, own):
    """For every other way at least one element that gives other bits that way; and for every two
    orders of arrival one that gives other bits when added in those."""
    questions = [lambda values, way=way: way(values) != right(values)
                 for _, way in other_ways(world_size, own)]
    questions += [lambda values, one=one, other=other:
                  averaged(values, one) != averaged(values, other)
                  for i, one in enumerate(orders) for other in orders[:i]]
    elements = []
    for differs in questions:
        values = element(random, world_size)
        while not differs(values):
            values = element(random, world_size)
        elements.append(values)
    return elements


def arrivals(random, world_size, many=3):
    """Orders of arrival, no two of which are alike, and none like that of the ranks."""
    orders = []
    while len(orders) < many:
        order = random.sample(range(world_size), world_size)
        if all(like(order) != like(other) for other in orders + [list(range(world_size))]):
            orders.append(order)
    return orders


def instances(random):
    """K = 3, 3, 4, 5, 1: owners at different places, sizes that K does not divide."""
    made = []
    for world_size, own in ((3, 1), (3, 2), (4, 2), (5, random.choice((2, 3)))):
        orders = arrivals(random, world_size, 2 if world_size == 3 else 3)
        elements = telling(random, world_size, orders, own)
        elements += [[fp16(x) for x in cancelling(random, world_size)] for _ in range(8)]
        elements.append([fp16(x) for x in overflowing(random, world_size)])
        infinite = [fp16(x) for x in alike(random, world_size)]
        infinite[random.randrange(world_size)] = math.inf  # an overflow must stay one
        elements.append(infinite)
        random.shuffle(elements)
        if len(elements) % world_size == 0:
            elements.append(element(random, world_size))
        made.append(_instance(random, own, orders, elements))
    made.append(_instance(random, 0, [[0], [0]], [[value] for value in alike(random, 5)]))
    made.append(_instance(random, 1, arrivals(random, 3, 2), [], 3))  # an empty shard: K > N
    return made


def _instance(random, own, orders, elements, world_size=0):
    contributions = ([[bits_of(x) for x in values] for values in zip(*elements)]
                     or [[] for _ in range(world_size)])
    return {"rank": own, "contributions": contributions, "orders": orders,
            "garbage": 0x7d00 + random.randrange(256)}  # a NaN that no arithmetic returns


def describe(instance):
    contributions = instance["contributions"]
    return (f"K = {len(contributions)}, rank {instance['rank']} owns "
            f"{len(contributions[0])} elements")


# ---- what is said of a result ----

def judge(instance, result, expected):
    runs = [(run["average"], run["never_arrived"]) for run in result]
    if len(runs) != len(instance["orders"]):
        raise ValueError("not one result for each order")
    for run in result:
        for side in ("before", "behind"):
            if any(bits != instance["garbage"] for bits in run[side]):
                return [Finding("arrived", f"something was written {side} average, which has "
                                           f"{len(expected)} elements",
                                "which elements the last loop goes over")]
    for average, absent in runs:
        if not set(absent) <= set(range(len(instance["contributions"]))):
            raise ValueError("not ranks")
        if len(average) != len(expected) or not all(
                isinstance(bits, int) and 0 <= bits < 1 << 16 for bits in average):
            raise ValueError("not the bits of every element")
    where = describe(instance)
    for order, (average, absent) in zip(instance["orders"], runs):
        for i, bits in enumerate(average):
            text, look = _garbage(i, bits, instance["garbage"], absent)
            if text:
                return [Finding("arrived", text, look, f"{where}; arrival {_ranks(order)}")]
    first = runs[0][0]
    for order, (average, _) in zip(instance["orders"][1:], runs[1:]):
        for i, (bits, before) in enumerate(zip(average, first)):
            if bits != before:
                return [Finding(
                    "same bits",
                    "the same contributions in another order of arrival gave other bits at "
                    f"element {i}: {_bits(bits)}, before {_bits(before)}\n"
                    f"{_contributions(instance, i)}",
                    "what depends on the order in which contributions come",
                    f"{where}; arrival {_ranks(order)}, before {_ranks(instance['orders'][0])}")]
    for i, (bits, wanted) in enumerate(zip(first, expected)):
        if bits != wanted:
            return [Finding("numbers",
                            f"element {i}: {_bits(bits)}, expected {_bits(wanted)}\n"
                            f"{_contributions(instance, i)}",
                            _cause(instance, first), where)]
    return []


def _garbage(i, bits, garbage, absent):
    """What is wrong where an element was not computed from numbers, and what to look at; or ""."""
    if bits == garbage:
        return f"element {i} of average was not written", "which elements the last loop goes over"
    if bits & 0x7fff <= 0x7c00:
        return "", ""
    if absent:
        those = "contributions of ranks" if len(absent) > 1 else "contribution of rank"
        return (f"element {i} is NaN: when the function returned, the {those} "
                f"{_ranks(sorted(absent))} had not arrived, since nothing waited; a slot is NaN "
                "until then", "which calls wait, and for whom")
    return (f"element {i} is NaN, though every contribution arrived and none is NaN: a slot was "
            "read before its contribution had arrived, or average before it was written",
            "what is read before the call that waits for it")


def _bits(bits):
    return f"{bits:#06x} ({value_of(bits):.6g})"


def _contributions(instance, i):
    values = [f"{value_of(sent[i]):.6g}" for sent in instance["contributions"]]
    return f"contributions of the ranks 0 to {len(values) - 1}: {', '.join(values)}"


def _ranks(ranks):
    return ", ".join(map(str, ranks))


def _cause(instance, average):
    """What to look at: known when another way gives these very bits for every element."""
    elements = [[value_of(bits) for bits in sent] for sent in zip(*instance["contributions"])]
    causes = {look for look, way in other_ways(len(elements[0]), instance["rank"])
              if len(elements[0]) > 1 and [way(values) for values in elements] == average}
    return causes.pop() if len(causes) == 1 else "the definition in README.md, word by word"
