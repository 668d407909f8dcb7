// Temporary folders, and whole files as strings.
#pragma once

#include <filesystem>
#include <string>

namespace zero {

// A new, empty folder that is removed, with all that is in it, at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  bool is_empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

// std::runtime_error when it cannot be read.
std::string read_whole_file(const std::string& path);
void write_whole_file(const std::string& path, const std::string& content);

}  // namespace zero
