// Runs an operator on the GPU and on the CPU, on the same values at aligned and at unaligned
// addresses, and compares everything that it may have touched.
#pragma once

#include <algorithm>
#include <cstring>

#include "tests/operators_fixture.h"

namespace zero::test {

// How much an output may differ from the CPU's.
struct Tolerance {
  bool exact = true;     // not at all, except in which NaN
  double sums = 0;       // otherwise: times the largest element (sums in another order),
  double roundings = 2;  // and so many roundings to the type: one on each device
};
inline constexpr Tolerance kExact;
inline constexpr Tolerance kClose{.exact = false, .sums = 1e-5};

struct Operand {
  Dtype dtype;
  std::int64_t size;
  Values values;             // none: nobody has written there
  bool written = false;      // by the operator
  Tolerance tolerance = {};  // if it is
};

inline Operand input(Dtype dtype, Values values) {
  return {dtype, std::ssize(values), std::move(values)};
}
inline Operand output(Dtype dtype, std::int64_t size, Tolerance tolerance) {
  return {dtype, size, {}, true, tolerance};
}
inline Operand changed(Dtype dtype, Values values, Tolerance tolerance) {
  return {dtype, std::ssize(values), std::move(values), true, tolerance};
}

using Views = std::vector<View>;
// Returns the operator's result, if it has one.
using Call = std::function<double(Device&, const Views&)>;

// An operand amid a buffer: what lies before and after it is not the operator's.
class Placed {
 public:
  static constexpr std::int64_t kGuard = 9;

  Placed(Fixture& fixture, const Operand& operand, std::int64_t shift)
      : range_{shift, shift + operand.size} {
    const std::int64_t size = shift + operand.size + kGuard;
    Values all = operand.dtype == Dtype::int32 ? random_ids(size, 1000, 77)
                                               : random_values(operand.dtype, size, 77);
    std::copy(operand.values.begin(), operand.values.end(), all.begin() + shift);
    buffer_ = fixture.holding(operand.dtype, all);
    if (operand.values.empty() && operand.size > 0) {
      const Buffer fresh = fixture.fresh(operand.dtype, operand.size);
      fixture.device->copy(fresh, view());
    }
    before_ = fixture.bits(buffer_);
  }

  View view() const { return buffer_[range_]; }

  // Whether the bytes outside the operand, or with `all` every byte, are as they were.
  bool is_untouched(Fixture& fixture, bool all) const {
    std::vector<std::byte> now = fixture.bits(buffer_);
    const std::int64_t width = bytes_of(buffer_.view().dtype());
    if (!all) {
      std::copy(before_.begin() + range_.begin * width, before_.begin() + range_.end * width,
                now.begin() + range_.begin * width);
    }
    return now == before_;
  }

 private:
  Range range_;
  Buffer buffer_;
  std::vector<std::byte> before_;
};

inline bool same_number(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

inline void require_same(const Values& gpu, const Values& cpu, Dtype dtype,
                         const Tolerance& tolerance) {
  REQUIRE(gpu.size() == cpu.size());
  double largest = 0;
  for (const double value : cpu) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    if (same_number(gpu[i], cpu[i])) continue;
    const double allowed = unit_roundoff(dtype) * 1.001 * tolerance.roundings * std::abs(cpu[i]) +
                           tolerance.sums * largest + 0x1p-24;
    if (!tolerance.exact && std::isfinite(cpu[i]) && std::abs(gpu[i] - cpu[i]) <= allowed) continue;
    // Sums with an infinity are infinite or NaN; which one, the order may decide.
    if (!tolerance.exact && !std::isfinite(cpu[i]) && !std::isfinite(gpu[i])) continue;
    INFO("element " << i << " of " << cpu.size() << ", " << to_string(dtype));
    INFO("GPU " << gpu[i] << ", CPU " << cpu[i] << ", allowed " << allowed);
    FAIL();
  }
}

// The addresses that an operator is tried at: with 16-byte accesses, and 3 elements behind, where
// there are none.
enum class Places {
  both,       // the GPU's numbers are the same
  both_near,  // each near the CPU's: cuBLAS may choose by alignment how it sums
  aligned,    // for what takes long
};

// The two devices, for several operators.
struct Both {
  Fixture gpu, cpu;

  Both() { cpu.device = make_cpu_device(cpu.tracker, nullptr, true, 0, 1); }

  void compare(const std::string& name, const std::vector<Operand>& operands, const Call& call,
               double result_tolerance = 0, Places places = Places::both) {
    std::string sizes;
    for (const Operand& operand : operands) sizes += ' ' + std::to_string(operand.size);
    INFO(name << ", sizes" << sizes);
    const auto aligned = compare_at(0, operands, call, result_tolerance);
    if (places == Places::aligned) return;
    const auto unaligned = compare_at(3, operands, call, result_tolerance);
    if (places == Places::both_near) return;
    INFO("aligned, and shifted by 3");
    REQUIRE(aligned.size() == unaligned.size());
    for (std::size_t i = 0; i < aligned.size(); ++i) {
      INFO("written operand " << i << "; the last is the result");
      CHECK(std::equal(aligned[i].begin(), aligned[i].end(), unaligned[i].begin(),
                       unaligned[i].end(), same_number));
    }
  }

 private:
  // Returns what the GPU has written, and its result.
  std::vector<Values> compare_at(std::int64_t shift, const std::vector<Operand>& operands,
                                 const Call& call, double result_tolerance) {
    INFO("shifted by " << shift);
    std::vector<Placed> on_gpu, on_cpu;
    Views gpu_views, cpu_views;
    for (const Operand& operand : operands) {
      on_gpu.emplace_back(gpu, operand, shift);
      on_cpu.emplace_back(cpu, operand, shift);
      gpu_views.push_back(on_gpu.back().view());
      cpu_views.push_back(on_cpu.back().view());
    }
    const double expected = call(*cpu.device, cpu_views);
    const double actual = call(*gpu.device, gpu_views);
    if (!same_number(actual, expected)) {
      CHECK(std::abs(actual - expected) <= result_tolerance * std::abs(expected));
    }
    std::vector<Values> results;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      INFO("operand " << i);
      CHECK(on_gpu[i].is_untouched(gpu, !operands[i].written));
      if (!operands[i].written) continue;
      results.push_back(gpu.read(gpu_views[i]));
      require_same(results.back(), cpu.read(cpu_views[i]), operands[i].dtype,
                   operands[i].tolerance);
    }
    results.push_back({actual});
    return results;
  }
};

}  // namespace zero::test
