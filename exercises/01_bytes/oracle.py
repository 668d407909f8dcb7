"""What a right answer returns: GPT-2's tensors one by one, and what the paper and the lecture say
that a rank keeps of them."""

# Bytes of one element: parameters, gradients, and each number that the optimizer keeps.
MASTER = EXP_AVG = EXP_AVG_SQ = FP32_GRADIENT = 4
BYTES = {
    "fp32": (4, 4, [EXP_AVG, EXP_AVG_SQ]),
    "mixed": (2, 2, [MASTER, EXP_AVG, EXP_AVG_SQ]),                       # 16 in all: the paper
    "mixed_with_fp32_gradients": (2, 2, [MASTER, EXP_AVG, EXP_AVG_SQ, FP32_GRADIENT]),  # 20
}


def tensors(model):
    """The shapes of all tensors, in the order in which they lie in memory."""
    L, C, T, V = (model[name] for name in ("layers", "channels", "context", "vocab"))
    yield from [(V, C), (T, C)]                # wte, wpe
    for _ in range(L):
        yield from [(C,), (C,)]                # ln_1: weight, bias
        yield from [(3 * C, C), (3 * C,)]      # attn.c_attn
        yield from [(C, C), (C,)]              # attn.c_proj
        yield from [(C,), (C,)]                # ln_2
        yield from [(4 * C, C), (4 * C,)]      # mlp.c_fc
        yield from [(C, 4 * C), (C,)]          # mlp.c_proj
    yield from [(C,), (C,)]                    # ln_f
    yield (V, C)                               # lm_head.weight


def count(model):
    total = 0
    for shape in tensors(model):
        size = 1
        for extent in shape:
            size *= extent
        total += size
    return total


def held(parameters, stage, world_size, precision):
    """Bytes of the parameters, gradients and optimizer states that one rank keeps (ZeRO paper,
    section 5), with the padding: every rank's shard is equally long."""
    padded = parameters
    while padded % world_size:
        padded += 1
    shard = padded // world_size
    of_parameter, of_gradient, of_optimizer = BYTES[precision]
    return [of_parameter * (shard if stage in (3,) else padded),
            of_gradient * (shard if stage in (2, 3) else padded),
            sum(of_optimizer) * (shard if stage in (1, 2, 3) else padded)]


def expected(instance):
    results = []
    for call in instance["calls"]:
        function = call["function"]
        if function == "gibibytes":
            results.append({"returned": call["bytes"] / 1024 ** 3})
        elif function == "gigabytes":
            results.append({"returned": call["bytes"] / 1000 ** 3})
        else:
            parameters = count(call["model"])
            results.append({"parameters": parameters, "returned": parameters})
            if function == "state_bytes":
                results[-1]["returned"] = held(parameters, call["stage"], call["world_size"],
                                               call["precision"])
    return results
