"""What is printed for people: colours where there are any, paths as one would type them."""

import os
import pathlib
import re
import shutil
import sys
import textwrap

MESSAGE = " " * 6  # before each line of a finding, in the text of a report
_SOURCE = re.compile(r"\s*[0-9]* \| ")  # a line of a program, as compilers show it

_CODES = {"green": "32", "red": "31", "bold": "1", "dim": "2", "yellow": "33"}


def colourful(stream=None):
    """Whether a stream shows colours: a terminal does, unless NO_COLOR is set (to anything)."""
    stream = stream or sys.stdout
    return (stream.isatty() and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM", "") != "dumb")


def coloured(text, colour):
    return f"\033[{_CODES[colour]}m{text}\033[0m" if colourful() and text else text


def ladder(text):
    """The ladder of a report: long lines of messages broken, its marks in colour."""
    lines = []
    for line in text.splitlines():
        mark = line.lstrip()[:1]
        if mark == "✓":
            line = coloured(line, "green")
        elif mark == "✗":
            line = coloured(line, "red")
        elif mark == "·":
            line = coloured(line, "dim")
        elif line.startswith(MESSAGE) and not _SOURCE.match(line):
            indent = line[:len(line) - len(line.lstrip())]
            line = textwrap.fill(line.strip(), wide(), initial_indent=indent,
                                 subsequent_indent=indent + "  ", break_long_words=False,
                                 break_on_hyphens=False) if len(line) > wide() else line
            if line.startswith(MESSAGE + "Look at:"):
                line = coloured(line, "bold")
        lines.append(line)
    return "\n".join(lines) + "\n"


def wide():
    """Columns to write in: those of the terminal; at most 100, as many as in a file."""
    return max(40, min(shutil.get_terminal_size((100, 24)).columns, 100))


def wrapped(text, indent=""):
    return textwrap.fill(text, wide(), initial_indent=indent, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def path(at):
    """A path as one would type it here: relative when it is below the working folder."""
    at = pathlib.Path(at).absolute()
    try:
        return str(at.relative_to(pathlib.Path.cwd()))
    except (ValueError, OSError):
        return str(at)


def hours(number):
    return f"{number:g} h"
