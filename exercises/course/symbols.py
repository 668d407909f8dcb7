"""What an answer may include, call and define: its own exercise's part, and no reference."""

import fnmatch
import functools
import pathlib
import re
import subprocess
import sys

import sourcecode
from callable_functions import C, EVIDENCE, MATH, STAGE_CALLS, WHY
from exercise import FOLDER, PROJECT, Mistake

_PLACEMENT = ("_ZnwmPv", "_ZnamPv", "_ZdlPvS_", "_ZdaPvS_")  # of <new>: they take no memory


def refuse(build, exercise, source, made):
    """Why the answer that `made` was compiled from is refused, in one sentence; "" when it is not.
    `made` holds answer.o and answer.d."""
    return (sourcecode.refuse(source.read_text(errors="replace"), exercise.kind)
            or _includes(build, exercise, source, made)
            or _defines(build, exercise, made)
            or _calls(exercise, made)
            or _instructions(made))


# ---- what it includes ----

def _includes(build, exercise, source, made):
    own = {source.resolve(), (made / source.name).resolve()}
    folders = [(build.folder / "exercises" / "precompiled").resolve(), *_system(build)]
    for name in _dependencies((made / "answer.d").read_text(errors="replace")):
        path = (made / name).resolve()
        if path in own or any(path.is_relative_to(folder) for folder in folders):
            continue
        header = path.suffix == ".h" and (path.is_relative_to(PROJECT / "common")
                                          or path.is_relative_to(FOLDER / "api"))
        if header or path == exercise.folder / "api.h":
            continue
        shown = path.relative_to(PROJECT) if path.is_relative_to(PROJECT) else name
        return (f"it includes {shown}: an answer is one file, and may include headers of common/, "
                "of exercises/api/, its own exercise's api.h and those of the language")
    return ""


def _dependencies(text):
    """The files that a compiler's .d file names after its target."""
    text = text.replace("\\\n", " ").partition(": ")[2].partition("\n")[0]
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$")
            for word in re.findall(r"(?:\\.|[^\s\\])+", text)]


@functools.lru_cache(maxsize=None)
def _system(build):
    """The folders that the compiler itself searches for headers."""
    said = subprocess.run([build.compiler, "-E", "-v", "-x", "c++", "/dev/null"], text=True,
                          capture_output=True, check=True).stderr
    listed = said.partition("#include <...> search starts here:")[2].partition("End of search")[0]
    return [pathlib.Path(line.strip().removesuffix(" (framework directory)")).resolve()
            for line in listed.splitlines() if line.strip()]


# ---- what it defines and calls ----

def _defines(build, exercise, made):
    taken = _library(build.library(exercise))
    defined = [(kind, name) for kind, name in _symbols(made / "answer.o") if kind in "TDBRGSCuVWi"]
    named = _demangle([name for _, name in defined])
    for (kind, name), shown in zip(defined, named):
        if name == "main" and exercise.kind == "stage":
            continue
        if taken.get(name, "") in tuple("TDBRGS") or (kind in "TDBRGSi" and name in taken):
            if name == "main":
                return "it defines main: the program that calls its functions has one already"
            return f"it defines {shown}, which is there already: give it another name"
        if re.match(r"_Z(n[wa]|d[la])", name) and name not in _PLACEMENT:
            return f"it defines {shown}: memory comes from where it always does"
        if kind in "TDBRGSi" and re.match(r"_ZT?[VIS]?N?K?(St|S[absiod]|9__gnu_cxx)", name):
            return f"it defines {shown}, which belongs to the language"
        if not name.startswith(("_Z", "DW.ref.", "__clang_call_terminate", ".L", "__odr_asan")):
            return (f"it defines the C symbol {shown}: functions and variables of an answer are "
                    'C++, without extern "C"')
    return ""


def _calls(exercise, made):
    found = [(kind, name) for kind, name in _symbols(made / "answer.o") if kind in "UwvWVu"]
    named = _demangle([name for _, name in found])
    for (kind, name), shown in zip(found, named):
        there = kind in "WVu"  # a header has it whole, and it has become part of the answer
        if _in_zero(name):
            called = qualified(shown)
            if exercise.kind == "stage" and _matches(called, EVIDENCE) and "~" not in called:
                return f"it calls {called}: what measures an answer is not for the answer to use"
            if not there and not _may_call(exercise, name, called):
                return f"it calls {called}, which this exercise does without"
        elif not there:
            against = _outside(name, shown)
            if against:
                return against
    return ""


def _may_call(exercise, name, called):
    if exercise.kind == "stage":
        # Tables and type information of classes that headers declare.
        return bool(re.match(r"_ZT[VIS]", name)) or _matches(called, STAGE_CALLS)
    declared = _declared(exercise.folder / "api.h")
    return all(word in declared for word in re.findall(r"\w+", called.removeprefix("zero::")))


def _outside(name, shown):
    """About a symbol of the C or C++ library."""
    bare = qualified(shown).replace("std::__cxx11::", "std::").replace("std::__1::", "std::")
    called = bare if name.startswith("_Z") else name.partition("@")[0]
    for why, patterns in WHY.items():
        if _matches(called, patterns.split()):
            called = re.sub(r"^std::(basic_)?(filesystem|\w+stream)\b.*", r"std::\2", called)
            return f"it calls {called}: this exercise {why}"
    if name.startswith("_Z") or sys.platform == "darwin":
        return ""
    if _matches(called, C) or MATH.fullmatch(called):
        return ""
    return f"it calls {called}, which no exercise needs"


def qualified(shown):
    """`std::vector<int> zero::A::b<int>(long) const` -> `zero::A::b`."""
    depth, name = 0, ""
    for i, letter in enumerate(shown):
        if letter in "<" and not shown[:i].endswith("operator"):
            depth += 1
        elif letter == ">" and not shown[:i].endswith(("operator", "operator-", "-")):
            depth -= 1
        elif letter == "(" and depth == 0 and not shown[:i].endswith("operator"):
            if not shown.startswith("(anonymous namespace)", i):
                break
            name += letter
        elif letter == " " and depth == 0 and "operator" not in name.rpartition("::")[2]:
            name = ""
        elif depth == 0:
            name += letter
    return name


def _in_zero(name):
    return bool(re.match(r"_Z(?:T[VIS]|GV)?N?[VK]*4zero", name))


def _matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


@functools.lru_cache(maxsize=None)
def _declared(header):
    """The words of an api.h and of exercises/api."""
    texts = [path.read_text() for path in [header, *sorted((FOLDER / "api").glob("*.h"))]]
    return frozenset(re.findall(r"\w+", sourcecode.code_of("\n".join(texts))))


def _symbols(path, *options):
    """(kind, name) of each symbol, as nm knows them."""
    said = _tool("nm", "-P", *options, path)
    for line in said.splitlines():
        name, kind = line.split()[:2]
        if sys.platform == "darwin":
            name = name.removeprefix("_")
        yield kind, name


@functools.lru_cache(maxsize=None)
def _library(path):
    """The kind of each symbol that a library has for others."""
    if not path.exists():
        raise Mistake(f"{path} is not built: ./exercise builds it, or cmake --build build --target "
                      "course")
    options = [] if sys.platform == "darwin" else ["-D"]
    return {name.partition("@")[0]: kind
            for kind, name in _symbols(path, "--defined-only", *options)}


def _demangle(names):
    # On macOS c++filt expects the underscore that _symbols has taken away.
    under = "_" if sys.platform == "darwin" else ""
    said = subprocess.run(["c++filt"], input="".join(f"{under}{name}\n" for name in names),
                          text=True, capture_output=True, check=True).stdout.splitlines()
    return [shown.removeprefix(under) if shown == under + name else shown
            for name, shown in zip(names, said)]


def _instructions(made):
    """No system call may hide in the machine code, whatever it was made from."""
    said = _tool("objdump", "-d", "--no-show-raw-insn", made / "answer.o")
    found = re.search(r"\t(syscall|sysenter|int +\$0x80|svc)\b", said)
    if found:
        return f"it has the instruction {found[1]}: this exercise makes no system calls"
    return ""


def _tool(*command):
    return subprocess.run([str(word) for word in command], text=True, errors="replace",
                          capture_output=True, check=True).stdout
