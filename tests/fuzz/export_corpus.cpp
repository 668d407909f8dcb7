// Gives entries of the corpus to the visualizer: a picture and status 0, or one line and status 1.
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "tests/fuzz/corpus.h"
#include "tests/support/process.h"

namespace {

std::vector<std::string> export_picture(const std::string& program, const std::string& directory,
                                        const std::string& view) {
  constexpr std::string_view kWho = "visualizer: ";
  const std::string picture = directory + "/picture.png";
  const zero::Finished finished = zero::run({program, directory, "--export", picture, "--view",
                                             view, "--size", "640x360", "--scale", "0.5"});
  const bool refused = finished.status == 1 && finished.errors().size() == 1;
  if (finished.timed_out || !(finished.status == 0 || refused)) {
    throw std::logic_error(finished.describe());
  }
  if (std::filesystem::remove(picture) == refused)
    throw std::logic_error("a picture, or a refusal");
  std::vector<std::string> messages = finished.errors();
  for (std::string& message : messages) {
    if (!message.starts_with(kWho)) throw std::logic_error("who says this: " + message);
    message.erase(0, kWho.size());
    zero::check_message(message, directory);
  }
  return messages;
}

}  // namespace

// export_corpus VISUALIZER ENTRY...
int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) return 2;
  int entry = 0;
  return zero::for_each_entry({arguments.begin() + 1, arguments.end()}, [&](const std::string& at) {
    return export_picture(arguments[0], at,
                          std::vector{"stages", "collective", "memory"}[entry++ % 3]);
  });
}
