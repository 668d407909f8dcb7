// Programs that are linked with this run on the emulated GPU, unless ZERO_GPU_LIBRARY says
// otherwise: another module, or, set to nothing, the one that a program finds by itself.
#include <unistd.h>

#include <cstdlib>

namespace {

// Before main. Where the tests were carried to another machine, without the emulated GPU, they are
// about the one there.
[[maybe_unused]] const int chosen =
    access(ZERO_EMULATED_GPU, R_OK) == 0 ? setenv("ZERO_GPU_LIBRARY", ZERO_EMULATED_GPU, 0) : 0;

}  // namespace
