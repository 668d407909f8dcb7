"""Whether an answer's norm, decisions and states are those of mixed-precision training."""

import math
import struct

from ladder import Finding

NORM = 1e-12        # relative: fp64 in any order
STATES = 1e-5       # of exp_avg and exp_avg_sq, relative to the largest of the rank so far
MASTER = 1e-4       # of the master, for each update so far, relative to the learning rate
ROUNDING = 2e-7     # of the master, for each update so far, relative to its value: fp32
MOST_GATHERS = 2    # of one scalar per rank, in a call
LARGEST = 65504.0   # that fp16 has


# ---- instances ----

def instances(random):
    """"master": the bits of fp32 numbers, by rank; "grads": of fp16 numbers, by iteration and rank:
    averaged over the ranks and scaled. One iteration has an infinite element, another one a NaN,
    each on one rank alone; one has nothing but zeros, and one the largest that is finite."""
    chosen = [_ordinary(random, ranks=3, size=11, padding=2)]
    while not order_matters(chosen[0]):
        chosen[0] = _ordinary(random, ranks=3, size=11, padding=2)
    chosen.append(_ordinary(random, ranks=4, size=7, padding=1))
    chosen.append(_ordinary(random, ranks=5, size=5, padding=3))
    chosen.append(_ordinary(random, ranks=1, size=13, padding=0))
    chosen.append(_ordinary(random, ranks=3, size=1, padding=0))
    # The loss scale at its ends.
    chosen.append(_instance(random, 3, 5, 1, 1.0, 3, "inf good nan good good"))
    chosen.append(_instance(random, 4, 3, 0, 2.0 ** 24, 1, "good good nan good"))
    # Finite, and so no overflow: no gradient at all, and a norm beyond fp16, scaled or not.
    chosen.append(_instance(random, 3, 6, 1, 1.0, 3, "good zero huge good"))
    chosen.append(_instance(random, 5, 4, 2, 1024.0, 3, "good huge zero nan good"))
    return chosen


def _ordinary(random, ranks, size, padding):
    window = random.choice((2, 3))
    first, second = random.sample(("inf", "nan"), 2)
    schedule = ["good"] * (window - 1) + [first] + ["good"] * (window + 1) + [second, "good"]
    return _instance(random, ranks, size, padding, 2.0 ** random.randrange(9, 13), window,
                     " ".join(schedule))


def _instance(random, ranks, size, padding, scale, window, schedule):
    # Gradients of about this size; with a large scale they must be small to fit into fp16.
    unit = 2.0 ** -12 if scale > 2.0 ** 20 else 1.0
    hyper = {"learning_rate": random.uniform(0.01, 0.02), "beta1": random.uniform(0.8, 0.9),
             "beta2": random.uniform(0.9, 0.97), "epsilon": unit * random.uniform(0.01, 0.03),
             "weight_decay": random.uniform(0.05, 0.2)}
    hyper = {name: _fp32(value) for name, value in hyper.items()}
    hyper["clip"] = unit * random.uniform(0.8, 1.2)
    used = ranks * size - padding
    master = [random.choice((-1, 1)) * random.uniform(0.1, 1) for _ in range(used)]
    grads, now = [], 0
    for what in schedule.split():
        # Now longer than the clip, now shorter.
        length = scale * unit * (random.uniform(2, 4) if now % 2 == 0 else random.uniform(0.2, 0.5))
        values = _gradient(random, used, length)
        if what == "zero":
            values = [0.0] * used
        elif what == "huge":
            for place in random.sample(range(used), 3):
                values[place] = random.choice((-1, 1)) * LARGEST
        elif what == "good" and now > 0 and used > 3:
            values[random.randrange(used)] = 0.0  # its states decay all the same
        if what in ("inf", "nan"):
            # Each time on another rank; not in the padding.
            place = min(now % ranks * size + random.randrange(size), used - 1)
            values[place] = random.choice((-1, 1)) * math.inf if what == "inf" else math.nan
        grads.append(_shards([_fp16_bits(value) for value in values], ranks, size))
        now += 1
    return {"ranks": ranks, "scale": scale, "window": window, "hyper": hyper, "grads": grads,
            "master": _shards([_fp32_bits(value) for value in master], ranks, size)}


def _gradient(random, size, length):
    """Values of very different sizes, so that sums of their squares have to be rounded; with the
    2-norm `length`."""
    exponents = [random.uniform(-3, 0) if random.random() < 0.6 else random.uniform(-18, -8)
                 for _ in range(size)]
    exponents[random.randrange(size)] = 0
    values = [random.choice((-1, 1)) * 2.0 ** exponent for exponent in exponents]
    factor = length / math.sqrt(math.fsum(value * value for value in values))
    return [value * factor for value in values]


def _shards(values, ranks, size):
    values = values + [0] * (ranks * size - len(values))
    return [values[rank * size:(rank + 1) * size] for rank in range(ranks)]


def order_matters(instance):
    """Whether the norm of some iteration depends on the rank that one begins to add with."""
    ranks = instance["ranks"]
    for grads in instance["grads"]:
        sums = [sum(_fp16(bits) ** 2 for bits in shard) for shard in grads]
        if not math.isfinite(sum(sums)):
            continue
        norms = set()
        for begin in range(ranks):
            total = 0.0
            for step in range(ranks):
                total += sums[(begin + step) % ranks]
            norms.add(math.sqrt(total))
        if len(norms) > 1:
            return True
    return False


def describe(instance):
    return (f"K = {instance['ranks']}, shards of {len(instance['master'][0])} elements, "
            f"{len(instance['grads'])} iterations, loss scale {instance['scale']:,.0f}, "
            f"window {instance['window']}")


# ---- judgement ----

def judge(instance, result, expected):
    _check_shape(instance, result)
    findings = []
    before = _initial(instance)
    largest = {}
    good = 0  # iterations in a row
    for i, (ranks, wanted) in enumerate(zip(result, expected)):
        at = f"iteration {i + 1}"
        findings += _norm(at, ranks, wanted)
        good = 0 if wanted["norm"] is None else good + 1
        findings += _skips(at, ranks, wanted, before, instance, i, good)
        findings += _numbers(at, ranks, wanted, instance, largest)
        findings += _traffic(at, ranks)
        before = ranks
    # The first on each rung: what follows from it is of no use.
    first = {finding.rung: finding for finding in reversed(findings)}
    return list(first.values())


def _check_shape(instance, result):
    """ValueError where `result` is not what child.cpp writes: whoever wrote it instead is told no
    more than that."""
    size = len(instance["master"][0])
    whole = {"norm": 64, "scale": 32, "norm_all_gathers": 31, "update_all_gathers": 31}
    arrays = {"params": 16, "master": 32, "exp_avg": 32, "exp_avg_sq": 32}

    def is_number(value, bits):
        return type(value) is int and 0 <= value < 1 << bits

    right = len(result) == len(instance["grads"]) and all(
        len(ranks) == instance["ranks"] and all(
            all(is_number(part[name], bits) for name, bits in whole.items())
            and all(len(part[name]) == size and all(is_number(value, bits) for value in part[name])
                    for name, bits in arrays.items())
            and type(part["steps"]) is int and type(part["updated"]) is bool
            and type(part["blank"]) is str
            and all(type(at) is int for at in part["damaged"])
            for part in ranks)
        for ranks in result)
    if not right:
        raise ValueError("not a result")


def _initial(instance):
    return [{"steps": 0, "master": master, "exp_avg": [0] * len(master),
             "exp_avg_sq": [0] * len(master),
             "params": [_fp16_bits(_fp32_of(bits)) for bits in master]}
            for master in instance["master"]]


def _norm(at, ranks, wanted):
    norms = [_fp64_of(part["norm"]) for part in ranks]
    for rank, (norm, part) in enumerate(zip(norms, ranks)):
        there = f"rank {rank}, {at}: global_norm returns {norm:.17g}"
        if wanted["norm"] is None:
            if math.isfinite(norm):
                return [Finding("norm", f"{there}, expected infinity or NaN, as an element of some "
                                        "rank is",
                                look="how an overflow on one rank becomes known to the others")]
        elif not abs(norm - wanted["norm"]) <= NORM * wanted["norm"]:
            return [Finding("norm", f"{there}, expected {wanted['norm']:.17g}",
                            look=_norm_look(norm, wanted["norm"]))]
        elif part["norm"] != ranks[0]["norm"]:
            return [Finding("norm", f"{there}, and rank 0 {norms[0]:.17g}: all ranks must have the "
                                    "same bits",
                            look="the order in which each rank adds what all_gather returned")]
    return []


def _norm_look(norm, wanted):
    if not math.isfinite(norm):
        return "in which type the squares are computed: fp16 ends at 65504"
    if abs(norm - wanted) <= 1e-3 * wanted:
        return "in which type the squares are computed and added"
    return "whose elements are in this sum, and where the square root is taken"


def _skips(at, ranks, wanted, before, instance, iteration, good):
    """The decision, and what must not change then. `good`: iterations in a row, with this one."""
    grads = instance["grads"][iteration]
    skip = wanted["norm"] is None
    where = [rank for rank, shard in enumerate(grads)
             if not all(math.isfinite(_fp16(bits)) for bits in shard)]
    why = (f"rank {where[0]}'s gradients are not finite" if skip
           else "all gradients of all ranks are finite")
    for rank, (part, old) in enumerate(zip(ranks, before)):
        here = f"rank {rank}, {at}"
        if part["blank"]:
            return [Finding("skips", part["blank"])]
        if part["updated"] == skip:
            return [Finding("skips", f"{here}: update returns {_word(part['updated'])}, expected "
                                     f"{_word(not skip)}: {why}",
                            look="what the decision depends on: it has to be the same number on "
                                 "every rank")]
        for name in ("steps", "exp_avg", "exp_avg_sq", "master", "params") if skip else ():
            if part[name] != old[name]:
                return [Finding("skips", f"{here}: {why}, and {_change(name, old, part)}; expected "
                                         "no change",
                                look="what is written before the decision is taken")]
        scale = _fp32_of(part["scale"])
        if scale != wanted["scale"]:
            return [Finding("skips", f"{here}: the loss scale then is {scale:,.6g}, "
                                     f"expected {wanted['scale']:,.6g}: "
                                     + (why if skip else
                                        f"good iterations in a row: {good}, since the start or "
                                        f"the last skip; window {instance['window']}"),
                            look="when the scale is halved and doubled, from when its good "
                                 "iterations count, and between which bounds it stays")]
    return []


def _change(name, old, new):
    if name == "steps":
        return f"steps was {old[name]} and is {new[name]}"
    i = next(i for i, bits in enumerate(new[name]) if bits != old[name][i])
    value = _fp16 if name == "params" else _fp32_of
    return f"{name}[{i}] was {value(old[name][i]):.6g} and is {value(new[name][i]):.6g}"


def _numbers(at, ranks, wanted, instance, largest):
    """`largest`: of each state and rank so far, by which differences are measured."""
    if wanted["norm"] is None:
        return []
    for rank, part in enumerate(ranks):
        here = f"rank {rank}, {at}"
        if part["damaged"]:
            return [Finding("numbers", f"{here}: element {part['damaged'][0]} of an array of "
                                       f"{len(part['params'])} was written to",
                            look="where the loop over the shard ends")]
        if part["steps"] != wanted["steps"]:
            return [Finding("numbers", f"{here}: steps is {part['steps']}, "
                                       f"expected {wanted['steps']}",
                            look="which iterations count as steps")]
        for name in ("exp_avg", "exp_avg_sq", "master"):
            right = wanted["states"][name][rank]
            size = max([largest.get((name, rank), 0)] + [abs(value) for value in right])
            largest[name, rank] = size
            for i, value in enumerate(right):
                there = _fp32_of(part[name][i])
                allowed = STATES * size
                if name == "master":
                    allowed = wanted["steps"] * (MASTER * instance["hyper"]["learning_rate"]
                                                 + ROUNDING * abs(value))
                if not abs(there - value) <= allowed:
                    return [Finding("numbers", f"{here}: {name}[{i}] is {there:.9g}, expected "
                                               f"{value:.9g} within {allowed:.1g}",
                                    look=_LOOK[name])]
        for i, bits in enumerate(part["params"]):
            master = _fp32_of(part["master"][i])
            if bits != _fp16_bits(master):
                right = _fp16(_fp16_bits(master))
                return [Finding("numbers", f"{here}: params[{i}] is {_fp16(bits):.9g}, expected "
                                           f"{right:.9g}: the master, {master:.9g}, rounded to the "
                                           "nearest fp16",
                                look="what the forward pass of the next iteration will use")]
    return []


_LOOK = {
    "exp_avg": "what each gradient is multiplied by before AdamW sees it, and which loss scale it "
               "carries",
    "exp_avg_sq": "which gradient is squared, and with which beta it is averaged",
    "master": "the formula of the update, from the bias corrections to the weight decay, and which "
              "copy of the parameters it begins with",
}


def _traffic(at, ranks):
    for rank, part in enumerate(ranks):
        for name, count in (("global_norm", part["norm_all_gathers"]),
                            ("update", part["update_all_gathers"])):
            if count > MOST_GATHERS:
                return [Finding("traffic", f"rank {rank}, {at}: {name} calls all_gather {count:,} "
                                           f"times, expected at most {MOST_GATHERS}",
                                look="what each rank can add up alone before it asks the others")]
    return []


# ---- numbers ----

def _fp32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _fp32_bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def _fp32_of(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def _fp16(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def _fp16_bits(value):
    """Rounded to the nearest fp16, ties to even; too large becomes infinity, and NaN stays NaN."""
    try:
        return struct.unpack("<H", struct.pack("<e", value))[0]
    except OverflowError:
        return 0x7c00 if value > 0 else 0xfc00


def _fp64_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def _word(flag):
    return "true" if flag else "false"
