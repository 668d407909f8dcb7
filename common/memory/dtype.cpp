// The names of the storage types.
#include "common/memory/dtype.h"

namespace zero {

std::string_view to_string(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return "fp32";
    case Dtype::fp16:
      return "fp16";
    case Dtype::bf16:
      return "bf16";
    case Dtype::int32:
      return "int32";
  }
  return "unknown";
}

}  // namespace zero
