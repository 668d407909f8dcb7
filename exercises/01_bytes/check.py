"""Exercise 01: what the functions are asked, and what is said of their answers."""

import math

from ladder import Finding

PRECISIONS = ("fp32", "mixed", "mixed_with_fp32_gradients")
STATES = ("parameters", "gradients", "optimizer states")
LOOK = {
    "count": "the table of tensors in README.md; a block's rows count L times",
    "bytes": "the bytes that one parameter costs: in which types is each of the three states?",
    "sharding": "which of the three states this stage divides among the ranks",
    "padding": "how long a shard is when K does not divide N: all ranks' are equally long",
    "units": "GiB is not GB, and neither is a whole number",
}


def model(layers, channels, context, vocab):
    return {"layers": layers, "channels": channels, "context": context, "vocab": vocab}


def instances(random):
    """One list of calls for each rung. The random shapes are odd, so that no two ways to count
    come to the same by accident."""

    def odd(low, high):
        return random.randrange(low | 1, high, 2)

    small = [model(random.randint(1, 4), odd(3, 40), odd(5, 60), odd(61, 99)) for _ in range(3)]
    gpt2 = model(12, 768, 1024, 50257)
    billions = model(odd(30, 50), odd(3000, 5000), odd(1025, 4096), odd(30000, 60000))
    trillion = model(odd(110, 130), odd(24000, 26000), odd(1025, 4096), odd(30000, 60000))
    bigram = model(0, 1, 1, 1)  # five parameters: fewer than ranks
    models = [gpt2] + small + [billions, trillion, bigram]

    count = [{"function": "num_parameters", "model": each} for each in models]
    bytes_of_one = [_state_bytes(each, stage, 1, 0, precision)
                    for each in (small[0], billions)
                    for precision in PRECISIONS for stage in range(4)]
    # N has the factor C, so K divides N where it divides C.
    divided = [(model(2, K * odd(3, 9), odd(5, 60), odd(61, 99)), K) for K in (3, 4, 5)]
    divided.append((model(odd(30, 50), 4096, odd(1025, 4096), odd(30000, 60000)), 64))
    sharding = [_state_bytes(each, stage, K, random.randrange(K), precision)
                for each, K in divided for precision in PRECISIONS for stage in range(4)]

    undivided = [(_not_divided(random, K), K) for K in (3, 4, 5, random.choice((7, 11, 13)))]
    undivided += [(trillion, _no_divisor(trillion, 1024)), (bigram, random.randint(6, 9))]
    padding = [_state_bytes(each, stage, K, rank, random.choice(PRECISIONS))
               for each, K in undivided for stage in range(4)
               for rank in (0, random.randrange(1, K - 1), K - 1)]
    sizes = [0, 1 << 30, 10 ** 9, 120 * 10 ** 9, random.randrange(1, 1 << 30),
             random.randrange(1 << 33, 1 << 44)]
    units = [{"function": function, "bytes": size}
             for size in sizes for function in ("gibibytes", "gigabytes")]
    return [{"rung": rung, "calls": calls}
            for rung, calls in (("count", count), ("bytes", bytes_of_one), ("sharding", sharding),
                                ("padding", padding), ("units", units))]


def _state_bytes(shape, stage, world_size, rank, precision):
    return {"function": "state_bytes", "model": shape, "stage": stage, "world_size": world_size,
            "rank": rank, "precision": precision}


def _size(shape):
    """N, to find out what divides it."""
    L, C, T, V = (shape[name] for name in ("layers", "channels", "context", "vocab"))
    return C * (2 * V + T + L * (12 * C + 13) + 2)


def _not_divided(random, world_size):
    while True:
        shape = model(random.randint(1, 3), random.randrange(3, 40), random.randrange(5, 60),
                      random.randrange(61, 99))
        if _size(shape) % world_size:
            return shape


def _no_divisor(shape, world_size):
    while _size(shape) % world_size == 0:
        world_size += 1
    return world_size


def describe(instance):
    called = " and ".join(sorted({call["function"] for call in instance["calls"]}))
    return f"{len(instance['calls'])} calls of {called}, for the rung {instance['rung']}"


def judge(instance, result, expected):
    """At most one finding for each call, on the rung that the instance is for."""
    rung, calls = instance["rung"], instance["calls"]
    if not isinstance(result, list) or len(result) != len(calls):
        raise ValueError("not one result for each call")
    findings = []
    for call, got, right in zip(calls, result, expected):
        if "threw" in got:
            text, look = str(got["threw"])[:500], ""
            if not text.startswith(call["function"]):  # a blank names itself
                text = f"{call['function']} threw: {text}"
        else:
            text, look = _wrong(call, got["returned"], right), LOOK[rung]
        if text:
            findings.append(Finding(rung, text, look, _case(call)))
    return findings


def _wrong(call, got, right):
    """What is wrong with what a call returned, or ""."""
    function, wanted = call["function"], right["returned"]
    if function == "state_bytes":
        return _wrong_bytes(call, got, right)
    if function == "num_parameters":
        return "" if got == wanted else _wrong_count(call["model"], got, wanted)
    # Results that differ in the last bits only may come from another, equally good division.
    if isinstance(got, float) and math.isclose(got, wanted, rel_tol=1e-12):
        return ""
    return f"{function}({call['bytes']:,} B) is {_number(got)}, expected {wanted!r}"


def _wrong_count(shape, got, wanted):
    text = f"num_parameters is {_number(got)}, expected {wanted:,}"
    if not _is_whole(got):
        return text
    many = abs(got - wanted)
    return (f"{text}: {many:,} too {'many' if got > wanted else 'few'}"
            f"{_as_product(shape, many)}")


def _as_product(shape, number):
    """" = 3 x L x C" where the number is a small multiple of something in the table."""
    L, C, T, V = (shape[name] for name in ("layers", "channels", "context", "vocab"))
    for name, size in (("V x C", V * C), ("T x C", T * C), ("L x C x C", L * C * C), ("C", C),
                       ("L x C", L * C)):
        if size and number % size == 0 and number // size <= 13:
            times = number // size
            return f" (= {name})" if times == 1 else f" (= {times} x {name})"
    return ""


def _wrong_bytes(call, got, right):
    if not isinstance(got, list) or len(got) != len(STATES):
        raise ValueError("not the bytes of three states")
    for state, has, wants in zip(STATES, got, right["returned"]):
        if has != wants:
            text = (f"rank {call['rank']} of {call['world_size']}, stage {call['stage']}, "
                    f"{call['precision']}: {state} {_number(has)} B, expected {wants:,} B")
            if call["world_size"] == 1 and _is_whole(has):
                each = right["parameters"]
                text += f" ({has / each:.4g} B a parameter, expected {wants / each:g})"
            return text
    return ""


def _is_whole(value):
    """A whole number, of 64 bits: a larger one was not written by the child."""
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    if not -2 ** 63 <= value < 2 ** 63:
        raise ValueError("more than 64 bits")
    return True


def _number(value):
    if _is_whole(value):
        return f"{value:,}"
    return "not a number" if value is None else str(value)[:40]


def _case(call):
    if "model" not in call:
        return f"{call['bytes']:,} B"
    shape = call["model"]
    ranks = f"K = {call['world_size']}, " if "world_size" in call else ""
    return (f"{ranks}N = {_size(shape):,}: L = {shape['layers']}, C = {shape['channels']}, "
            f"T = {shape['context']}, V = {shape['vocab']}")
