"""The oracles of exercises 01 and 03 against numbers that others printed, or that are known."""

import math
import pathlib
import random
import sys
import unittest

COURSE = pathlib.Path(__file__).resolve().parents[2] / "exercises" / "course"
sys.path.insert(0, str(COURSE))

import exercise  # noqa: E402

BYTES, SAME_BITS = exercise.find("01"), exercise.find("03")

# ZeRO paper (arXiv:1910.02054), table 1: GB per rank in stages 1, 2 and 3, as printed, which is
# sometimes rounded and sometimes cut. M = 12. {(billions of parameters, K): ...}
TABLE_1 = {
    (7.5, 1): ("120", "120", "120"),
    (7.5, 4): ("52.5", "41.3", "30"),
    (7.5, 16): ("35.6", "21.6", "7.5"),
    (7.5, 64): ("31.4", "16.6", "1.88"),
    (7.5, 256): ("30.4", "15.4", "0.47"),
    (7.5, 1024): ("30.1", "15.1", "0.12"),
    (128, 1): ("2048", "2048", "2048"),
    (128, 4): ("896", "704", "512"),
    (128, 16): ("608", "368", "128"),
    (128, 64): ("536", "284", "32"),
    (128, 256): ("518", "263", "8"),
    (128, 1024): ("513", "257", "2"),
    (1000, 1): ("16000", "16000", "16000"),
    (1000, 4): ("7000", "5500", "4000"),
    (1000, 16): ("4750", "2875", "1000"),
    (1000, 64): ("4187", "2218", "250"),
    (1000, 256): ("4046", "2054", "62.5"),
    (1000, 1024): ("4011", "2013", "15.6"),
}


def with_parameters(number):
    """A model with exactly so many: without blocks and with one channel, N = 2 V + T + 2."""
    context = 2 if number % 2 == 0 else 1
    return {"layers": 0, "channels": 1, "context": context, "vocab": (number - 2 - context) // 2}


def answers(*calls):
    return [one["returned"] for one in BYTES.expected({"rung": "", "calls": list(calls)})]


def count(model):
    return answers({"function": "num_parameters", "model": model})[0]


def states(model, stage, world_size, precision):
    return answers({"function": "state_bytes", "model": model, "stage": stage, "rank": 0,
                    "world_size": world_size, "precision": precision})[0]


def gigabytes(billions, stage, world_size, precision="mixed"):
    model = with_parameters(round(billions * 10 ** 9))
    return sum(states(model, stage, world_size, precision)) / 10 ** 9


class Bytes(unittest.TestCase):

    def test_a_model_of_any_size_can_be_made(self):
        for number in (5, 6, 7_500_000_000, 10 ** 12 + 1):
            self.assertEqual(count(with_parameters(number)), number)

    def test_table_1_of_the_paper(self):
        for (billions, world_size), cells in TABLE_1.items():
            for stage, printed in enumerate(cells, start=1):
                last_digit = 10.0 ** -len(printed.partition(".")[2])
                with self.subTest(billions=billions, world_size=world_size, stage=stage):
                    self.assertLess(abs(gigabytes(billions, stage, world_size) - float(printed)),
                                    last_digit)

    def test_figure_1_of_the_paper_and_the_readme(self):
        exact = [gigabytes(7.5, stage, 64) for stage in range(4)]
        for got, wanted in zip(exact, (120, 31.40625, 16.640625, 1.875)):
            self.assertAlmostEqual(got, wanted, delta=1e-6)  # K does not divide N: the padding
        self.says("120, 31.4, 16.6 and 1.9 GB")

    def test_the_lecture_counts_16_bytes_for_the_optimizer(self):
        lecture = "mixed_with_fp32_gradients"
        self.assertEqual([gigabytes(8, stage, 4, lecture) for stage in range(4)], [160, 64, 52, 40])
        self.assertEqual(states(with_parameters(8 * 10 ** 9), 0, 1, lecture),
                         [16 * 10 ** 9, 16 * 10 ** 9, 128 * 10 ** 9])
        self.assertEqual(states(with_parameters(175 * 10 ** 9), 0, 1, lecture),
                         [350 * 10 ** 9, 350 * 10 ** 9, 2800 * 10 ** 9])
        self.says("160, 64, 52 and 40 GB")

    def test_other_sizes_that_are_often_named(self):
        self.assertEqual(states(with_parameters(1_500_000_000), 0, 1, "mixed")[0], 3 * 10 ** 9)
        self.assertEqual(gigabytes(1.5, 0, 1), 24)
        self.assertEqual(gigabytes(1000, 0, 1), 16000)

    def test_gpt_2_has_as_many_parameters_as_its_authors_code_counts(self):
        gpt2 = {"layers": 12, "channels": 768, "context": 1024, "vocab": 50257}
        self.assertEqual(count(gpt2) - 50257 * 768, 124_439_808)  # there the head is tied
        self.says(f"{count(gpt2):,}")

    def test_what_the_picture_measures(self):
        default = {"layers": 4, "channels": 128, "context": 16, "vocab": 256}  # model/config.h
        shown = [f"{size:,} B" for size in states(default, 0, 3, "mixed")]
        self.says(f"{shown[0]}, {shown[1]} and {shown[2]}")

    def test_padding_is_counted_in_elements(self):
        five = with_parameters(5)
        self.assertEqual(states(five, 0, 4, "mixed"), [16, 16, 96])
        self.assertEqual(states(five, 3, 4, "mixed"), [4, 4, 24])
        self.assertEqual(states(five, 3, 7, "fp32"), [4, 4, 8])

    def test_units(self):
        size = 3 * 2 ** 30
        self.assertEqual(answers({"function": "gibibytes", "bytes": size},
                                 {"function": "gigabytes", "bytes": size}), [3, 3.221225472])

    def says(self, text):
        self.assertIn(text, " ".join((BYTES.folder / "README.md").read_text().split()))


class SameBits(unittest.TestCase):

    def average(self, *values):
        contributions = [[SAME_BITS.module.bits_of(value)] for value in values]
        return SAME_BITS.module.value_of(SAME_BITS.expected({"contributions": contributions})[0])

    def test_the_readme_s_example(self):
        self.assertEqual(self.average(32768, 0.001, -32768), 0)
        self.assertAlmostEqual(self.average(32768, -32768, 0.001), 0.001 / 3, delta=1e-6)

    def test_the_sum_may_be_too_large_for_fp16_and_the_average_may_not(self):
        self.assertEqual(self.average(65504, 65504, 65504), 65504)
        self.assertEqual(self.average(1, math.inf, 2), math.inf)
        self.assertEqual(self.average(1, -math.inf, 2), -math.inf)

    def test_ties_go_to_the_even_neighbour_and_the_smallest_numbers_are_kept(self):
        self.assertEqual(self.average(1, 1 + 2.0 ** -10), 1)
        self.assertEqual(self.average(1 + 2.0 ** -10, 1 + 2.0 ** -9), 1 + 2.0 ** -9)
        self.assertEqual(self.average(2.0 ** -24, 2.0 ** -24), 2.0 ** -24)
        self.assertEqual(self.average(2.0 ** -24, 2.0 ** -23), 2.0 ** -23)
        self.assertEqual(math.copysign(1, self.average(-2.0 ** -24, 0, 0)), -1)

    def test_two_ways_to_compute_it_give_the_same_bits(self):
        module, chosen = SAME_BITS.module, random.Random(3)
        for _ in range(3000):
            values = module.element(chosen, chosen.choice((3, 4, 5)))
            contributions = [[module.bits_of(value)] for value in values]
            self.assertEqual(SAME_BITS.expected({"contributions": contributions}),
                             [module.right(values)], values)

    def test_every_other_way_shows_in_the_instances_of_every_seed(self):
        module = SAME_BITS.module
        for seed in range(50):
            seen = set()
            for instance in module.instances(random.Random(seed)):
                elements = [[module.value_of(bits) for bits in values]
                            for values in zip(*instance["contributions"])]
                if not elements or len(elements[0]) == 1:
                    continue
                expected = SAME_BITS.expected(instance)
                for look, way in module.other_ways(len(elements[0]), instance["rank"]):
                    self.assertNotEqual([way(values) for values in elements], expected, look)
                    seen.add(look)
                in_order = [tuple(module.averaged(values, order) for values in elements)
                            for order in instance["orders"]]
                self.assertEqual(len(set(in_order)), len(in_order))
            self.assertEqual(seen, {module.ORDER, module.SUM, module.OWN, module.DIVISION})


if __name__ == "__main__":
    unittest.main()
