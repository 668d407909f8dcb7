// Finds and loads the module with the GPU's part.
#include "common/train/gpu.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

namespace zero {
namespace {

// Found beside the program: it is linked with a search path to the folder of the libraries.
constexpr const char* kLibrary = "libzero_cuda.so";

GpuModule& load() {
  const char* const variable = std::getenv("ZERO_GPU_LIBRARY");
  const bool chosen = variable && *variable;
  const std::string path = chosen ? variable : kLibrary;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const std::string why = dlerror();
    const bool absent =
        why.starts_with(path) && why.find("cannot open shared object file") != std::string::npos;
    if (absent && chosen) {
      const bool bare = path.find('/') == std::string::npos;  // looked for among the system's
      throw NoGpu(fmt::format("ZERO_GPU_LIBRARY names {}, which cannot be opened{}", path,
                              bare ? ": name its folder, too" : ""));
    }
    if (absent) {
      throw NoGpu(fmt::format(
          "this program was built without CUDA ({} is not there; install the CUDA toolkit and "
          "build again)",
          path));
    }
    throw NoGpu(fmt::format("the GPU's part cannot be loaded: {}", why));
  }
  using Entry = GpuModule* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "zero_gpu_module"));
  if (!entry) throw NoGpu(fmt::format("{} is not a GPU module of this project", path));
  return *entry();
}

}  // namespace

GpuModule& gpu_module() {
  static GpuModule& module = load();
  return module;
}

}  // namespace zero
