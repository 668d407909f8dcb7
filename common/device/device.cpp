// What devices have in common.
#include "common/device/device.h"

#include <chrono>

namespace zero {

double Device::seconds() {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now().time_since_epoch();
  return since.count();
}

}  // namespace zero
