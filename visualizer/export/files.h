// Files that are there whole or not at all.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace zero {

// One line, with the path and the system's reason.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Requires that `path` could be written: its directory is there, and is writable. Throws FileError.
void check_writable(const std::string& path);

// A name beside `path` to write to, before the file takes its place. The same every time.
std::string partial_name(const std::string& path);

// Puts what was written to partial_name(path) in its place; or removes it, and throws FileError.
void finish_file(const std::string& path);

// Replaces the file, or leaves what was there and throws FileError.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace zero
