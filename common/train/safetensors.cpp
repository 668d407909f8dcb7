// The safetensors format, written through a mapped file.
#include "common/train/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace zero {
namespace {

const char* safetensors_name(Dtype dtype) {
  return dtype == Dtype::fp32 ? "F32" : dtype == Dtype::fp16 ? "F16" : "BF16";
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& path,
                                     const std::vector<TensorInfo>& tensors, Dtype dtype)
    : path_(path), partial_(path + ".partial"), width_(bytes_of(dtype)) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  std::int64_t end = 0;
  for (const TensorInfo& tensor : tensors) {
    std::vector<std::int64_t> shape = tensor.shape;
    if (tensor.transposed_in_gpt2) std::swap(shape.at(0), shape.at(1));
    offsets_[tensor.name] = end;
    const std::int64_t next = end + tensor.range.size() * width_;
    header[tensor.name] = {
        {"dtype", safetensors_name(dtype)}, {"shape", shape}, {"data_offsets", {end, next}}};
    end = next;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::int64_t data = 8 + static_cast<std::int64_t>(text.size());
  for (auto& [name, offset] : offsets_) offset += data;
  size_ = data + end;

  // The room is reserved first: a full disk is an error here, not a signal later.
  const int descriptor = ::open(partial_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  int error = descriptor < 0 ? errno : ::posix_fallocate(descriptor, 0, size_);
  void* mapped = MAP_FAILED;
  if (error == 0) {
    mapped = ::mmap(nullptr, static_cast<std::size_t>(size_), PROT_READ | PROT_WRITE, MAP_SHARED,
                    descriptor, 0);
    if (mapped == MAP_FAILED) error = errno;
  }
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0) {
    if (descriptor >= 0) ::unlink(partial_.c_str());
    throw std::runtime_error(
        fmt::format("cannot write {} ({} bytes): {}", path_, size_, std::strerror(error)));
  }
  file_ = static_cast<std::byte*>(mapped);
  const std::uint64_t length = text.size();
  std::memcpy(file_, &length, 8);
  std::memcpy(file_ + 8, text.data(), text.size());
}

SafetensorsWriter::~SafetensorsWriter() {
  if (!file_) return;
  ::munmap(file_, static_cast<std::size_t>(size_));
  ::unlink(partial_.c_str());
}

void SafetensorsWriter::put(const TensorInfo& tensor, Range part,
                            std::span<const std::byte> elements) {
  if (!tensor.range.contains(part) ||
      static_cast<std::int64_t>(elements.size()) != part.size() * width_)
    throw std::invalid_argument(fmt::format("not a part of tensor {}", tensor.name));
  std::byte* to = file_ + offsets_.at(tensor.name);
  const std::int64_t first = part.begin - tensor.range.begin;
  if (!tensor.transposed_in_gpt2) {
    std::copy(elements.begin(), elements.end(), to + first * width_);
    return;
  }
  const std::int64_t rows = tensor.shape.at(0), columns = tensor.shape.at(1);  // (out, in) here
  for (std::int64_t i = 0; i < part.size(); ++i) {
    const std::int64_t row = (first + i) / columns, column = (first + i) % columns;
    std::memcpy(to + (column * rows + row) * width_,
                &elements[static_cast<std::size_t>(i * width_)], static_cast<std::size_t>(width_));
  }
}

void SafetensorsWriter::finish() {
  const bool flushed = ::msync(file_, static_cast<std::size_t>(size_), MS_SYNC) == 0;
  ::munmap(file_, static_cast<std::size_t>(size_));
  file_ = nullptr;
  if (!flushed || std::rename(partial_.c_str(), path_.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    ::unlink(partial_.c_str());
    throw std::runtime_error(fmt::format("cannot write {}: {}", path_, reason));
  }
}

}  // namespace zero
