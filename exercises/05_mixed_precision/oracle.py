"""What the norm, the decisions and the states are, from the definitions (see README.md), in fp64;
what is kept in fp32 is rounded to fp32."""

import math
import struct


def fp32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def fp16_value(bits):
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def fp32_value(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def norm_of(grads):
    """The 2-norm of the whole gradient, grads[rank] being values, or None where one is infinite or
    NaN. Squares of fp16 numbers are exact in fp64, and so is fsum but for its last rounding."""
    values = [value for shard in grads for value in shard]
    if not all(math.isfinite(value) for value in values):
        return None
    return math.sqrt(math.fsum(value * value for value in values))


class Parameter:
    """One parameter and its optimizer states."""

    def __init__(self, master):
        self.master, self.exp_avg, self.exp_avg_sq = master, 0.0, 0.0

    def update(self, grad, step, hyper):
        """AdamW, with a gradient that is unscaled and clipped."""
        beta1, beta2 = hyper["beta1"], hyper["beta2"]
        self.exp_avg = fp32(beta1 * self.exp_avg + (1 - beta1) * grad)
        self.exp_avg_sq = fp32(beta2 * self.exp_avg_sq + (1 - beta2) * grad * grad)
        average = self.exp_avg / (1 - beta1 ** step)
        deviation = math.sqrt(self.exp_avg_sq / (1 - beta2 ** step))
        direction = average / (deviation + hyper["epsilon"])
        self.master = fp32(self.master - hyper["learning_rate"]
                           * (direction + hyper["weight_decay"] * self.master))


def expected(instance):
    """For each iteration: the norm (None where it is not finite), the loss scale afterwards, how
    many updates there have been, and the states by rank, where they change."""
    hyper = instance["hyper"]
    scale, good, step = instance["scale"], 0, 0
    shards = [[Parameter(fp32_value(bits)) for bits in shard] for shard in instance["master"]]
    iterations = []
    for bits in instance["grads"]:
        grads = [[fp16_value(one) for one in shard] for shard in bits]
        norm = norm_of(grads)
        if norm is None:
            scale, good = max(1.0, scale / 2), 0
        else:
            step += 1
            clipping = min(1.0, hyper["clip"] / (norm / scale + 1e-6))
            for shard, values in zip(shards, grads):
                for parameter, grad in zip(shard, values):
                    parameter.update(grad * clipping / scale, step, hyper)
            good += 1
            if good == instance["window"]:
                scale, good = min(2.0 ** 24, scale * 2), 0
        states = None if norm is None else {
            name: [[float(f"{getattr(parameter, name):.9g}") for parameter in shard]
                   for shard in shards] for name in ("exp_avg", "exp_avg_sq", "master")}
        iterations.append({"norm": norm, "scale": scale, "steps": step, "states": states})
    return iterations
