"""Makes what a student begins with out of the programs of the project. Nothing is kept twice.

  functions   solution.cpp, with the bodies of the functions in `blanks` replaced by a blank, and
              without everything that only those bodies needed
  stage       the program to begin with, under the banners of the one to arrive at, with a blank in
              each of the places in `blanks`

A package has no references. What is needed of them is in its folders instead: see shipped().
"""

import pathlib
import re
import textwrap

import anchors
import version
from exercise import PROJECT, Mistake, all_exercises

WIDTH = 100
RANK, BLANK = '#include "common/train/rank.h"', '#include "exercises/api/blank.h"'


class CannotBegin(Mistake):
    """There is no program to begin with, or it has not the steps that a blank is put in."""


def generate(exercise, source=None):
    """The skeleton's text. `source`: the text of the program to begin with, where it is not the
    reference (stage): a student's own answer to the previous exercise."""
    ready = exercise.folder / "skeleton.cpp"
    if exercise.kind == "functions":
        if exercise.answer_path.exists():
            return _of_functions(exercise, exercise.answer_path.read_text(encoding="utf-8"))
    else:
        begin = PROJECT / exercise.begin
        if source is None and begin.exists():
            source = begin.read_text(encoding="utf-8")
        if source is not None:
            return _of_stage(exercise, source, _target(exercise))
    if ready.exists():
        return ready.read_text(encoding="utf-8")
    raise CannotBegin(f"exercises/{exercise.name}: there is no program here to begin with")


def shipped(exercise, with_previous=False):
    """What a package has in place of the references: {name of a file in the exercise's folder:
    its text}. skeleton.cpp, ready to be copied; or, when it begins with the answer of another
    exercise (and not `with_previous`), outline.txt: the banners alone."""
    if exercise.kind == "stage" and exercise.previous and not with_previous:
        return {"outline.txt": _outline(exercise)}
    return {"skeleton.cpp": generate(exercise)}


# ---- functions ----


def _of_functions(exercise, text):
    folder = exercise.folder
    header = (folder / "api.h").read_text(encoding="utf-8") if (folder / "api.h").exists() else ""
    mask = anchors.masked(text)
    namespace = re.findall(r"^namespace\s+([\w:]+)\s*\{", mask, re.MULTILINE)
    includes = _with_blank(re.findall(r"^#include .*", text, re.MULTILINE))
    usings = re.findall(r"^using\s[^;]*;", text, re.MULTILINE)
    parts = []
    for name in sorted(exercise.blanks, key=lambda name: _defined(exercise, text, name).start):
        function = _defined(exercise, text, name)
        written, comment = text, text[anchors.comment_above(text, function.start):
                                      anchors.line_start(text, function.start)]
        # As the header declares it: with every parameter's name, and what a student is told.
        for declared in anchors.functions(header, name):
            if "=" not in header[declared.start:declared.after]:
                written, function = header, declared
                comment = _comment_of(header, declared) or comment
                break
        signature = written[function.start:function.after + 1]
        rest = re.compile(r"(\s*(?:const|noexcept)\b)*").match(written, function.after + 1)[0]
        void = re.match(r"(?:static\s+|inline\s+)*void\s", signature)
        blank = "blank" if namespace[0] == "zero::exercise" else "zero::exercise::blank"
        call = _call(blank, exercise, name, anchors.parameter_names(written, function), 2,
                     "" if void else "return ")
        one_line = f"{signature}{rest} {{ {call.strip()} }}"
        if "\n" in one_line or len(one_line) > WIDTH:
            one_line = f"{signature}{rest} {{\n{call}\n}}"
        parts.append(comment + one_line + "\n")
    body = "\n".join((["\n".join(usings) + "\n"] if usings else []) + parts)
    head = _head(exercise, [], "Each function below has a line blank(...): write the function in "
                               "its place. Functions of your own, and other headers of the "
                               "standard library, are welcome.")
    return (f"{head}{includes}\n\nnamespace {namespace[0]} {{\n\n{body}\n"
            f"}}  // namespace {namespace[0]}\n")


def _defined(exercise, text, name):
    found = [one for one in anchors.functions(text, name) if one.body >= 0]
    if not found:
        raise Mistake(f"exercises/{exercise.name}: {exercise.answer_path.name} has no function "
                      f"{name}")
    return found[0]


def _comment_of(header, declared):
    """The comment above a declaration, or behind it, as lines above."""
    start = anchors.comment_above(header, declared.start)
    above = header[start:anchors.line_start(header, declared.start)]
    behind = header[declared.end:anchors.line_end(header, declared.end)].strip()
    return above or (behind + "\n" if behind.startswith("//") else "")


def _with_blank(includes):
    """The includes, in the groups that they are laid out in, and the blank's among them."""
    system = [line for line in includes if "<" in line]
    own = sorted({line for line in includes if '"' in line} | {BLANK})
    return "\n".join(system + ([""] if system else []) + own)


# ---- stages ----


def _of_stage(exercise, text, target):
    text = _edited(text.replace("\r\n", "\n"), _in_target_words(text.replace("\r\n", "\n"), target))
    text = re.sub(r"^[ \t]*// [^\n]{1,40} did this:\n", "", text, flags=re.MULTILINE)
    places = {str(step.number): step for step in reversed(anchors.steps(text))}
    spans = {}
    for blank in exercise.blanks:
        if blank == "allocations":
            spans[blank] = anchors.allocations(text)
            if spans[blank] is None:
                raise CannotBegin("it allocates nothing with rank.allocate in train()")
        elif str(blank) not in places:
            raise CannotBegin(f'it has no step {blank}: rank.step("{blank}. ...")')
        else:
            spans[blank] = places[str(blank)].section
    edits = _kept(exercise, text, spans) if exercise.keeps else _removed(exercise, text, spans)
    text = _edited(text, edits)
    head = _head(exercise, target["formulas"], _what_to_do(exercise))
    rest = re.sub(r"\A(?:[ \t]*(?://[^\n]*)?\n)*", "", text)
    rest = re.sub(rf"^(?:{re.escape(RANK)}|{re.escape(BLANK)})[ \t]*\n", "", rest,
                  flags=re.MULTILINE)
    return f"{head}{RANK}\n{BLANK}\n{'' if rest.startswith('#') else chr(10)}{rest.lstrip(chr(10))}"


def _what_to_do(exercise):
    if exercise.keeps:
        return ("A line exercise::blank(...) marks each place where something changes; below it is "
                f"what {_previous_title(exercise)} did there. Write what the banner says, and "
                "remove the line. What kClosedForm claims is for you to correct, too.")
    return ("A line exercise::blank(...) marks each place where something is missing: write what "
            "the banner says in its place.")


def _previous_title(exercise):
    for other in all_exercises():
        if other.name == exercise.previous:
            return other.title
    return pathlib.Path(exercise.begin).stem


def _in_target_words(text, target):
    """Edits: each banner in the words of the target."""
    edits = []
    for step in anchors.steps(text):
        words = target["banners"].get(step.number)
        if not words:
            continue
        after = text[step.words[1]:step.statement].strip()
        after = re.sub(r"\s+", " ", after)
        indent = anchors.indent_of(text, step.start)
        opening = f"{indent}rank.step("
        lines = [f"{opening}{words}{after}"]
        if len(lines[0]) > WIDTH and after.startswith(", "):
            lines = [f"{opening}{words},", " " * len(opening) + after[2:]]
        elif len(lines[0]) > WIDTH:
            lines = [opening, f"{indent}    {words}{after}"]
        edits.append((anchors.line_start(text, step.start), step.statement,
                      "\n".join(lines) + "\n"))
    return edits


def _kept(exercise, text, spans):
    """Edits: a blank above the lines that are to be rewritten."""
    edits = []
    for blank, (start, end) in spans.items():
        lines = text[start:end]
        indent = _indent(text, start, end)
        call = _call("exercise::blank", exercise, _called(blank), [], len(indent))
        if lines:
            call += f"\n{indent}// {_previous_title(exercise)} did this:"
        edits.append((start, end, f"{call}\n{lines}"))
    return edits


def _removed(exercise, text, spans):
    """Edits: a blank in place of the lines. What is declared there and used elsewhere stays
    declared; what is declared elsewhere and used only there is named in a blank."""
    mask = anchors.masked(text)
    taken = list(spans.values())

    def elsewhere(places):
        return [at for at in places if not any(start <= at < end for start, end in taken)]

    train = [one for one in anchors.functions(text, "train") if one.body >= 0][-1]
    unused = {}
    for kind, name, at in anchors.declarations(mask, train.body, train.end):
        places = anchors.uses(mask, name)
        if elsewhere([at]) and len(elsewhere(places)) == 1:
            for blank, (start, end) in spans.items():
                if any(start <= place < end for place in places):
                    unused.setdefault(blank, []).append(name)
                    break
    edits = []
    for blank, (start, end) in spans.items():
        indent = _indent(text, start, end)
        declared = [(kind, name) for kind, name, _ in anchors.declarations(mask, start, end)
                    if elsewhere(anchors.uses(mask, name))]
        names = unused.get(blank, [])
        lines = [_call("exercise::blank", exercise, _called(blank), names, len(indent),
                       f"{kind}{'' if kind[-1] in '&*' else ' '}{name} = ")
                 for kind, name in declared]
        edits.append((start, end, "\n".join(lines or [
            _call("exercise::blank", exercise, _called(blank), names, len(indent))]) + "\n"))
    return edits


def _called(blank):
    return f"step {blank}" if str(blank).isdigit() else str(blank)


def _indent(text, start, end):
    """That of the lines; where there are none, that of the statement before them."""
    lines = [line for line in text[start:end].splitlines() if line.strip()]
    if not lines:
        lines = [text[anchors.line_start(text, text.rfind("rank", 0, start)):start]]
    return lines[0][:len(lines[0]) - len(lines[0].lstrip())]


# ---- what is taken from the program to arrive at ----


def _target(exercise):
    """Its banners, and the formulas in its first comment."""
    for path in (exercise.answer_path, exercise.folder / "skeleton.cpp",
                 exercise.folder / "outline.txt"):
        if path.exists():
            text = path.read_text(encoding="utf-8")
            break
    else:
        raise CannotBegin(f"exercises/{exercise.name}: neither {exercise.answer} nor skeleton.cpp "
                          "nor outline.txt is there")
    comment = re.match(r"(?://[^\n]*\n)*", text)[0]
    return {"banners": {step.number: text[step.words[0]:step.words[1]]
                        for step in anchors.steps(text)},
            "formulas": re.findall(r"^//   (?! )[^\n]*  [^\n]*$", comment, re.MULTILINE)}


def _outline(exercise):
    """The target, as text that _target() reads again."""
    target = _target(exercise)
    banners = [f"rank.step({words});" for _, words in sorted(target["banners"].items())]
    return "\n".join(target["formulas"] + banners) + "\n"


# ---- text ----


def _head(exercise, formulas, what):
    """The first comment."""
    lines = [version.stamp(exercise), "//"]
    lines += _comment(f"Exercise {exercise.number}, {exercise.title}. {exercise.goal}")
    if formulas:
        lines += ["//"] + list(formulas)
    lines += ["//"] + _comment(f"What to write, and with what, is in exercises/{exercise.name}/"
                               f"README.md. {what}")
    number = exercise.number
    lines += ["//", f"//   ./exercise check {number}   ./exercise hint {number}   "
                    f"./exercise picture {number}"]
    return "\n".join(lines) + "\n"


def _comment(text):
    return [f"// {line}" for line in textwrap.wrap(text, WIDTH - 3, break_long_words=False,
                                                   break_on_hyphens=False)]


def _call(function, exercise, what, names, indent, before=""):
    """`return blank("02_ring", "ring_all_gather", ring, data);`, in lines of at most WIDTH."""
    opening = f"{' ' * indent}{before}{function}("
    given = [f'"{exercise.name}"', f'"{what}"', *names]
    lines, line = [], opening
    for i, one in enumerate(given):
        one += ");" if i + 1 == len(given) else ","
        if i and len(line) + 1 + len(one) > WIDTH:
            lines.append(line)
            line = " " * len(opening) + one
        else:
            line += (" " if i else "") + one
    return "\n".join(lines + [line])


def _edited(text, edits):
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


# ---- nothing of the answer may be in it ----


def leaks(exercise, text):
    """The lines of the answer that are in `text`: code that is in the reference, and not in what
    the student is given anyway."""
    if not exercise.answer_path.exists():
        return []
    answer = exercise.answer_path.read_text(encoding="utf-8")
    if exercise.kind == "stage":
        given = (PROJECT / exercise.begin).read_text(encoding="utf-8")
        if exercise.begin == exercise.answer:
            # Without the lines that are missing in the skeleton.
            steps = {str(step.number): step.section for step in anchors.steps(answer)}
            spans = [anchors.allocations(answer) if blank == "allocations" else steps[str(blank)]
                     for blank in exercise.blanks]
            given = _edited(answer, [(start, end, "") for start, end in spans])
        claimed = anchors.claim(answer)
        answer = _edited(answer, [(step.start, step.statement, "\n")
                                  for step in anchors.steps(answer)]
                         + ([(*claimed, "")] if claimed else []))
    else:
        api = exercise.folder / "api.h"
        given = api.read_text(encoding="utf-8") if api.exists() else ""
        for name in exercise.blanks:
            function = _defined(exercise, answer, name)
            given += "\n" + answer[function.start:function.after + 1] + " {\n"
    known = set(_code_lines(given).values())
    secret = {line for line in _code_lines(answer).values()
              if line not in known and not _trivial(line)}
    there = _code_lines(text)
    original = text.splitlines()
    return [original[number].strip() for number, line in sorted(there.items()) if line in secret]


def _code_lines(text):
    """{number of a line, from 0: its code, without spaces and comments}; strings stay."""
    mask = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), text)
    lines = {}
    for number, line in enumerate(mask.splitlines()):
        code = re.sub(r"\s+", "", line)
        if code:
            lines[number] = code
    return lines


def _trivial(line):
    """Says nothing about the answer: brackets, an include, a namespace, a loop over an index, a
    return of a name."""
    loop = r"for\((const)?(auto|int|std::size_t|std::int64_t)&?\w+[:=][^()]*\)\{?"
    return bool(len(re.sub(r"\W", "", line)) < 8 or line.startswith(("#", "namespace", "using"))
                or re.fullmatch(loop, line) or re.fullmatch(r"return\w*;?", line))
