"""Skeletons: made from the references, loud, clean, and with nothing of an answer in them."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "exercises" / "course"))
BUILD = pathlib.Path(os.environ.get("ZERO_BUILD") or PROJECT / "build")

import anchors  # noqa: E402
import compiling  # noqa: E402
import exercise as exercises  # noqa: E402
import skeleton  # noqa: E402
import variants  # noqa: E402
import version  # noqa: E402

EXERCISES = exercises.all_exercises()
STAGES = [one for one in EXERCISES if one.kind == "stage"]
LATER = [one for one in STAGES if one.previous]
FORMAT = next(filter(shutil.which, ("clang-format-14", "clang-format")), None)


def formatted(text):
    """The text as clang-format lays it out."""
    return subprocess.run([FORMAT, f"--style=file:{PROJECT / '.clang-format'}",
                           "--assume-filename=answer.cpp"], input=text, capture_output=True,
                          text=True, check=True).stdout


def warnings(text):
    """What the compiler says against a text, with the course's own flags."""
    build = compiling.load_build(BUILD)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "answer.cpp"
        source.write_text(text, encoding="utf-8")
        ended = subprocess.run([build.compiler, *build.flags, "-Werror", "-c", source, "-o",
                                f"{folder}/answer.o"], capture_output=True, text=True)
        return ended.stderr if ended.returncode else ""


def own_answers(exercise):
    """Right answers to `exercise`, as students may have written them: (name, text)."""
    yield "the reference", exercise.answer_path.read_text()
    for path in exercise.variants("solutions"):
        yield path.name, variants.read(exercise, path).text


class Skeletons(unittest.TestCase):
    def each(self, chosen=EXERCISES):
        self.assertTrue(chosen)
        return [(exercise, skeleton.generate(exercise)) for exercise in chosen]

    def test_it_says_which_version_of_which_exercise_it_is(self):
        for exercise, text in self.each():
            with self.subTest(exercise.name):
                self.assertTrue(text.startswith(version.stamp(exercise) + "\n"))
                self.assertEqual(version.read(text), (version.of(exercise), exercise.name))

    def test_every_blank_is_in_it_once(self):
        for exercise, text in self.each():
            with self.subTest(exercise.name):
                there = re.findall(rf'\bblank\("{exercise.name}",\s+"([^"]+)"', text)
                wanted = [f"step {one}" if isinstance(one, int) else one for one in exercise.blanks]
                self.assertEqual(sorted(there), sorted(wanted))

    def test_it_compiles_without_a_warning(self):
        for exercise, text in self.each():
            with self.subTest(exercise.name):
                self.assertEqual(warnings(text), "")

    @unittest.skipUnless(FORMAT, "clang-format is not installed")
    def test_it_is_laid_out_as_the_project_is(self):
        for exercise, text in self.each():
            with self.subTest(exercise.name):
                self.assertEqual(text, formatted(text))

    def test_nothing_of_the_answer_is_in_it(self):
        for exercise, text in self.each():
            with self.subTest(exercise.name):
                self.assertEqual(skeleton.leaks(exercise, text), [])

    def test_a_line_of_the_answer_would_be_noticed(self):
        for exercise, text in self.each():
            with self.subTest(exercise.name):
                answer = skeleton.leaks(exercise, exercise.answer_path.read_text())
                self.assertGreaterEqual(len(answer), 3)
                for line in answer:
                    line = "   " + line.replace(" ", "  ") + " // !"
                    self.assertTrue(skeleton.leaks(exercise, f"{text}\n{line}\n"), line)

    def test_a_stage_is_precompiled(self):
        for exercise, text in self.each(STAGES):
            with self.subTest(exercise.name):
                code = [line for line in text.splitlines() if line and not line.startswith("//")]
                self.assertEqual(code[:2], [skeleton.RANK, skeleton.BLANK])

    def test_banners_are_those_of_the_program_to_arrive_at(self):
        def banners(text):
            return [(step.number, text[step.words[0]:step.words[1]])
                    for step in anchors.steps(text)]
        for exercise, text in self.each(STAGES):
            with self.subTest(exercise.name):
                self.assertEqual(banners(text), banners(exercise.answer_path.read_text()))


class FromAnotherProgram(unittest.TestCase):
    def test_an_answer_equal_to_the_reference_gives_the_same_skeleton(self):
        for exercise in LATER:
            with self.subTest(exercise.name):
                begin = (PROJECT / exercise.begin).read_text()
                self.assertEqual(skeleton.generate(exercise, begin), skeleton.generate(exercise))

    def test_what_is_left_of_the_exercise_before_is_gone(self):
        exercise = LATER[0]
        begin = (PROJECT / exercise.begin).read_text().replace(
            skeleton.RANK, f"{skeleton.RANK}\n{skeleton.BLANK}")
        begin = "// zero-steps 0.0.9+1234567 04_ddp\n//\n// Exercise 04.\n" + re.sub(
            r"^(?=    comm\.)", "    // DDP did this:\n", begin[begin.index("#include"):],
            flags=re.MULTILINE)
        self.assertEqual(skeleton.generate(exercise, begin), skeleton.generate(exercise))

    def test_a_students_own_answer_is_what_it_begins_with(self):
        """Differently written ones too: each has every blank and compiles, or is refused because
        it has no such step."""
        for exercise in LATER:
            begun = 0
            for name, own in own_answers(exercises.find(exercise.previous)):
                with self.subTest(f"{exercise.name} from {name}"):
                    try:
                        text = skeleton.generate(exercise, own)
                    except skeleton.CannotBegin:
                        continue
                    begun += 1
                    self.assertEqual(warnings(text), "")
                    self.assertEqual(text.count(f'blank("{exercise.name}"'), len(exercise.blanks))
            self.assertGreaterEqual(begun, 2, exercise.name)

    def test_a_program_without_the_steps_is_refused(self):
        for exercise in LATER:
            with self.assertRaises(skeleton.CannotBegin):
                skeleton.generate(exercise, "int main() {}\n")

    def test_lines_are_kept_below_their_blank(self):
        exercise = exercises.find("06")
        text = skeleton.generate(exercise)
        self.assertIn('    exercise::blank("06_zero1", "step 3");\n    // DDP did this:\n'
                      "    comm.all_reduce(grads, partition);\n", text)

    def test_a_name_that_is_used_later_stays_declared(self):
        text = skeleton.generate(exercises.find("04"))
        self.assertIn('    const GradientNorm norm = exercise::blank("04_ddp", "step 4");\n', text)
        self.assertNotIn("global_norm", text)


class InAPackage(unittest.TestCase):
    """Where the references are not."""

    def packaged(self, exercise, files):
        folder = pathlib.Path(self.temporary.name) / exercise.name
        folder.mkdir(exist_ok=True)
        for name in ("exercise.json", "README.md", "api.h", "check.py"):
            if (exercise.folder / name).exists():
                shutil.copy(exercise.folder / name, folder)
        for path in exercise.folder.glob("child*.cpp"):
            shutil.copy(path, folder)
        for name, text in files.items():
            (folder / name).write_text(text)
        return dataclasses.replace(exercise, folder=folder, answer="stages/not_there.cpp",
                                   begin="stages/not_there.cpp")

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)

    def test_the_ready_skeleton_is_taken(self):
        for exercise in EXERCISES:
            with self.subTest(exercise.name):
                there = self.packaged(exercise, skeleton.shipped(exercise, with_previous=True))
                self.assertEqual(skeleton.generate(there), skeleton.generate(exercise))

    def test_the_outline_is_enough_for_a_students_own_answer(self):
        for exercise in LATER:
            with self.subTest(exercise.name):
                there = self.packaged(exercise, skeleton.shipped(exercise))
                own = (PROJECT / exercise.begin).read_text()
                self.assertEqual(skeleton.generate(there, own), skeleton.generate(exercise))
                self.assertEqual(skeleton.leaks(exercise, skeleton._outline(exercise)), [])
                with self.assertRaises(skeleton.CannotBegin):
                    skeleton.generate(there)


class Versions(unittest.TestCase):
    def test_it_changes_with_what_is_asked_and_not_with_line_ends(self):
        exercise = exercises.find("01")
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary) / exercise.name
            shutil.copytree(exercise.folder, folder)
            copy = dataclasses.replace(exercise, folder=folder)
            self.assertEqual(version.of(copy), version.of(exercise))
            for path in folder.glob("*.h"):
                path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
            (folder / "solution.cpp").write_text("// a student has none\n")
            self.assertEqual(version.of(copy), version.of(exercise))
            (folder / "api.h").write_text("// another\n")
            self.assertNotEqual(version.of(copy), version.of(exercise))

    def test_a_text_without_a_stamp_has_none(self):
        self.assertIsNone(version.read("int main() {}\n// zero-steps\n"))


class Anchors(unittest.TestCase):
    def test_brackets_in_texts_and_comments_are_none(self):
        text = 'int f(int a) {\n  g("}{", \'}\', 1\'000); // }\n  return a;\n}\nint g();\n'
        found, = anchors.functions(text, "f")
        self.assertEqual(text[found.start:found.end], text[:text.index("int g")].rstrip())
        self.assertEqual(anchors.parameter_names(text, found), ["a"])

    def test_a_call_is_no_definition(self):
        text = "void f(int);\nvoid g() {\n  f(1);\n  if (f(2)) {\n  }\n}\nvoid f(int n) {}\n"
        self.assertEqual([one.body >= 0 for one in anchors.functions(text, "f")], [False, True])

    def test_parameters_have_their_names(self):
        text = ("std::vector<std::pair<int, float>> f(const A& a, std::span<const float> b, int,\n"
                "    std::map<int, B> c, float* d) {}\n")
        found, = anchors.functions(text, "f")
        self.assertEqual(anchors.parameter_names(text, found), ["a", "b", "c", "d"])
        self.assertTrue(text[found.start:].startswith("std::vector"))

    def test_a_step_ends_where_the_loop_of_the_next_begins(self):
        text = ('void train(Rank& rank) {\n  rank.step("1. a");\n  a();\n\n  for (x : y) {\n'
                '    rank.step("2. b",\n              unit);\n    b();\n  }\n'
                "  rank.report(loss);\n}\n")
        sections = [text[slice(*step.section)] for step in anchors.steps(text)]
        self.assertEqual(sections, ["  a();\n", "    b();\n"])


if __name__ == "__main__":
    unittest.main()
