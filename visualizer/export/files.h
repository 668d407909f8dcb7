// Files that are there whole or not at all.
#pragma once

#include <sys/types.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace zero {

// One line, with the path and the system's reason.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file on its way: a hidden one beside `path`, of a name that no other has, until it is whole.
// All of it throws FileError.
class PartialFile {
 public:
  // Creates it. Requires that `path` is not there, or is a regular file, or a link to one, that may
  // be written.
  explicit PartialFile(const std::string& path);
  ~PartialFile();  // without finish(): removes it
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& name() const { return name_; }  // for others to write to
  void write(std::string_view bytes);
  // Puts it in its place: where `path` is a link, in that of what it leads to.
  void finish();

 private:
  std::string path_;    // as it was given
  std::string target_;  // without links
  std::string name_;    // empty once it is in its place
  int file_ = -1;
};

// Replaces the file, or leaves what was there and throws FileError.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace zero
