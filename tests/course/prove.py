"""Proves one thing of an exercise:

  prove.py BUILD EXERCISE skeleton        it compiles, and fails at the rung that is said
  prove.py BUILD EXERCISE reference       it passes
  prove.py BUILD EXERCISE solutions/NAME  a right answer, differently written, passes
  prove.py BUILD EXERCISE mutants/NAME    a wrong answer fails at its rung

Each on the public instances, right answers on a grader's, too: --seeds N takes N of a grader's.
"""

import argparse
import pathlib
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "exercises" / "course"))

import check  # noqa: E402
import compiling  # noqa: E402
import exercise as exercises  # noqa: E402
import ladder  # noqa: E402
import skeleton  # noqa: E402
import variants  # noqa: E402


def answer(exercise, what):
    """The text of the answer, the rung it must fail at ("" when it must pass), and what it is."""
    if what == "skeleton":
        return skeleton.generate(exercise), exercise.skeleton_fails, "the skeleton"
    if what == "reference":
        return exercise.answer_path.read_text(), "", "the reference"
    variant = variants.read(exercise, exercise.folder / what)
    is_mutant = what.startswith("mutants/")
    assert is_mutant == bool(variant.rung), f"{what}: a mutant names its rung, a solution none"
    assert not is_mutant or exercise.order(variant.rung) >= 0
    return variant.text, variant.rung, variant.what


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("exercise")
    parser.add_argument("what")
    parser.add_argument("--seeds", type=int)
    arguments = parser.parse_args()
    exercise = exercises.find(arguments.exercise)
    build = compiling.load_build(arguments.build)
    text, rung, what = answer(exercise, arguments.what)
    seeds = arguments.seeds if arguments.seeds is not None else 0 if rung else 1
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / f"{exercise.name}.cpp"
        source.write_text(text)
        for seed in [check.PUBLIC_SEED] + [f"hidden {i}" for i in range(seeds)]:
            report = check.check(build, exercise, source, seed)
            print(f"{what} ({seed}):\n{ladder.text_of(report)}")
            if (report.failed_rung or "") != rung:
                print(f"WRONG: it should {f'fail at {rung}' if rung else 'pass'}\n")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
