"""The initial values of common/model/random.cpp in numpy: the same bits.

Only +, -, *, / and the square root of fp64 are used, which IEEE 754 defines to the last bit.
"""

import numpy as np


def mix(x):
    """The finalizer of SplitMix64, on an array of uint64 (products are modulo 2^64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def random_bits(seed, counter):
    key = mix(np.array([seed], dtype=np.uint64))
    return mix(key + (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


def logarithm(x):
    m, e = np.frexp(x)  # m in [1/2, 1)
    low = m < np.sqrt(0.5)
    m, e = np.where(low, 2 * m, m), np.where(low, e - 1, e)  # m in [sqrt(1/2), sqrt(2))
    s = (m - 1) / (m + 1)
    series = np.zeros_like(s)
    for n in range(21, 0, -2):
        series = series * (s * s) + 1.0 / n
    return e * 0.6931471805599453 + 2 * s * series


def sine(x):
    series = np.ones_like(x)
    for n in range(22, 0, -2):
        series = 1 - series * (x * x) * (1.0 / (n * (n + 1)))
    return x * series


def standard_normal(seed, positions):
    """fp64, by the method of Box and Muller; positions: an array of int64."""
    counter = 2 * positions.astype(np.uint64)
    u = ((random_bits(seed, counter) >> np.uint64(11)) + np.uint64(1)).astype(np.float64) * 2.0**-53
    v = (random_bits(seed, counter + np.uint64(1)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    cosine = sine(6.283185307179586 * (np.abs(v - 0.5) - 0.25))
    return np.sqrt(-2 * logarithm(u)) * cosine


def initial_values(seed, name, shape, begin, layers):
    """The tensor `name` of GPT-2, whose first element is at position `begin` of the flat vector."""
    size = int(np.prod(shape))
    if name.endswith("bias"):
        return np.zeros(shape, dtype=np.float32)
    if "ln_" in name:
        return np.ones(shape, dtype=np.float32)
    # GPT-2 makes the projections into the residual stream smaller by sqrt(2 * layers).
    deviation = 0.02 / np.sqrt(2.0 * layers) if "c_proj" in name else 0.02
    z = standard_normal(seed, np.arange(begin, begin + size))
    return (np.float64(np.float32(deviation)) * z).astype(np.float32).reshape(shape)
