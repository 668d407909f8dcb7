// The maker of the communicator over NCCL's own collectives.
#pragma once

#include <memory>

#include "common/comm/communicator.h"
#include "common/comm/nccl_connection.h"

namespace zero {

// All references must outlive it. `chunk`: elements of its scratch.
std::unique_ptr<Communicator> make_nccl_library_communicator(Transport& transport,
                                                             NcclConnection& nccl, Device& device,
                                                             Trace& trace, Dtype wire,
                                                             std::int64_t chunk);

}  // namespace zero
