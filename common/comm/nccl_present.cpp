// What a build with NCCL has.
#include "common/comm/nccl_transport.h"

namespace zero {

bool has_nccl() { return true; }

}  // namespace zero
