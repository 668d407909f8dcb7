#include "visualizer/export/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace zero {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw FileError(path + ": " + std::strerror(error));
}

}  // namespace

void check_writable(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(path, EISDIR);
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (directory.empty()) directory = ".";
  if (!std::filesystem::exists(directory, ignored)) {
    throw FileError(path + ": there is no directory " + directory.string());
  }
  if (access(directory.c_str(), W_OK) != 0) fail(path, errno);
}

std::string partial_name(const std::string& path) { return path + ".partial"; }

void finish_file(const std::string& path) {
  const std::string partial = partial_name(path);
  if (std::rename(partial.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  std::remove(partial.c_str());
  fail(path, error);
}

void write_file(const std::string& path, std::string_view bytes) {
  check_writable(path);
  const std::string partial = partial_name(path);
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  if (file == nullptr) fail(path, errno);
  int error = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) error = errno;
  if (std::fflush(file) != 0 && error == 0) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error != 0) {
    std::remove(partial.c_str());
    fail(path, error);
  }
  finish_file(path);
}

}  // namespace zero
