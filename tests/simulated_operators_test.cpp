// How long simulated operators take, by hand from their shapes; and the presets.
#include <set>

#include "catch.h"
#include "common/device/simulated/simulated_device.h"

namespace zero {
namespace {

constexpr double kNever = 1e30;  // so fast that it takes no time

// A kernel's start takes 1000 ps and the rest is one picosecond for each FLOP in fp32, half of one
// in fp16, a quarter in bf16; or one for each byte; or nothing.
const Gpu kComputes{"computes", 1'000'000'000, kNever, 2e12, 4e12, 1e12, 1e-9};
const Gpu kMoves{"moves", 1'000'000'000, 1e12, kNever, kNever, kNever, 1e-9};
const Gpu kStarts{"starts", 1'000'000'000, kNever, kNever, kNever, kNever, 1e-9};

struct Machine {
  explicit Machine(const Gpu& gpu) : device(tracker, nullptr, gpu, 1, clock) {}

  Buffer make(Dtype dtype, std::int64_t size) {
    return device.allocate(Memory::temporary, "x", dtype, size);
  }

  Place place;
  MemoryTracker tracker{place};
  VirtualClock clock;
  SimulatedDevice device;
};

// B = 2 sequences of T = 5 tokens, C = 6 channels in H = 3 heads, V = 7, room for 8 positions;
// R = 10. A linear layer is 6 -> 7.
struct Operands {
  Operands(Machine& machine, Dtype dtype)
      : rc(machine.make(dtype, 60)),
        r3c(machine.make(dtype, 180)),
        att(machine.make(dtype, 150)),
        c(machine.make(dtype, 6)),
        v(machine.make(dtype, 7)),
        vc(machine.make(dtype, 42)),
        pc(machine.make(dtype, 48)),
        rv(machine.make(dtype, 70)),
        wide(machine.make(Dtype::fp32, 60)),
        r(machine.make(Dtype::fp32, 10)),
        ids(machine.make(Dtype::int32, 10)) {}

  Buffer rc, r3c, att, c, v, vc, pc, rv, wide, r, ids;
};

struct Case {
  const char* name;
  void (*call)(Device& device, const Operands& x);
  double product_flops, flops;
  double bytes, bytes_fp32;  // with 2 bytes an element, and with 4
  int launches = 1;
};

const std::vector<Case> kCases = {
    {"zero", [](Device& d, const Operands& x) { d.zero(x.rc); }, 0, 0, 120, 240},
    {"copy", [](Device& d, const Operands& x) { d.copy(x.rc, x.rc); }, 0, 0, 240, 480},
    {"copy from fp32", [](Device& d, const Operands& x) { d.copy(x.wide, x.rc); }, 0, 0, 360, 480},
    {"add", [](Device& d, const Operands& x) { d.add(x.rc, x.rc, x.rc, 3); }, 0, 120, 360, 720},
    {"accumulate", [](Device& d, const Operands& x) { d.accumulate(x.wide, x.rc); }, 0, 60, 600,
     720},
    {"divide", [](Device& d, const Operands& x) { d.divide(x.rc, x.wide, 3); }, 0, 60, 360, 480},
    {"sum_of_squares", [](Device& d, const Operands& x) { d.sum_of_squares(x.rc); }, 0, 120, 120,
     240},
    {"adamw",
     [](Device& d, const Operands& x) { d.adamw(x.wide, x.wide, x.wide, x.rc, AdamWStep{}); }, 0,
     1020, 1560, 1680},
    {"embedding_forward",
     [](Device& d, const Operands& x) { d.embedding_forward(x.rc, x.ids, x.vc, x.pc, 2, 5, 6); }, 0,
     60, 400, 760},
    {"embedding_backward",
     [](Device& d, const Operands& x) { d.embedding_backward(x.vc, x.pc, x.rc, x.ids, 2, 5, 6); },
     0, 120, 604, 1168, 4},
    {"layernorm_forward",
     [](Device& d, const Operands& x) {
       d.layernorm_forward(x.rc, x.r, x.r, x.rc, x.c, x.c, 10, 6);
     },
     0, 480, 344, 608},
    {"layernorm_backward",
     [](Device& d, const Operands& x) {
       d.layernorm_backward(x.rc, x.c, x.c, x.rc, x.rc, x.r, x.r, x.c, 10, 6);
     },
     0, 1140, 916, 1672, 3},
    {"linear_forward",
     [](Device& d, const Operands& x) { d.linear_forward(x.rv, x.rc, x.vc, x.v, 10, 6, 7); }, 840,
     0, 638, 1276, 2},
    {"linear_forward without a bias",
     [](Device& d, const Operands& x) { d.linear_forward(x.rv, x.rc, x.vc, View(), 10, 6, 7); },
     840, 0, 344, 688},
    {"linear_backward",
     [](Device& d, const Operands& x) {
       d.linear_backward(x.rc, x.vc, x.v, x.rv, x.rc, x.vc, 10, 6, 7);
     },
     1680, 70, 842, 1684, 4},
    {"linear_backward without a bias",
     [](Device& d, const Operands& x) {
       d.linear_backward(x.rc, x.vc, View(), x.rv, x.rc, x.vc, 10, 6, 7);
     },
     1680, 0, 688, 1376, 2},
    {"attention_forward",
     [](Device& d, const Operands& x) { d.attention_forward(x.rc, x.att, x.r3c, 2, 5, 6, 3); },
     1200, 630, 2040, 3120, 6},
    {"attention_backward",
     [](Device& d, const Operands& x) {
       d.attention_backward(x.r3c, x.rc, x.r3c, x.att, 2, 5, 6, 3);
     },
     2400, 360, 3300, 5640, 10},
    {"gelu_forward", [](Device& d, const Operands& x) { d.gelu_forward(x.rc, x.rc); }, 0, 480, 240,
     480},
    {"gelu_backward", [](Device& d, const Operands& x) { d.gelu_backward(x.rc, x.rc, x.rc); }, 0,
     1020, 360, 720},
    {"residual_forward", [](Device& d, const Operands& x) { d.residual_forward(x.rc, x.rc, x.rc); },
     0, 60, 360, 720},
    {"cross_entropy_forward",
     [](Device& d, const Operands& x) { d.cross_entropy_forward(x.rv, x.r, x.ids, 10, 7); }, 0, 280,
     300, 440},
    {"cross_entropy_backward",
     [](Device& d, const Operands& x) {
       d.cross_entropy_backward(x.rv, x.rv, x.r, x.ids, 1, 10, 7);
     },
     0, 280, 360, 640},
};

TEST_CASE("an operator takes the time of its FLOPs, or of its bytes, and of starting its kernels") {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    Machine computes(kComputes), moves(kMoves);
    const Operands to_compute(computes, dtype), to_move(moves, dtype);
    const double each = dtype == Dtype::fp32 ? 1 : dtype == Dtype::fp16 ? 0.5 : 0.25;
    double product_flops = 0;
    for (const Case& operation : kCases) {
      INFO(operation.name << " in " << to_string(dtype));
      const Picoseconds computing = computes.clock.now(), moving = moves.clock.now();
      operation.call(computes.device, to_compute);
      operation.call(moves.device, to_move);
      const double starts = 1000.0 * operation.launches;
      CHECK(static_cast<double>(computes.clock.now() - computing) ==
            operation.product_flops * each + operation.flops + starts);
      CHECK(static_cast<double>(moves.clock.now() - moving) ==
            (dtype == Dtype::fp32 ? operation.bytes_fp32 : operation.bytes) + starts);
      product_flops += operation.product_flops;
    }
    CHECK(computes.device.product_flops() == product_flops);
    CHECK(computes.clock.computing() == computes.clock.now());
    CHECK(computes.clock.communicating() == 0);
  }
}

TEST_CASE("without elements an operator starts no kernel") {
  Machine machine(kStarts);
  const Buffer none = machine.make(Dtype::fp16, 0);
  machine.device.zero(none);
  machine.device.copy(none, none);
  machine.device.add(none, none, none, 2);
  machine.device.gelu_forward(none, none);
  CHECK(machine.clock.now() == 0);
  machine.device.zero(machine.make(Dtype::fp16, 1));
  CHECK(machine.clock.now() == 1000);
}

TEST_CASE("attention starts its kernels for as many heads as share 16 MiB of scratch") {
  // A square of 1000 tokens is 4 MB in fp32: four of five heads together, then one. Backward it is
  // there in the training type, too: 6 MB and 8 MB, two heads together, so three times.
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16}) {
    Machine machine(kStarts);
    const std::int64_t rows = 3 * 1000;
    const Buffer out = machine.make(dtype, rows * 10), qkv = machine.make(dtype, rows * 30);
    const Buffer att = machine.make(dtype, 3 * 5 * 1'000'000);
    machine.device.attention_forward(out, att, qkv, 3, 1000, 10, 5);
    CHECK(machine.clock.now() == 3 * 2 * 3 * 1000);
    machine.device.attention_backward(qkv, out, qkv, att, 3, 1000, 10, 5);
    CHECK(machine.clock.now() == 3 * 2 * 3 * 1000 + 3 * 3 * 5 * 1000);
  }
}

TEST_CASE("the losses of 16,384 rows at a time are a kernel") {
  for (const int R : {16'383, 16'384, 16'385, 40'000}) {
    Machine machine(kStarts);
    const Buffer logits = machine.make(Dtype::bf16, std::int64_t{R} * 3);
    const Buffer log_sum = machine.make(Dtype::fp32, R), ids = machine.make(Dtype::int32, R);
    machine.device.cross_entropy_forward(logits, log_sum, ids, R, 3);
    CHECK(machine.clock.now() == 1000 * ((R + 16'383) / 16'384));
  }
}

TEST_CASE("a large product on an H100 is bound by its FLOPs, a product of one row by its weight") {
  const Gpu& h100 = gpu_presets()[2].gpu;
  REQUIRE(h100.name == "H100");
  const Dtype bf16 = Dtype::bf16;
  Machine machine(h100);
  {
    // 2 * 8192 * 4096 * 4096 FLOPs at 989.5 TFLOPS: 277.80 us. Its 168 MB would take 50.1 us.
    const Buffer x = machine.make(bf16, 8192 * 4096), weight = machine.make(bf16, 4096 * 4096);
    machine.device.linear_forward(x, x, weight, View(), 8192, 4096, 4096);
    CHECK(machine.device.seconds() == Approx(277.80e-6 + 3e-6).epsilon(1e-4));
  }
  const double before = machine.device.seconds();
  {
    // 2 * 4096 * 4096 bytes at 3.35 TB/s: 10.016 us, and 5 ns for both rows.
    const Buffer x = machine.make(bf16, 4096), weight = machine.make(bf16, 4096 * 4096);
    machine.device.linear_forward(x, x, weight, View(), 1, 4096, 4096);
    CHECK(machine.device.seconds() - before == Approx(10.021e-6 + 3e-6).epsilon(1e-4));
  }
}

TEST_CASE("times are rounded to whole picoseconds") {
  CHECK(to_picoseconds(0) == 0);
  CHECK(to_picoseconds(1) == 1'000'000'000'000);
  CHECK(to_picoseconds(1.4e-12) == 1);
  CHECK(to_picoseconds(1.6e-12) == 2);
  const Link link{"a link", 3e-6, 3e9};
  CHECK(wire_time(link, 1000) == 333'333);
  CHECK(transfer_time(link, 1000) == 3'333'333);
  CHECK(transfer_time(link, 0) == 3'000'000);
}

TEST_CASE("what the collectives ask for is what the device does for them") {
  for (const Dtype dtype : {Dtype::fp32, Dtype::fp16, Dtype::bf16}) {
    Machine machine(kMoves);
    const Buffer x = machine.make(dtype, 1001), wide = machine.make(Dtype::fp32, 1001);
    machine.device.add(x, x, x, 5);
    CHECK(machine.clock.now() == time_of(add_cost(1001, dtype), dtype, kMoves));
    const Picoseconds before = machine.clock.now();
    machine.device.copy(x, wide);
    CHECK(machine.clock.now() - before ==
          time_of(copy_cost(1001, dtype, Dtype::fp32), dtype, kMoves));
  }
}

TEST_CASE("GPUs of one node talk over its link, all others over the network") {
  Hardware hardware;
  hardware.link.name = "inside";
  hardware.network.name = "outside";
  hardware.gpus_per_node = 3;
  CHECK(hardware.between(0, 2).name == "inside");
  CHECK(hardware.between(2, 3).name == "outside");
  CHECK(hardware.between(5, 3).name == "inside");
  CHECK(hardware.between(6, 0).name == "outside");
}

TEST_CASE("presets have names of their own and numbers for everything") {
  std::set<std::string> names, links;
  for (const auto& [key, link] : link_presets()) {
    CHECK(names.insert(key).second);
    CHECK(names.insert(link.name).second);
    CHECK(links.insert(key).second);
    CHECK(link.latency > 1e-6);
    CHECK(link.latency < 1e-4);
    CHECK(link.bandwidth > 1e9);
  }
  for (const NamedGpu& preset : gpu_presets()) {
    CHECK(names.insert(preset.key).second);
    CHECK(names.insert(preset.gpu.name).second);
    CHECK(links.count(preset.link) == 1);
    CHECK(links.count(preset.network) == 1);
    CHECK(preset.gpu.memory % 1'000'000'000 == 0);
    CHECK(preset.gpu.memory >= 32'000'000'000);
    CHECK(preset.gpu.bandwidth > 5e11);
    // From one generation to the next, a matrix product is never slower in 16 bits than in 32.
    CHECK(preset.gpu.half_flops > preset.gpu.fp32_flops);
    CHECK(preset.gpu.bf16_flops >= preset.gpu.fp32_flops);
    CHECK(preset.gpu.fp32_flops > 1e13);
    CHECK(preset.gpu.launch_seconds > 0);
  }
}

}  // namespace
}  // namespace zero
