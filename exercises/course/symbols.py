"""What an answer may include, call and define: its own exercise's part, and no reference."""

import fnmatch
import functools
import pathlib
import re
import subprocess
import sys

import sourcecode
from exercise import FOLDER, PROJECT, Mistake

# ---- zero:: ----

# What a whole stage program may call; an exercise.json can add to it ("allowed"). Patterns of
# qualified names. Operators of the device are virtual, and so name no symbol.
STAGE_CALLS = """
    zero::launch
    zero::Rank::allocate zero::Rank::next_batch zero::Rank::step zero::Rank::report
    zero::Heap::allocate zero::Buffer::* zero::View::*
    zero::Communicator::all_reduce zero::Communicator::reduce_scatter
    zero::Communicator::all_gather zero::Communicator::reduce zero::Communicator::broadcast
    zero::Communicator::global_norm zero::Communicator::gather_bytes
    zero::Communicator::rank zero::Communicator::world_size
    zero::Partition::* zero::Range::* zero::Piece::*
    zero::Model::* zero::Unit::* zero::Activations::*
    zero::AdamW::* zero::LossScaler::* zero::GradientNorm::*
    zero::to_string zero::format_bytes zero::with_commas zero::bytes_of zero::widen zero::narrow
    zero::random_bits zero::standard_normal zero::normal_numbers
    zero::OperatorSpan::* zero::make_layout
""".split()

# What it may not touch even where a header has it whole: that by which an answer is measured.
EVIDENCE = """
    zero::Rank::tracker zero::Rank::trace zero::Rank::place zero::Rank::result
    zero::Heap::tracker zero::Heap::observer zero::Heap::wrote zero::View::heap
    zero::View::allocation zero::MemoryTracker::* zero::Trace::* zero::HeapObserver::*
    zero::Report::* zero::RankRecord::*
""".split()

# ---- everything else ----

_WHY = {
    "needs no files": """open open64 openat* creat* fopen* fdopen freopen* fclose read write pread*
        pwrite* readv writev fread fgets fgetc getc getchar getline getdelim gets scanf fscanf
        __isoc*_scanf __isoc*_fscanf lseek* stat* fstat* lstat* __xstat* __fxstat* access unlink*
        remove rename* link symlink* mkdir* rmdir chdir chmod chown fchmod truncate* ftruncate*
        opendir readdir* tmpfile* mkstemp* mkdtemp dup dup2 fcntl* ioctl pipe* fseek* ftell* rewind
        realpath readlink* std::basic_ifstream* std::basic_ofstream* std::basic_fstream*
        std::basic_filebuf* std::filesystem::* std::__basic_file* __gnu_cxx::stdio_*""",
    "needs no other processes": """fork vfork clone* exec* system popen pclose posix_spawn* wait
        waitpid wait3 wait4 kill killpg tgkill raise ptrace setsid setpgid daemon nice prctl setuid
        setgid seteuid setresuid setrlimit* unshare setns chroot mount umount* signal sigaction
        alarm sched_set* pthread_kill process_vm_* getpid getppid""",
    "maps no memory": "mmap* munmap mprotect mremap shm_* sbrk brk memfd_* madvise mlock*",
    "loads no libraries": "dlopen dlmopen dlsym dlvsym dladdr* dl_iterate_phdr _dl_* __libc_dl*",
    "reads no environment": "getenv secure_getenv setenv putenv unsetenv environ __environ "
                            "_environ getuid geteuid gethostname uname getpw* getauxval",
    "needs no network": "socket* connect bind listen accept* send sendto sendmsg recv* getaddrinfo "
                        "gethostby*",
    "makes no system calls": "syscall",
}

# C functions that only compute, keep memory, or print for whoever debugs.
_C = """
    mem[a-z]* str[a-z]* stpcpy stpncpy wmem[a-z]* wcs[a-z]* is[a-z]* to[a-z]* bsearch qsort* abs
    labs llabs div ldiv lldiv ato[a-z]* rand srand rand_r malloc calloc realloc free aligned_alloc
    posix_memalign malloc_usable_size abort exit _Exit atexit at_quick_exit quick_exit
    printf fprintf vprintf vfprintf sprintf snprintf vsprintf vsnprintf dprintf puts putchar putc
    fputs fputc fwrite fflush putwchar fputwc perror setvbuf setbuf stdout stderr time clock
    clock_gettime gettimeofday nanosleep usleep sleep difftime localtime* gmtime* strftime mktime
    setlocale localeconv pthread_* sem_* sched_yield
    __errno_location __assert_fail __assert __stack_chk_fail __stack_chk_guard __dso_handle
    __tls_get_addr __libc_single_threaded __ctype_* __memcpy_chk __memset_chk __memmove_chk
    __str*_chk __*printf_chk sscanf __isoc*_sscanf __isoc*_str* __isoc*_wcs*
    __*_finite __fpclassify* __signbit* __isnan* __isinf* __finite* __cxa_* __cxx_global_*
    __gxx_* __gcc_* _Unwind_* __once_proxy __clang_call_terminate _GLOBAL_OFFSET_TABLE_ __emutls_*
    __udivti3 __umodti3 __divti3 __modti3 __multi3 __mul*3 __div*3 __float* __fix* __extend*
    __trunc* __add*3 __sub*3 __eq*2 __ne*2 __lt*2 __gt*2 __le*2 __ge*2 __popcount* __ctz* __clz*
    __powi* __atomic_* __sync_* __aarch64_* __cpu_model __cpu_indicator_init
""".split()

_MATH = re.compile(
    r"(a?(sin|cos|tan)h?|atan2|exp(2|10|m1)?|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?|[lt]gamma|"
    r"gamma|ceil|floor|trunc|l{0,2}round|l{0,2}rint|roundeven|nearbyint|fmod|remainder|remquo|"
    r"copysign|next(after|toward)|fdim|fmax|fmin|fma|fabs|ldexp|frexp|modf|scalbl?n|ilogb|nan|"
    r"sincos|lgamma_r|significand|j[01n]|y[01n]|fe[a-z]+|cabs|carg|cexp|clog|cpow|csqrt)[fl]?(_r)?")


def refuse(build, exercise, source, made):
    """Why the answer that `made` was compiled from is refused, in one sentence; "" when it is not.
    `made` holds answer.o and answer.d."""
    return (sourcecode.refuse(source.read_text(errors="replace"), exercise.kind)
            or _includes(build, exercise, source, made)
            or _defines(build, exercise, made)
            or _calls(exercise, made)
            or _instructions(made))


_PLACEMENT = ("_ZnwmPv", "_ZnamPv", "_ZdlPvS_", "_ZdaPvS_")  # of <new>: they take no memory


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
            if exercise.kind == "stage" and _matches(called, EVIDENCE) and not (
                    _matches(called, exercise.allowed) or "~" in called):
                return f"it calls {called}: what measures an answer is not for the answer to use"
            if not there and not _may_call(exercise, name, called):
                return f"it calls {called}, which this exercise does without"
        elif not there:
            against = _outside(name, shown)
            if against:
                return against
    return ""


def _may_call(exercise, name, called):
    if _matches(called, exercise.allowed):
        return True
    if exercise.kind == "stage":
        # Tables and type information of classes that headers declare.
        return bool(re.match(r"_ZT[VIS]", name)) or _matches(called, STAGE_CALLS)
    declared = _declared(exercise.folder / "api.h")
    return all(word in declared for word in re.findall(r"\w+", called.removeprefix("zero::")))


def _outside(name, shown):
    """About a symbol of the C or C++ library."""
    bare = qualified(shown).replace("std::__cxx11::", "std::").replace("std::__1::", "std::")
    called = bare if name.startswith("_Z") else name.partition("@")[0]
    for why, patterns in _WHY.items():
        if _matches(called, patterns.split()):
            called = re.sub(r"^std::(basic_)?(filesystem|\w+stream)\b.*", r"std::\2", called)
            return f"it calls {called}: this exercise {why}"
    if name.startswith("_Z") or sys.platform == "darwin":
        return ""
    if _matches(called, _C) or _MATH.fullmatch(called):
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
