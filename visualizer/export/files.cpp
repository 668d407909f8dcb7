#include "visualizer/export/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace zero {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw FileError(path + ": " + std::strerror(error));
}

// What a link leads to, which need not be there.
fs::path without_links(const std::string& path) {
  constexpr int kMostLinks = 40;
  fs::path target = path;
  std::error_code error;
  for (int i = 0; fs::is_symlink(fs::symlink_status(target, error)); ++i) {
    if (i == kMostLinks) fail(path, ELOOP);
    const fs::path next = fs::read_symlink(target, error);
    if (error) fail(path, error.value());
    target = target.parent_path() / next;
  }
  return target;
}

// The permissions of a file that is to be there: those of the one that it replaces, or the usual.
mode_t permissions(const std::string& path) {
  struct stat there {};
  if (stat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) fail(path, EISDIR);
    if (!S_ISREG(there.st_mode)) throw FileError(path + ": not a regular file");
    if (access(path.c_str(), W_OK) != 0) fail(path, errno);
    return there.st_mode & 0777;
  }
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

PartialFile::PartialFile(const std::string& path) : path_(path) {
  const mode_t mode = permissions(path);
  const fs::path target = without_links(path);
  const fs::path directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::exists(directory, ignored)) {
    throw FileError(path + ": there is no directory " + directory.string());
  }
  target_ = target.string();
  std::string name = (directory / ".partial-XXXXXX").string();
  file_ = mkstemp(name.data());
  if (file_ < 0) fail(path, errno);
  name_ = name;
  fchmod(file_, mode);
}

PartialFile::~PartialFile() {
  if (file_ >= 0) close(file_);
  if (!name_.empty()) std::remove(name_.c_str());
}

void PartialFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void PartialFile::finish() {
  const int closed = close(file_);
  file_ = -1;
  if (closed != 0) fail(path_, errno);
  if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(path_, errno);
  name_.clear();
}

void write_file(const std::string& path, std::string_view bytes) {
  PartialFile file(path);
  file.write(bytes);
  file.finish();
}

}  // namespace zero
