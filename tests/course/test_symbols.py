"""What an answer may say, include, define and call; and that what answers need is not refused."""

import os
import pathlib
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "exercises" / "course"))

import compiling  # noqa: E402
import exercise as exercises  # noqa: E402
import sourcecode  # noqa: E402
import symbols  # noqa: E402

BUILD = compiling.load_build(os.environ.get("ZERO_BUILD", PROJECT / "build"))
STAGE = '#include "common/train/rank.h"\nnamespace zero {\nvoid train(Rank& rank) {\n%s\n}\n}\n'
PLAIN = "%s\nint f(int x) {\n%s\n  return x;\n}\n"


class Refused(unittest.TestCase):
    def why(self, text, number="01"):
        """Why a compiled answer is refused; "" when it is not."""
        exercise = exercises.find(number)
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder)
            source = made / f"{exercise.name}.cpp"
            source.write_text(text)
            said = compiling.compile_object(BUILD, source, made)
            self.assertEqual(said, "", text)
            return symbols.refuse(BUILD, exercise, source, made)

    def refuses(self, text, says, number="01"):
        self.assertRegex(self.why(text, number), says, text)

    def calls(self, header, statement, says):
        self.refuses(PLAIN % (f"#include <{header}>", statement), says)

    def test_what_answers_use_of_the_language_is_allowed(self):
        headers = ("algorithm array atomic bit bitset chrono cmath complex condition_variable "
                   "cstdint cstdio cstdlib cstring deque functional future iomanip iostream limits "
                   "list map memory mutex numeric optional queue random ranges set span sstream "
                   "stdexcept string string_view thread tuple unordered_map utility valarray "
                   "variant vector").split()
        includes = "".join(f"#include <{header}>\n" for header in headers)
        body = r"""
  std::printf("%d\n", x);
  std::fprintf(stderr, "%g\n", std::sqrt(x) + std::pow(2.0f, x) + std::exp2(x) + std::log1p(x));
  std::cout << std::setprecision(3) << std::hex << x << 1.5 << std::boolalpha << true << std::endl;
  std::cerr << std::fmod(x, 2.0) << std::ldexp(1.0, x) << std::fma(1.0, x, 2.0) << std::lround(0.5);
  std::string text = std::to_string(x) + std::to_string(1.5);
  std::ostringstream out;
  out << text << x;
  std::istringstream in(text);
  in >> x;
  x += std::stoi(text) + static_cast<int>(std::stod(text)) + std::atoi("3") + std::abs(x);
  std::map<std::string, int> map{{text, x}};
  std::unordered_map<int, std::string> hashed{{x, text}};
  std::set<int> set{x};
  std::list<int> list{x};
  std::deque<int> deque{x};
  std::vector<double> vector(10);
  std::stable_sort(vector.begin(), vector.end());
  std::iota(vector.begin(), vector.end(), 0.0);
  std::mt19937 engine(1);
  std::shuffle(vector.begin(), vector.end(), engine);
  std::normal_distribution<float> normal;
  vector.at(0) = normal(engine) + std::accumulate(vector.begin(), vector.end(), 0.0);
  std::mutex mutex;
  std::condition_variable changed;
  std::thread thread([&] { const std::lock_guard lock(mutex); changed.notify_all(); });
  thread.join();
  std::async(std::launch::async, [] { return 1; }).get();
  std::function<int(int)> call = [](int y) { return y + 1; };
  x = call(x);
  auto shared = std::make_shared<int>(x);
  auto now = std::chrono::steady_clock::now();
  std::memcpy(&x, text.data(), text.size() < sizeof x ? text.size() : sizeof x);
  std::memset(vector.data(), 0, vector.size() * sizeof(double));
  static std::vector<int> kept(3);
  std::atomic<int> count = 0;
  ++count;
  std::qsort(kept.data(), kept.size(), sizeof(int), [](const void*, const void*) { return 0; });
  if (set.empty() || list.empty() || deque.empty() || map.empty() || hashed.empty() || !shared)
    throw std::invalid_argument("nothing " + text);
  if (now.time_since_epoch().count() == 0) std::abort();
  try {
    (void)kept.at(7);
  } catch (const std::out_of_range& error) {
    std::puts(error.what());
  }
  __int128 wide = x;
  x = static_cast<int>(wide / 3);
  long double longest = x;
  x += static_cast<int>(std::sqrt(longest));
"""
        self.assertEqual(self.why(PLAIN % (includes, body)), "")

    def test_what_stage_programs_use_is_allowed(self):
        for exercise in exercises.all_exercises():
            if exercise.kind == "stage" and exercise.answer_path.exists():
                with self.subTest(exercise.name):
                    self.assertEqual(self.why(exercise.answer_path.read_text(), exercise.name), "")
        body = """
  const View view = rank.allocate(Memory::temporary, "mine", Range{0, 10});
  rank.device.zero(view);
  rank.device.add(view, view, view, 2);
  Buffer sums = rank.device.allocate(Memory::temporary, "sums", Dtype::fp32, 10);
  rank.device.accumulate(sums, view);
  rank.device.divide(view, sums, 3);
  std::vector<double> norms = rank.comm.all_gather_scalar(rank.device.sum_of_squares(view));
  with_type(view.dtype(), [&](auto type) {
    auto* data = view.as<decltype(type)>();
    data[0] = narrow<decltype(type)>(widen(data[1]));
  });
  for (const TensorInfo& tensor : rank.model.tensors()) norms.push_back(tensor.range.size());
"""
        self.assertEqual(self.why(STAGE % body, "06"), "")

    def test_files(self):
        self.calls("cstdio", 'std::fopen("x", "r");',
                   "^it calls fopen: this exercise needs no files$")
        self.calls("fcntl.h", 'open("x", 0);', "it calls open: .* no files")
        self.calls("unistd.h", "read(0, &x, 1);", "it calls read: .* no files")
        self.calls("fstream", 'std::ofstream("x") << 1;', "it calls std::ofstream: .* no files")
        self.calls("fstream", 'std::ifstream file("x"); file >> x;', "std::ifstream: .* no files")
        self.calls("filesystem", 'std::filesystem::remove("x");', "std::filesystem: .* no files")
        self.calls("cstdio", 'std::rename("x", "y");', "it calls rename: .* no files")

    def test_processes_and_the_rest_of_the_system(self):
        self.calls("unistd.h", "fork();", "it calls fork: .* no other processes")
        self.calls("cstdlib", 'std::system("ls");', "it calls system: .* no other processes")
        self.calls("unistd.h", 'execl("x", "x", nullptr);', "it calls execl: .* no other processes")
        self.calls("csignal", "raise(9);", "it calls raise: .* no other processes")
        self.calls("sys/mman.h", "mprotect(&x, 1, 7);", "it calls mprotect: .* maps no memory")
        self.calls("dlfcn.h", 'dlsym(nullptr, "x");', "it calls dlsym: .* loads no libraries")
        self.calls("cstdlib", 'std::getenv("x");', "it calls getenv: .* reads no environment")
        self.calls("sys/socket.h", "socket(1, 1, 1);", "it calls socket: .* no network")
        self.calls("unistd.h", "syscall(39);", "it calls syscall: .* no system calls")
        self.calls("sys/utsname.h", "utsname name; uname(&name);", "it calls uname")
        self.calls("sys/quota.h", "quotactl(0, nullptr, 0, nullptr);",
                   "it calls quotactl, which no exercise needs")

    def test_another_name_for_a_function_does_not_help(self):
        self.refuses(PLAIN % ('#pragma redefine_extname innocent system\n'
                              'extern "C" int innocent(const char*);', 'innocent("ls");'),
                     "it calls system: ")

    def test_assembly_and_other_words(self):
        for text, says in (
                ('asm volatile("nop");', "uses asm"),
                ('__asm__ volatile("nop");', "uses __asm__"),
                ('as\\\nm volatile("nop");', "uses asm"),
                ('/* */ asm /* */ ("nop");', "uses asm")):
            self.refuses(PLAIN % ("", text), says)
        self.refuses(PLAIN % ("#define JOIN(a, b) a##b", 'JOIN(as, m)("nop");'), "pastes words")
        self.refuses(PLAIN % ("%:define JOIN(a, b) a%:%:b", 'JOIN(as, m)("nop");'), "pastes words")
        self.refuses(PLAIN % ('__attribute__((section(".text"))) const char code[] = "x";', ""),
                     "uses __attribute__")
        self.refuses(PLAIN % ("[[gnu::constructor]] void early() {}", ""), "uses gnu ?::")
        self.refuses(PLAIN % ("#define private public", ""), "gives the word private another")

    def test_words_in_comments_and_texts_mean_nothing(self):
        body = ("  const char* s = \"asm(1) __attribute__ ##\";  // asm ## const_cast<int>\n"
                "  /* asm(\"syscall\") */ (void)s;\n"
                "  const char* raw = R\"x(asm \" ) )\" \" ##)x\"; (void)raw;\n"
                "  const int large = 1'000'000; const char quote = '\"', tick = '\\'';\n"
                "  const char* t = \"\\\"asm\"; (void)t; x += large + quote + tick;")
        self.assertEqual(self.why(PLAIN % ("", body)), "")
        # And code is not hidden by what looks like a text.
        self.refuses(PLAIN % ("", "const char q = '\"'; asm(\"nop\"); (void)q; (void)'\"';"), "asm")
        self.refuses(PLAIN % ("", "int y = 1'0; asm(\"nop\"); y = 1'0; (void)y;"), "uses asm")
        self.refuses(PLAIN % ("", "// \\\n a comment still\n asm(\"nop\");"), "uses asm")

    def test_what_is_left_of_a_text(self):
        self.assertEqual(sourcecode.code_of('a /* b */ c // d\ne "f\\"g" h'), 'a   c  \ne "" h')
        self.assertEqual(sourcecode.code_of("R\"(a)b)\" c u8R\"x(y)x\""), '"" c ""')
        self.assertEqual(sourcecode.code_of("1'000 'a' '\\''"), "1'000 ' ' ' '")

    def test_includes(self):
        with tempfile.TemporaryDirectory() as folder:
            other = pathlib.Path(folder) / "other.h"
            other.write_text("inline int g() { return 1; }\n")
            self.refuses(PLAIN % (f'#include "{other}"', ""), f"^it includes {other}: an answer is")
            self.refuses(PLAIN % (f"#define FILE <{other}>\n#include FILE", ""), "it includes /")
        reference = exercises.find("02").folder / "solution.cpp"
        for name, number in ((reference, "02"), ("exercises/02_ring/solution.cpp", "02"),
                             ("exercises/02_ring/../02_ring/solution.cpp", "01"),
                             ("common/comm/partition.cpp", "01"),
                             ("exercises/02_ring/api.h", "01"), ("stages/zero1.cpp", "06")):
            shown = str(name).replace(f"{PROJECT}/", "").replace("02_ring/../", "")
            self.refuses(f'#include "{name}"\n', f"^it includes {shown}: an answer is one", number)
        self.assertEqual(self.why('#include "exercises/01_bytes/api.h"\n'
                                  '#include "exercises/api/blank.h"\n'
                                  '#include "common/memory/range.h"\n#include <vector>\n'), "")

    def test_a_header_may_be_included_twice(self):
        twice = '#include "common/train/rank.h"\n#include "common/train/rank.h"\n'
        self.assertEqual(self.why(twice + '#include "common/memory/bytes.h"\n', "06"), "")

    def test_what_belongs_to_others_is_not_defined(self):
        self.refuses("int main() {}", "it defines main: the program that calls its functions")
        self.assertEqual(self.why("int main() {}", "06"), "")
        self.refuses('extern "C" void* malloc(unsigned long) noexcept { return nullptr; }',
                     "it defines the C symbol malloc")
        self.refuses('#pragma weak free\nextern "C" void free(void*) noexcept {}',
                     "it defines the C symbol free")
        self.refuses("#include <new>\nvoid* operator new(std::size_t) { throw 1; }",
                     r"it defines operator new\(unsigned long\)")
        self.refuses("namespace std { void terminate() noexcept { for (;;) {} } }",
                     "it defines std::terminate")
        self.refuses(STAGE % "" + "void zero::Trace::step() {}",
                     r"it defines zero::Trace::step\(\)", "06")
        self.refuses(STAGE % "" + "#pragma weak _ZN4zero5Trace4stepEv\nvoid zero::Trace::step() {}",
                     r"it defines zero::Trace::step\(\)", "06")

    def test_what_measures_is_not_called(self):
        for call in ("(void)rank.tracker();", "rank.trace().step();", "rank.place().step = 3;",
                     "(void)rank.device.tracker();", "(void)rank.result();",
                     "View view; (void)view.heap();", "View view; (void)view.allocation();"):
            self.refuses(STAGE % call, "what measures an answer is not for the answer to use", "06")
        for header, call in (("common/train/checkpoint.h", 'save_model(rank, {}, "x");'),
                             ("common/train/report.h", 'write_file("x", "y");'),
                             ("common/comm/threads.h", "ThreadGroup group(1, 1);"),
                             ("common/comm/world.h", "run_on_threads(1, 1, {});")):
            self.refuses(f'#include "{header}"\n' + STAGE % call,
                         "which this exercise does without", "06")

    def test_functions_are_those_of_the_api(self):
        self.refuses("namespace zero::exercise { long secret(int); }\n"
                     "long f() { return zero::exercise::secret(1); }",
                     "it calls zero::exercise::secret, which this exercise does without")
        self.assertEqual(self.why('#include "exercises/01_bytes/api.h"\n'
                                  "double f() { return zero::exercise::gibibytes(1); }"), "")

    def test_names(self):
        for shown, name in (
                ("zero::A::b(int) const", "zero::A::b"),
                ("std::vector<int> zero::A::b<int, std::less<int> >(long)", "zero::A::b"),
                ("zero::A::operator()(int)", "zero::A::operator()"),
                ("zero::A::operator<(zero::A const&)", "zero::A::operator<"),
                ("zero::A::operator->() const", "zero::A::operator->"),
                ("zero::A::operator zero::B() const", "zero::A::operator zero::B"),
                ("zero::A::~A()", "zero::A::~A"),
                ("typeinfo for zero::A", "zero::A"),
                ("operator new(unsigned long)", "operator new"),
                ("fopen", "fopen")):
            self.assertEqual(symbols.qualified(shown), name)


if __name__ == "__main__":
    unittest.main()
