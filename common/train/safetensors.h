// Writing a model as safetensors, piece by piece, with constant memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/memory/dtype.h"
#include "common/model/layout.h"

namespace zero {

// One file: 8 bytes with the length of a JSON header, the header, then the tensors one after the
// other, row-major. Names, shapes and orientation are GPT-2's: a linear layer's weight is
// (in, out) there (but lm_head, (V, C)). The file appears under its name only when finish() is
// called; until then it is PATH.partial, which is removed if finish() is never reached.
class SafetensorsWriter {
 public:
  // std::runtime_error when there is no room or no permission.
  SafetensorsWriter(const std::string& path, const std::vector<TensorInfo>& tensors, Dtype dtype);
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // The elements at positions `part` of the flat vector, all of one tensor.
  void put(const TensorInfo& tensor, Range part, std::span<const std::byte> elements);
  void finish();

 private:
  std::string path_, partial_;
  std::int64_t width_;
  std::map<std::string, std::int64_t> offsets_;  // of each tensor, from the start of the file
  std::int64_t size_ = 0;
  std::byte* file_ = nullptr;  // the whole file, mapped
};

}  // namespace zero
