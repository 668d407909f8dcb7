"""Whether the ring collectives of an answer sent what they should, and ended with the averages."""

import struct

from ladder import Finding

SMALL = 256  # bytes that an answer may take beside one shard: for what is not made of elements
COLLECTIVES = ("reduce_scatter", "all_gather", "all_reduce")
PLACES = ("1st", "2nd", "3rd")


# ---- instances ----

def instances(random):
    """{"ranks": K, "values": the bits of fp32 numbers, for each rank N of them}."""
    chosen = []
    for ranks in (3, 4, 5, 1):
        if ranks == 1:
            sizes = [random.randrange(2, 10), 1]
        else:
            odd = random.choice([n for n in range(3 * ranks, 6 * ranks) if n % 2 and n % ranks])
            large = ranks * random.randrange(100, 120) + random.randrange(1, ranks)
            sizes = [odd, ranks * random.randrange(2, 5), 0, 1, ranks - 1, ranks + 1, large]
        chosen += [{"ranks": ranks, "values": [[_number(random) for _ in range(size)]
                                               for _ in range(ranks)]} for size in sizes]
    return chosen


def _number(random):
    """Of a size that varies: sums then depend on the order in which they are added."""
    value = random.choice((-1, 1)) * random.uniform(1, 2) * 2.0 ** random.randrange(-3, 4)
    return struct.unpack("<I", struct.pack("<f", value))[0]


def describe(instance):
    return f"K = {instance['ranks']}, N = {len(instance['values'][0])}"


# ---- judgement ----

def judge(instance, result, expected):
    _check_shape(instance, result)
    blank = [collective for collective in COLLECTIVES if result[collective][0]["blank"]]
    findings = []
    for collective in COLLECTIVES:
        if collective in blank:
            continue
        ranks = result[collective]
        for check in (_traffic, _numbers, _peak):
            # The first rank on which something is wrong says enough.
            found = (check(collective, instance, rank, ranks[rank], expected)
                     for rank in range(len(ranks)))
            findings += [finding for finding in found if finding][:1]
    if blank:
        return [_still_blank(result[blank[0]][0]["blank"], blank, findings)]
    return findings


def _still_blank(text, blank, findings):
    """On the rung that needs all three; but what there is already has been looked at."""
    there = [f"ring_{collective}" for collective in COLLECTIVES if collective not in blank]
    if findings:
        return Finding("ends", f"{findings[0].text}\nAnd {text}", look=findings[0].look)
    if there:
        text += f"\nSo far all is right: {' and '.join(there)}"
    return Finding("ends", text)


def _check_shape(instance, result):
    """ValueError where `result` is not what child.cpp writes: whoever wrote it instead is told no
    more than that."""
    elements = len(instance["values"][0])
    right = all(
        len(result[collective]) == instance["ranks"] and all(
            type(part["blank"]) is str and len(part["data"]) == elements
            and all(type(bits) is int and 0 <= bits < 1 << 32 for bits in part["data"])
            and all(kind in ("send", "receive") and type(peer) is int and type(size) is int
                    for kind, peer, size in part["log"])
            and type(part["peak"]) is int and all(type(at) is int for at in part["damaged"])
            for part in result[collective])
        for collective in COLLECTIVES)
    if not right:
        raise ValueError("not a result")


def shard(instance, rank):
    """The elements of a rank, as a range."""
    elements, ranks = len(instance["values"][0]), instance["ranks"]
    size = -(-elements // ranks)
    return range(min(elements, rank * size), min(elements, (rank + 1) * size))


def sent_by(collective, instance, rank):
    """Elements of each message that `rank` has to send, in order, without the empty ones."""
    ranks = instance["ranks"]
    first = {"reduce_scatter": [1], "all_gather": [0], "all_reduce": [1, 0]}[collective]
    sizes = [len(shard(instance, (rank - begin - step) % ranks))
             for begin in first for step in range(ranks - 1)]
    return [size for size in sizes if size]


def _traffic(collective, instance, rank, part, expected):
    ranks = instance["ranks"]
    name = f"ring_{collective}"
    lines = [(kind, peer, size) for kind, peer, size in part["log"] if size]  # empty ones are free
    here = (rank + 1) % ranks
    for direction, kind, peer, sizes in (
            ("to", "send", here, sent_by(collective, instance, rank)),
            ("from", "receive", (rank - 1) % ranks,
             sent_by(collective, instance, (rank - 1) % ranks))):
        seen = [line for line in lines if line[0] == kind]
        for i, (_, other, _) in enumerate(seen):
            if other != peer or ranks == 1:
                wanted = "expected none" if ranks == 1 else f"expected {direction} rank {peer}"
                return Finding("traffic", f"rank {rank}: {name} {kind}s its {_place(i)} message "
                                          f"{direction} rank {other}, {wanted}",
                               look="who is next to whom on the ring: each rank sends to one rank "
                                    "only, and receives from one only")
        there = [size for _, _, size in seen]
        if there != sizes:
            return Finding("traffic", _difference(rank, name, kind, there, sizes), look=_LOOK)
    return None


_LOOK = "how many steps there are, and whose shard is under way from which rank in each of them"


def _difference(rank, name, kind, there, sizes):
    rule = "every shard but one" + (", twice" if name == "ring_all_reduce" else "")
    if len(there) != len(sizes):
        return (f"rank {rank}: {name} {kind}s {_messages(len(there))} ({_bytes(4 * sum(there))}), "
                f"expected {_messages(len(sizes))} ({_bytes(4 * sum(sizes))}): {rule}")
    if sum(there) != sum(sizes):
        return (f"rank {rank}: {name} {kind}s {_bytes(4 * sum(there))} in all, "
                f"expected {_bytes(4 * sum(sizes))}: {rule}")
    i = next(i for i, size in enumerate(sizes) if size != there[i])
    return (f"rank {rank}: the {_place(i)} message that {name} {kind}s has {there[i]} elements, "
            f"expected {sizes[i]}")


def _numbers(collective, instance, rank, part, expected):
    name = f"ring_{collective}"
    if part["damaged"]:
        return Finding("numbers", f"rank {rank}: {name} wrote to element {part['damaged'][0]} of "
                                  f"data, which has elements 0 to {len(part['data']) - 1}",
                       look="where the last shards begin and end when K does not divide N")
    wanted = expected["gathered" if collective == "all_gather" else "average"]
    mine = shard(instance, rank)
    for i in mine if collective == "reduce_scatter" else range(len(wanted)):
        if part["data"][i] != wanted[i]:
            owner = next(r for r in range(instance["ranks"]) if i in shard(instance, r))
            return Finding("numbers", f"rank {rank}: after {name} element {i}, which rank {owner} "
                                      f"owns, is {_shown(part['data'][i])}, "
                                      f"expected {_shown(wanted[i])}",
                           look=_look(part["data"][i], wanted[i], instance, i))
    return None


def _look(there, wanted, instance, element):
    """What sort of difference it is."""
    if (there & 0x7f800000) == 0x7f800000:
        return "what arrived here: at the beginning it was garbage, a NaN"
    close = abs(_value(there) - _value(wanted)) <= 1e-5 * max(
        abs(_value(values[element])) for values in instance["values"])
    if close:
        return ("the order of the additions, and what is divided, when: the difference is one of "
                "rounding")
    return "which ranks' values have been added to this element, how often, and the division"


def _peak(collective, instance, rank, part, expected):
    limit = 4 * len(shard(instance, 0)) + SMALL
    if part["peak"] <= limit:
        return None
    return Finding("peak", f"rank {rank}: ring_{collective} allocates {_bytes(part['peak'])} > "
                           f"{_bytes(limit)}: one shard, and {SMALL} B for small things",
                   look="what must be kept of a message after it has been added")


def _value(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def _shown(bits):
    return f"{_value(bits):.9g} (0x{bits:08x})"


def _place(i):
    return PLACES[i] if i < len(PLACES) else f"{i + 1}th"


def _messages(count):
    return "one message" if count == 1 else f"{count} messages"


def _bytes(count):
    return f"{count:,} B"
