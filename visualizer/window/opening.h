// Runs on their way from files to a session: loads them, and keeps up with those that grow.
#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "visualizer/replay/loading.h"
#include "visualizer/view/session.h"

namespace zero {

// Used by the window's thread, which it never keeps waiting for long.
class Opening {
 public:
  Opening(const std::vector<std::string>& directories, replay::Order order, bool follow);

  // Looks what has been loaded since. Returns the session, once, when all runs are there or failed.
  std::unique_ptr<view::Session> take_session();
  // Gives a session what has come since; true when there was something.
  bool update(view::Session& session);

  bool opening() const { return !taken_; }
  bool failed() const;      // no run can be opened
  bool finished() const;    // nothing more will come
  double progress() const;  // 0 to 1
  // What went wrong, and what is damaged: a line each, each once. While a run is followed it is
  // told when it has been so for a moment: files may be half there.
  std::vector<std::string> take_messages();
  std::string waiting_for() const;  // the directories without a run

 private:
  struct One {
    std::string directory;
    std::unique_ptr<replay::Loading> loading;
    std::shared_ptr<const replay::Run> run;  // the newest
    int place = -1;                          // in the session; -1: not in it
    // What is wrong with it while it is followed, since when; and what has been told.
    std::map<std::string, std::chrono::steady_clock::time_point> seen;
    std::set<std::string> told;
    bool shortened = false;  // its files have become shorter, which is still to be told
    bool done = false;       // nothing more will be told
  };
  bool settled(const One& one) const;  // it has a run, or never will
  void renew(One& one, std::shared_ptr<const replay::Run> run);
  void tell(One& one, std::vector<std::string>& messages);

  bool follow_;
  bool taken_ = false;
  std::chrono::steady_clock::time_point grown_ = std::chrono::steady_clock::now();
  std::vector<One> all_;
  std::future<std::unique_ptr<view::Session>> session_;
};

}  // namespace zero
