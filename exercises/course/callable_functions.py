"""Which functions an answer may call, and which not, with the reason that it is told."""

import re

# ---- zero:: ----

# What a whole stage program may call. Patterns of qualified names. Operators of the device are virtual, and so name no symbol.
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

WHY = {
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
C = """
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

MATH = re.compile(
    r"(a?(sin|cos|tan)h?|atan2|exp(2|10|m1)?|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?|[lt]gamma|"
    r"gamma|ceil|floor|trunc|l{0,2}round|l{0,2}rint|roundeven|nearbyint|fmod|remainder|remquo|"
    r"copysign|next(after|toward)|fdim|fmax|fmin|fma|fabs|ldexp|frexp|modf|scalbl?n|ilogb|nan|"
    r"sincos|lgamma_r|significand|j[01n]|y[01n]|fe[a-z]+|cabs|carg|cexp|clog|cpow|csqrt)[fl]?(_r)?")
