// Tensors that travel through the host, between devices whose memory the host cannot read as it is.
#include "common/comm/staged.h"

#include "catch.h"
#include "common/comm/world.h"
#include "tests/collectives.h"

namespace zero {
namespace {

// Its memory holds every bit inverted: only download and upload know.
class FarDevice : public PlainDevice {
 public:
  using PlainDevice::PlainDevice;

  void download(View from, std::span<std::byte> to) override {
    if (from.bytes().size() != to.size()) throw std::invalid_argument("sizes differ");
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = ~from.bytes()[i];
    ++copies;
  }
  void upload(std::span<const std::byte> from, View to) override {
    if (to.bytes().size() != from.size()) throw std::invalid_argument("sizes differ");
    for (std::size_t i = 0; i < from.size(); ++i) to.bytes()[i] = ~from[i];
    ++copies;
  }

  int copies = 0;
};

// One rank's end, and a message for tests: element i is 100 * rank + i.
struct End {
  explicit End(Transport& host)
      : device(tracker, host.rank()), transport(host, device), rank(host.rank()) {}

  Buffer message(std::int64_t size) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < size; ++i) {
      values.push_back(static_cast<float>(100 * rank) + static_cast<float>(i));
    }
    Buffer buffer = device.allocate(Memory::temporary, "test", Dtype::fp32, size);
    device.upload(std::as_bytes(std::span(values)), buffer);
    return buffer;
  }
  void require(View view, int from) {
    std::vector<float> values(static_cast<std::size_t>(view.size()));
    device.download(view, std::as_writable_bytes(std::span(values)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != static_cast<float>(100 * from) + static_cast<float>(i)) {
        throw std::logic_error("another message");
      }
    }
  }
  Hop hop(int source, int destination) const {
    Hop hop;
    hop.collective = 1;
    hop.name = "test";
    hop.algorithm = "ring";
    hop.source = source;
    hop.destination = destination;
    return hop;
  }

  Place place;
  MemoryTracker tracker{place};
  FarDevice device;
  StagedTransport transport;
  int rank;
};

TEST_CASE("a tensor goes down, across and up, and its bytes are counted once") {
  CHECK(run_on_threads(3, 60, [](Transport& host) {
          End end(host);
          const int next = (host.rank() + 1) % 3, before = (host.rank() + 2) % 3;
          Buffer out = end.message(7);
          Buffer in = end.device.allocate(Memory::temporary, "test", Dtype::fp32, 7);
          end.device.copies = 0;
          end.transport.exchange(end.hop(host.rank(), next), out, end.hop(before, host.rank()), in);
          if (end.device.copies != 2) throw std::logic_error("one copy down, one up");
          end.require(in, before);
          if (end.transport.tensor_bytes_sent() != 28) throw std::logic_error("28 bytes were sent");
          if (host.tensor_bytes_sent() != 0) throw std::logic_error("counted twice");

          // A shorter one after a longer one, and each way alone.
          Buffer little = end.message(2);
          if (host.rank() == 0) end.transport.send(end.hop(0, 1), little);
          if (host.rank() == 1) {
            end.transport.receive(end.hop(0, 1), little);
            end.require(little, 0);
          }
        }) == 0);
}

TEST_CASE("scalars and collectives go through what carries tensors, too") {
  CHECK(run_on_threads(3, 60, [](Transport& host) {
          End end(host);
          const int mine = host.rank() + 5;
          std::array<int, 3> all{};
          end.transport.all_gather_scalars(std::as_bytes(std::span(&mine, 1)),
                                           std::as_writable_bytes(std::span(all)));
          if (all != std::array{5, 6, 7}) throw std::logic_error("other values");
          if (end.transport.scalar_bytes_sent() != 8) throw std::logic_error("8 bytes were sent");

          Trace trace(end.place);
          const auto comm =
              make_communicator(Algorithm::ring, end.transport, end.device, trace, Dtype::fp32, 2);
          Buffer buffer = end.message(9);
          comm->broadcast(buffer, buffer, {{0, 9}, 2});
          end.require(buffer, 2);
        }) == 0);
}

TEST_CASE("a message of another length is refused, and nothing is put on the device") {
  bool refused = false;
  run_on_threads(2, 60, [&](Transport& host) {
    End end(host);
    Buffer buffer = end.message(host.rank() == 0 ? 3 : 4);
    if (host.rank() == 0) {
      end.transport.send(end.hop(0, 1), buffer);
      return;
    }
    try {
      end.transport.receive(end.hop(0, 1), buffer);
    } catch (const std::length_error& error) {
      end.require(buffer, 1);
      refused =
          std::string(error.what()).find("rank 0 sent 12 bytes, expected 16") != std::string::npos;
    }
  });
  CHECK(refused);
}

TEST_CASE("whoever is staged has no collectives of a library, and says what to do") {
  CHECK(run_on_threads(2, 60, [](Transport& host) {
          End end(host);
          Trace trace(end.place);
          try {
            make_communicator(Algorithm::library, end.transport, end.device, trace, Dtype::fp32);
          } catch (const std::invalid_argument& error) {
            if (std::string(error.what()).find("use ring or direct") != std::string::npos) return;
          }
          throw std::logic_error("not refused");
        }) == 0);
}

TEST_CASE("a rank that fails ends whoever waits for it through the host") {
  std::string message;
  CHECK(run_on_threads(2, 60, [&](Transport& host) {
          End end(host);
          if (host.rank() == 0) throw std::runtime_error("broken on purpose: a test");
          Buffer buffer = end.message(3);
          try {
            end.transport.receive(end.hop(0, 1), buffer);
          } catch (const Aborted& error) {
            message = error.what();
            throw;
          }
        }) == 1);
  CHECK(message.find("test (ring, collective 1") != std::string::npos);
  CHECK(message.find("rank 0 failed") != std::string::npos);
}

}  // namespace
}  // namespace zero
