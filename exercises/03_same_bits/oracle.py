"""What a right answer returns, by the definition, in exact fractions that are rounded where the
definition rounds."""

import fractions

INFINITY = 0x7c00


def rounded(exact, significant, smallest):
    """The nearest multiple of 2^smallest, or of what leaves `significant` bits; ties to even."""
    if exact == 0:
        return exact
    exponent = 0  # of the highest bit
    while abs(exact) >= fractions.Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(exact) < fractions.Fraction(2) ** exponent:
        exponent -= 1
    unit = fractions.Fraction(2) ** max(exponent - significant + 1, smallest)
    return round(exact / unit) * unit  # Python's round() of a fraction: ties to even


def fp32(exact):
    return rounded(exact, 24, -149)


def value_of(bits):
    """An fp16 that is finite."""
    exponent, mantissa = bits >> 10 & 0x1f, bits & 0x3ff
    magnitude = (fractions.Fraction(1024 + mantissa) * fractions.Fraction(2) ** (exponent - 25)
                 if exponent else fractions.Fraction(mantissa) * fractions.Fraction(2) ** -24)
    return -magnitude if bits >> 15 else magnitude


def bits_of(exact, negative):
    """`negative`: the sign of what became 0."""
    magnitude = rounded(abs(exact), 11, -24)
    if magnitude > 65504:
        return INFINITY | negative << 15
    # Among fp16's numbers from 0 upwards, the bits count them.
    low, high = 0, INFINITY - 1
    while low < high:
        middle = (low + high) // 2
        if value_of(middle) < magnitude:
            low = middle + 1
        else:
            high = middle
    return low | negative << 15


def average(contributions):
    """Of one element: the bits of a[0], a[1], ..., a[K-1]."""
    infinite = [bits for bits in contributions if bits & 0x7fff == INFINITY]
    if infinite:
        return infinite[0]  # there are never two of them
    total = value_of(contributions[0])
    for bits in contributions[1:]:
        total = fp32(total + value_of(bits))
    mean = fp32(total / len(contributions))
    return bits_of(mean, mean < 0)


def expected(instance):
    return [average(contributions) for contributions in zip(*instance["contributions"])]
