// The main of a child: reads an instance, lets the answer work on it, writes what it returned.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace zero::exercise {

// Exit statuses: 0, the result is written; 1, the answer threw; 2, not called as it should be;
// 3, ranks wait for each other.
enum ChildStatus { child_wrote = 0, answer_threw = 1, wrongly_called = 2, ranks_wait = 3 };

// One line on standard error; what is too long for a line is cut.
inline void complain(std::string text) {
  constexpr std::size_t kLongest = 1000;  // characters
  if (text.size() > kLongest) text = text.substr(0, kLongest) + " ...";
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

// Ends the process from any thread: the others may wait for ever. `who` names who waits for whom:
// "rank 2 waits for a message of rank 1; ranks 0, 1 wait ...".
[[noreturn]] inline void end_because_ranks_wait(const std::string& who) {
  complain(who);
  std::fflush(stderr);
  std::_Exit(ranks_wait);
}

// `main` of a child, called as `answer INSTANCE.json RESULT.json`: writes answer(instance) as JSON
// and returns the exit status. Results are data, never a verdict. An exception is one line on
// standard error, and there is no result then.
inline int run_child(int argc, char** argv, nlohmann::json (*answer)(const nlohmann::json&)) {
  if (argc != 3) {
    complain("usage: answer INSTANCE.json RESULT.json");
    return wrongly_called;
  }
  nlohmann::json instance;
  try {
    std::ifstream file(argv[1]);
    file >> instance;
  } catch (const std::exception& error) {
    complain(std::string("cannot read the instance: ") + error.what());
    return wrongly_called;
  }
  std::string result;
  try {
    // Text of the answer in it (of an exception) need not be UTF-8.
    result = answer(instance).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } catch (const std::exception& error) {
    complain(error.what());
    return answer_threw;
  } catch (...) {
    complain("the answer threw something that is not a std::exception");
    return answer_threw;
  }
  std::ofstream file(argv[2]);
  file << result << std::endl;
  if (!file) {
    complain("cannot write the result");
    return wrongly_called;
  }
  return child_wrote;
}

}  // namespace zero::exercise
