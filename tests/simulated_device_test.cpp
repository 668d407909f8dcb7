// The simulated device beside the CPU's: the same events, the same refusals, and no more memory
// than its GPU has.
#include "common/device/simulated/simulated_device.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "catch.h"
#include "common/model/activations.h"

namespace zero {
namespace {

constexpr Dtype kTypes[] = {Dtype::fp32, Dtype::fp16, Dtype::bf16};

// Writes down everything that is told but addresses, ids and workspace.
class Recorder : public HeapObserver {
 public:
  void allocated(const Allocation& allocation) override { tell("allocated", allocation); }
  void released(const Allocation& allocation) override { tell("released", allocation); }
  void wrote(View view, Written what) override {
    events.push_back(fmt::format("{} {} [{}, {})", to_string(what), view.allocation().name,
                                 view.range().begin, view.range().end));
  }
  void operator_begins(std::string_view name) override {
    events.push_back(fmt::format("{} begins", name));
  }
  void operator_ends(std::string_view name) override {
    events.push_back(fmt::format("{} ends", name));
  }

  std::vector<std::string> events;

 private:
  void tell(std::string_view what, const Allocation& allocation) {
    if (allocation.category == Memory::workspace) return;
    events.push_back(fmt::format("{} {} {} {} [{}, {}) {} {} bytes", what, allocation.name,
                                 to_string(allocation.category), to_string(allocation.dtype),
                                 allocation.range.begin, allocation.range.end, allocation.flat,
                                 allocation.bytes));
  }
};

Gpu small_gpu(std::int64_t memory) {
  Gpu gpu = gpu_presets().front().gpu;
  gpu.name = "small GPU";
  gpu.memory = memory;
  return gpu;
}

struct Machine {
  enum Kind { cpu, simulated };
  explicit Machine(Kind kind, std::int64_t memory = 1'000'000'000, int world_size = 1) {
    if (kind == cpu) device = make_cpu_device(tracker, &recorder, true, 0, 1);
    else device = make_simulated_device(tracker, &recorder, small_gpu(memory), world_size, clock);
  }

  Buffer make(Dtype dtype, std::int64_t size) {
    return device->allocate(Memory::temporary, "x", dtype, size);
  }

  Place place;
  MemoryTracker tracker{place};
  Recorder recorder;
  VirtualClock clock;
  std::unique_ptr<Device> device;
};

// An iteration as ZeRO-3 holds its memory, and an update of a part of the parameters.
void train(Machine& machine, const Model& model, Dtype dtype, const Batch& batch) {
  Device& device = *machine.device;
  const Range all = {0, model.padded_parameters()}, mine = {7, 1003};
  Buffer params = device.allocate(Memory::parameters, "params", dtype, all);
  device.zero(params);
  device.wrote(params, Written::initial);
  Buffer grads = device.allocate(Memory::gradients, "grads", dtype, all);
  Activations activations(device, machine.place, model.config(), dtype, batch, 3);
  for (const Unit& unit : model.units()) {
    Buffer own = device.allocate(Memory::temporary, "unit_params", dtype, unit.range());
    device.copy(params[unit.range()], own);
    unit.forward(own, activations);
  }
  for (const Unit& unit : model.units_reversed()) {
    unit.backward(params[unit.range()], grads[unit.range()], activations);
  }
  Buffer wide = device.allocate(Memory::optimizer_states, "master", Dtype::fp32, mine);
  device.copy(params[mine], wide);
  device.add(grads[mine], grads[mine], grads[mine], 5);
  device.accumulate(wide, grads[mine]);
  device.divide(grads[mine], wide, 5);
  device.sum_of_squares(grads[mine]);
  device.adamw(wide, wide, wide, grads[mine], AdamWStep{1, 1, 1, 1, 1, 1, 1, 1});
}

TEST_CASE("a model's forward and backward pass tell the same events as on the CPU") {
  const Model model({.layers = 2, .heads = 3, .channels = 15, .context = 7, .vocab = 29}, 3, 1);
  Batch batch{.B = 2, .T = 7, .tokens = {}, .targets = {}};
  for (int i = 0; i < 14; ++i) {
    batch.tokens.push_back(i * 5 % 29);
    batch.targets.push_back(i * 3 % 29);
  }
  for (const Dtype dtype : kTypes) {
    for (const float loss_weight : {1.0f, std::numeric_limits<float>::infinity()}) {
      batch.loss_weight = loss_weight;
      Machine cpu(Machine::cpu), simulated(Machine::simulated);
      train(cpu, model, dtype, batch);
      train(simulated, model, dtype, batch);
      CHECK(cpu.recorder.events.size() > 200);
      CHECK(simulated.recorder.events == cpu.recorder.events);
      for (int c = 0; c < kMemoryCategories; ++c) {
        const Memory category = static_cast<Memory>(c);
        INFO(to_string(category));
        const std::int64_t peak = simulated.tracker.peak(category);
        if (category == Memory::workspace) CHECK(peak == 0);
        else CHECK(peak == cpu.tracker.peak(category));
      }
      CHECK(simulated.tracker.live_total() == 0);
      CHECK(simulated.clock.now() > 0);
    }
  }
}

// B = 2, T = 3, C = 4, H = 2, V = 5; R = 6.
struct Operands {
  explicit Operands(Machine& machine)
      : rc(machine.make(Dtype::fp32, 24)),
        r3c(machine.make(Dtype::fp32, 72)),
        c(machine.make(Dtype::fp32, 4)),
        r(machine.make(Dtype::fp32, 6)),
        att(machine.make(Dtype::fp32, 36)),
        cc(machine.make(Dtype::fp32, 16)),
        rv(machine.make(Dtype::fp32, 30)),
        vc(machine.make(Dtype::fp32, 20)),
        tc(machine.make(Dtype::fp32, 12)),
        ids(machine.make(Dtype::int32, 6)),
        odd(machine.make(Dtype::fp32, 23)),
        half(machine.make(Dtype::fp16, 24)),
        few(machine.make(Dtype::int32, 5)) {
    machine.device->zero(ids);
  }

  Buffer rc, r3c, c, r, att, cc, rv, vc, tc, ids, odd, half, few;
};

using Call = void (*)(Device& d, const Operands& x);

const std::vector<Call> kWrongCalls = {
    [](Device& d, const Operands& x) { d.copy(x.rc, x.odd); },
    [](Device& d, const Operands& x) { d.add(x.odd, x.rc, x.rc, 1); },
    [](Device& d, const Operands& x) { d.add(x.rc, x.odd, x.rc, 1); },
    [](Device& d, const Operands& x) { d.add(x.rc, x.rc, x.odd, 1); },
    [](Device& d, const Operands& x) { d.add(x.rc, x.rc, x.half, 1); },
    [](Device& d, const Operands& x) { d.accumulate(x.odd, x.rc); },
    [](Device& d, const Operands& x) { d.accumulate(x.half, x.rc); },
    [](Device& d, const Operands& x) { d.divide(x.odd, x.rc, 1); },
    [](Device& d, const Operands& x) { d.divide(x.rc, x.half, 1); },
    [](Device& d, const Operands& x) { d.adamw(x.odd, x.rc, x.rc, x.rc, {}); },
    [](Device& d, const Operands& x) { d.adamw(x.rc, x.odd, x.rc, x.rc, {}); },
    [](Device& d, const Operands& x) { d.adamw(x.rc, x.rc, x.odd, x.rc, {}); },
    [](Device& d, const Operands& x) { d.adamw(x.rc, x.rc, x.rc, x.odd, {}); },
    [](Device& d, const Operands& x) { d.adamw(x.rc, x.rc, x.half, x.rc, {}); },
    [](Device& d, const Operands& x) { d.gelu_forward(x.odd, x.rc); },
    [](Device& d, const Operands& x) { d.gelu_forward(x.half, x.rc); },
    [](Device& d, const Operands& x) { d.gelu_backward(x.odd, x.rc, x.rc); },
    [](Device& d, const Operands& x) { d.gelu_backward(x.rc, x.odd, x.rc); },
    [](Device& d, const Operands& x) { d.gelu_backward(x.rc, x.half, x.rc); },
    [](Device& d, const Operands& x) { d.residual_forward(x.odd, x.rc, x.rc); },
    [](Device& d, const Operands& x) { d.residual_forward(x.rc, x.odd, x.rc); },
    [](Device& d, const Operands& x) { d.residual_forward(x.rc, x.rc, x.odd); },
    [](Device& d, const Operands& x) { d.residual_forward(x.rc, x.half, x.rc); },
    [](Device& d, const Operands& x) { d.embedding_forward(x.odd, x.ids, x.vc, x.tc, 2, 3, 4); },
    [](Device& d, const Operands& x) { d.embedding_forward(x.rc, x.few, x.vc, x.tc, 2, 3, 4); },
    [](Device& d, const Operands& x) { d.embedding_forward(x.rc, x.r, x.vc, x.tc, 2, 3, 4); },
    [](Device& d, const Operands& x) { d.embedding_forward(x.rc, x.ids, x.odd, x.tc, 2, 3, 4); },
    [](Device& d, const Operands& x) { d.embedding_forward(x.rc, x.ids, x.vc, x.odd, 2, 3, 4); },
    [](Device& d, const Operands& x) { d.embedding_forward(x.rc, x.ids, x.vc, x.c, 2, 3, 4); },
    [](Device& d, const Operands& x) { d.embedding_backward(x.vc, x.tc, x.odd, x.ids, 2, 3, 4); },
    [](Device& d, const Operands& x) { d.embedding_backward(x.vc, x.half, x.rc, x.ids, 2, 3, 4); },
    [](Device& d, const Operands& x) {
      d.layernorm_forward(x.odd, x.r, x.r, x.rc, x.c, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_forward(x.rc, x.odd, x.r, x.rc, x.c, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_forward(x.rc, x.r, x.odd, x.rc, x.c, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_forward(x.rc, x.r, x.r, x.odd, x.c, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_forward(x.rc, x.r, x.r, x.rc, x.odd, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_forward(x.rc, x.r, x.r, x.rc, x.c, x.odd, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_forward(x.rc, x.ids, x.r, x.rc, x.c, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_backward(x.odd, x.c, x.c, x.rc, x.rc, x.r, x.r, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_backward(x.rc, x.odd, x.c, x.rc, x.rc, x.r, x.r, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_backward(x.rc, x.c, x.odd, x.rc, x.rc, x.r, x.r, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_backward(x.rc, x.c, x.c, x.odd, x.rc, x.r, x.r, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_backward(x.rc, x.c, x.c, x.half, x.rc, x.r, x.r, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) {
      d.layernorm_backward(x.rc, x.c, x.c, x.rc, x.rc, x.r, x.ids, x.c, 6, 4);
    },
    [](Device& d, const Operands& x) { d.linear_forward(x.odd, x.rc, x.cc, x.c, 6, 4, 4); },
    [](Device& d, const Operands& x) { d.linear_forward(x.rc, x.odd, x.cc, x.c, 6, 4, 4); },
    [](Device& d, const Operands& x) { d.linear_forward(x.rc, x.rc, x.odd, x.c, 6, 4, 4); },
    [](Device& d, const Operands& x) { d.linear_forward(x.rc, x.rc, x.cc, x.odd, 6, 4, 4); },
    [](Device& d, const Operands& x) { d.linear_forward(x.rc, x.half, x.cc, x.c, 6, 4, 4); },
    [](Device& d, const Operands& x) {
      d.linear_backward(x.odd, x.cc, x.c, x.rc, x.rc, x.cc, 6, 4, 4);
    },
    [](Device& d, const Operands& x) {
      d.linear_backward(x.rc, x.odd, x.c, x.rc, x.rc, x.cc, 6, 4, 4);
    },
    [](Device& d, const Operands& x) {
      d.linear_backward(x.rc, x.cc, x.odd, x.rc, x.rc, x.cc, 6, 4, 4);
    },
    [](Device& d, const Operands& x) {
      d.linear_backward(x.rc, x.cc, x.c, x.odd, x.rc, x.cc, 6, 4, 4);
    },
    [](Device& d, const Operands& x) {
      d.linear_backward(x.half, x.cc, x.c, x.rc, x.rc, x.cc, 6, 4, 4);
    },
    [](Device& d, const Operands& x) { d.attention_forward(x.odd, x.att, x.r3c, 2, 3, 4, 2); },
    [](Device& d, const Operands& x) { d.attention_forward(x.rc, x.odd, x.r3c, 2, 3, 4, 2); },
    [](Device& d, const Operands& x) { d.attention_forward(x.rc, x.att, x.odd, 2, 3, 4, 2); },
    [](Device& d, const Operands& x) { d.attention_forward(x.rc, x.att, x.r3c, 2, 3, 4, 3); },
    [](Device& d, const Operands& x) { d.attention_forward(x.half, x.att, x.r3c, 2, 3, 4, 2); },
    [](Device& d, const Operands& x) {
      d.attention_backward(x.odd, x.rc, x.r3c, x.att, 2, 3, 4, 2);
    },
    [](Device& d, const Operands& x) {
      d.attention_backward(x.r3c, x.half, x.r3c, x.att, 2, 3, 4, 2);
    },
    [](Device& d, const Operands& x) { d.cross_entropy_forward(x.odd, x.r, x.ids, 6, 5); },
    [](Device& d, const Operands& x) { d.cross_entropy_forward(x.rv, x.odd, x.ids, 6, 5); },
    [](Device& d, const Operands& x) { d.cross_entropy_forward(x.rv, x.r, x.few, 6, 5); },
    [](Device& d, const Operands& x) { d.cross_entropy_forward(x.rv, x.r, x.r, 6, 5); },
    [](Device& d, const Operands& x) {
      d.cross_entropy_backward(x.odd, x.rv, x.r, x.ids, 1, 6, 5);
    },
    [](Device& d, const Operands& x) { d.cross_entropy_backward(x.rv, x.rv, x.r, x.few, 1, 6, 5); },
    [](Device& d, const Operands& x) {
      d.cross_entropy_backward(x.rv, x.rv, x.ids, x.ids, 1, 6, 5);
    },
    [](Device& d, const Operands& x) { d.upload({}, x.rc); },
    [](Device& d, const Operands& x) { d.download(x.rc, {}); },
};

std::string refusal(Device& device, const Operands& operands, Call call) {
  try {
    call(device, operands);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("wrong sizes and types are refused in the CPU's words, and take no time") {
  Machine cpu(Machine::cpu), simulated(Machine::simulated);
  const Operands on_cpu(cpu), in_simulation(simulated);
  const Picoseconds before = simulated.clock.now();
  for (std::size_t i = 0; i < kWrongCalls.size(); ++i) {
    INFO("call " << i);
    const std::string expected = refusal(*cpu.device, on_cpu, kWrongCalls[i]);
    CHECK(expected != "nothing was refused");
    CHECK(refusal(*simulated.device, in_simulation, kWrongCalls[i]) == expected);
  }
  CHECK(simulated.clock.now() == before);
}

TEST_CASE("a GPU of n bytes holds n bytes and not one element more") {
  Machine machine(Machine::simulated, 1000);
  {
    const Buffer most = machine.make(Dtype::fp16, 499);
    const Buffer rest = machine.make(Dtype::fp16, 1);
    const Buffer none = machine.make(Dtype::fp32, 0);
    CHECK(machine.tracker.live_total() == 1000);
    CHECK_THROWS_WITH(machine.make(Dtype::fp16, 1),
                      "out of memory: \"x\" (temporary) needs 2 B, but the small GPU has no memory "
                      "left: of its 1,000 B only 0 B are free; alive: temporary 1,000 B");
    CHECK(machine.tracker.live_total() == 1000);
  }
  CHECK_THROWS_AS(machine.make(Dtype::fp16, 501), OutOfMemory);
  const Buffer again = machine.make(Dtype::fp16, 500);  // what was released is free
  CHECK(again.view().data() == nullptr);

  Machine odd(Machine::simulated, 999);
  CHECK_THROWS_AS(odd.make(Dtype::fp16, 500), OutOfMemory);
  CHECK(odd.make(Dtype::fp16, 499).view().size() == 499);
}

// The norm of the whole gradient, as a communicator adds it up.
double norm(Device& device, const Buffer& own, int world_size) {
  double squares = 0;
  for (int rank = 0; rank < world_size; ++rank) squares += device.sum_of_squares(own);
  return std::sqrt(squares);
}

TEST_CASE("the gradient's norm over all ranks is the loss scale, or infinite") {
  constexpr int R = 7, V = 5;
  for (const int world_size : {1, 3, 5}) {
    Machine machine(Machine::simulated, 1'000'000, world_size);
    Device& device = *machine.device;
    const Buffer own = machine.make(Dtype::fp16, 11), logits = machine.make(Dtype::fp16, R * V);
    const Buffer log_sum = machine.make(Dtype::fp32, R), ids = machine.make(Dtype::int32, R);
    const auto backward = [&](float factor) {
      CHECK(std::isnan(device.cross_entropy_forward(logits, log_sum, ids, R, V)));
      device.cross_entropy_backward(logits, logits, log_sum, ids, factor, R, V);
    };
    CHECK(norm(device, own, world_size) == Approx(1));
    for (const float scale : {1.0f, 3.0f, 65536.0f, -2.0f}) {
      backward(scale / R);
      CHECK(norm(device, own, world_size) == Approx(std::abs(scale)));
    }
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float factor : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
      backward(factor);
      CHECK(norm(device, own, world_size) == std::numeric_limits<double>::infinity());
      backward(1.0f / R);
      CHECK(norm(device, own, world_size) == Approx(1));
    }
  }
}

TEST_CASE("the device's clock is the rank's virtual one, in nanoseconds and in seconds") {
  Machine machine(Machine::simulated);
  const std::unique_ptr<Clock> clock = machine.device->make_clock();
  CHECK(clock->name() == "simulated");
  CHECK(clock->now() == 0);
  machine.clock.compute(1'999);
  CHECK(clock->now() == 1);
  CHECK(clock->mark() == 1);
  machine.clock.communicate_until(5'000'000'000'000);
  CHECK(clock->now() == 5'000'000'000);
  CHECK(machine.device->seconds() == 5);
  CHECK_FALSE(clock->next().has_value());
  machine.device.reset();
  CHECK(clock->now() == 5'000'000'000);  // a trace is closed after the device
}

TEST_CASE("what is downloaded is zeros, whatever was uploaded") {
  Machine machine(Machine::simulated);
  const Buffer buffer = machine.make(Dtype::fp32, 3);
  std::vector<std::byte> bytes(12, std::byte{7});
  machine.device->upload(bytes, buffer);
  machine.device->download(buffer, bytes);
  CHECK(bytes == std::vector<std::byte>(12, std::byte{0}));
}

}  // namespace
}  // namespace zero
