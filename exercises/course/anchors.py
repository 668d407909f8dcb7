"""Finds places in a C++ program by what is there anyway: a function's name, a step's banner."""

import dataclasses
import re

_NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)"""
    r"""|\bR"(?P<mark>[^\s()\\]{0,16})\(.*?(?:\)(?P=mark)"|\Z)"""
    r"""|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'""", re.DOTALL)

OPENING = {"(": ")", "[": "]", "{": "}"}


def masked(text):
    """The text with comments, strings and characters blanked out: every place is where it was."""
    return _NOT_CODE.sub(lambda piece: re.sub(r"[^\n]", " ", piece[0]), text)


def closing(mask, at):
    """The place of the bracket that closes the one at `at`; the end where there is none."""
    depth = 0
    for i in range(at, len(mask)):
        if mask[i] in "([{":
            depth += 1
        elif mask[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    return len(mask)


def line_start(text, at):
    return text.rfind("\n", 0, at) + 1


def line_end(text, at):
    """After the line break of the line that holds `at`."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def indent_of(text, at):
    line = text[line_start(text, at):at]
    return line[:len(line) - len(line.lstrip())]


def comment_above(text, at):
    """Where the comment of whole lines begins that ends just above the line of `at`."""
    start = line_start(text, at)
    while start > 0:
        above = line_start(text, start - 1)
        if not text[above:start].lstrip().startswith("//"):
            break
        start = above
    return start


# ---- functions ----


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    start: int      # of its first word
    parameters: int  # of the bracket that opens them
    after: int      # the bracket that closes them
    body: int       # of the { of its definition; -1: a declaration
    end: int        # after the } or the ;


def functions(text, name):
    """Every definition and declaration of a function in the text: `name` may be "Class::member"."""
    mask = masked(text)
    found = []
    pattern = r"(?<![\w.>])" + r"\s*::\s*".join(map(re.escape, name.split("::"))) + r"\s*\("
    for match in re.finditer(pattern, mask):
        parameters = match.end() - 1
        after = closing(mask, parameters)
        rest = re.compile(r"[\w\s:<>,&*()-]*?([{;])").match(mask, after + 1)
        before = max(mask.rfind(mark, 0, match.start()) for mark in ";{}")
        include = [line for line in re.finditer(r"^[ \t]*#.*$", mask[:match.start()], re.MULTILINE)]
        before = max(before, include[-1].end() - 1 if include else -1)
        head = mask[before + 1:match.start()]
        if not rest or not head.strip() or re.search(r"\breturn\b|[=(]", head):
            continue  # a call
        start = before + 1 + len(head) - len(head.lstrip())
        bracket = rest.end() - 1
        if rest[1] == ";":
            found.append(Function(name, start, parameters, after, -1, bracket + 1))
        else:
            found.append(Function(name, start, parameters, after, bracket,
                                  closing(mask, bracket) + 1))
    return found


def parameter_names(text, function):
    """The names of its parameters; those that have none are left out."""
    inside = masked(text)[function.parameters + 1:function.after]
    pieces, depth, piece = [], 0, ""
    for letter in inside:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            pieces.append(piece)
            piece = ""
        else:
            piece += letter
    names = []
    for piece in pieces + [piece]:
        piece = piece.split("=", 1)[0].rstrip()
        found = re.search(r"[\w>&*\])]\s*?[\s&*](\w+)(?:\[\w*\])?$", piece)
        if found and not re.fullmatch(r"const|int|long|double|float|bool|char|unsigned", found[1]):
            names.append(found[1])
    return names


# ---- the steps of a stage program ----


@dataclasses.dataclass(frozen=True)
class Step:
    number: int
    start: int       # of `rank.step(`
    words: tuple     # where its banner's text is: (start, end), with the quotes
    statement: int   # after the ; of the statement
    section: tuple   # the lines of the step: (start, end), whole lines, perhaps none


def _statements(mask, start, end):
    """Where the statements end that follow one another from `start`, up to `end` or the end of the
    block: pairs (start, end)."""
    found, at, begin = [], start, start
    while at < end:
        letter = mask[at]
        if letter in OPENING:
            close = closing(mask, at)
            if close >= end:
                break
            at = close
            # A block ends a statement, except where it is a value or an else follows.
            goes_on = re.compile(r"\s*(?:[;,).]|else\b)").match(mask, close + 1)
            if letter == "{" and not goes_on:
                found.append((begin, at + 1))
                begin = at + 1
        elif letter == ";":
            found.append((begin, at + 1))
            begin = at + 1
        elif letter in ")]}":
            break
        at += 1
    return found


def steps(text):
    """The steps of a stage program, in the order of the text."""
    mask = masked(text)
    begins = []
    for match in re.finditer(r"\brank\s*\.\s*step\s*\(", mask):
        words = re.compile(r'\s*("(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)').match(
            text, match.end())
        number = words and re.match(r'"\s*([0-9]+)', words[1])
        if number:
            close = closing(mask, match.end() - 1)
            begins.append((int(number[1]), match.start(), words.span(1),
                           line_end(text, mask.find(";", close))))
    found = []
    for i, (number, start, words, after) in enumerate(begins):
        following = begins[i + 1][1] if i + 1 < len(begins) else len(text)
        ends = [end for _, end in _statements(mask, after, following)]
        # rank.report ends the last step's section.
        report = re.compile(r"\brank\s*\.\s*report\s*\(").search(mask, after)
        if report:
            ends = [end for end in ends if end <= report.start()]
        section = (after, line_end(text, ends[-1] - 1)) if ends else (after, after)
        found.append(Step(number, start, words, after, section))
    return found


def allocations(text):
    """The lines with the allocations that live as long as the training: from the first
    `rank.allocate` to the last optimizer that stand outside every loop. None without any."""
    mask = masked(text)
    train = [one for one in functions(text, "train") if one.body >= 0]
    if not train:
        return None
    here = [(start, end) for start, end in _statements(mask, train[-1].body + 1, train[-1].end)
            if re.search(r"\brank\s*\.\s*allocate\s*\(|\bAdamW\b", mask[start:end])
            and not re.search(r"\bwhile\s*\(", mask[start:end])]
    if not here:
        return None
    first = re.compile(r"\S").search(mask, here[0][0]).start()
    return line_start(text, first), line_end(text, here[-1][1] - 1)


def claim(text):
    """Where the program says what it keeps: `constexpr ClosedForm ...;`. None without it."""
    mask = masked(text)
    found = re.search(r"\bconstexpr\s+ClosedForm\b", mask)
    if not found:
        return None
    at = found.end()
    while at < len(mask) and mask[at] != ";":
        at = closing(mask, at) + 1 if mask[at] in OPENING else at + 1
    return found.start(), at + 1


# ---- names ----

_DECLARATION = re.compile(
    r"(?:^|[;{}(])\s*(?P<type>(?:static\s+)?(?:const\s+)?(?!return\b|else\b|delete\b|using\b)"
    r"[A-Za-z_][\w:]*(?:<[^;{}()]*>)?(?:\s+const)?[ \t]*[&*]*[ \t]*)(?<=[\s&*>])"
    r"(?P<name>[A-Za-z_]\w*)\s*(?=[=({;:])", re.MULTILINE)


def declarations(mask, start, end):
    """What is declared between two places: pairs (type, name, place)."""
    return [(match["type"].strip(), match["name"], start + match.start("type"))
            for match in _DECLARATION.finditer(mask[start:end])]


def uses(mask, name):
    return [match.start() for match in re.finditer(rf"\b{re.escape(name)}\b", mask)]
