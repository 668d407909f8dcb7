// Messages through the pipes, and sums in NCCL's order.
//
// A reduce-scatter adds as NCCL's ring does: for the owner o it begins with rank o+1 and ends with
// o, and each partial sum is rounded to the type. An all-reduce begins elsewhere in each piece of
// it: NCCL, too, may choose another order there, so nobody may count on equal bits.
#include "nccl_operations.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "emulator.h"

namespace zero::emulator {
namespace {

// Elements of an all-reduce that are added in one order.
constexpr std::size_t kPiece = 64;

// On a GPU an operation waits for ever, and the host goes on. Where a stream runs on the host's own
// thread a wait in vain would be the end of both.
constexpr auto kPatience = std::chrono::seconds(100);

float widen(float x) { return x; }
float widen(__half x) { return __half2float(x); }
float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
void narrow(float x, float& to) { to = x; }
void narrow(float x, __half& to) { to = __float2half_rn(x); }
void narrow(float x, __nv_bfloat16& to) { to = __float2bfloat16_rn(x); }

template <class T>
void add_as(std::byte* sum, const std::byte* x, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, sum += sizeof(T), x += sizeof(T)) {
    T a, b;
    std::memcpy(&a, sum, sizeof(T));
    std::memcpy(&b, x, sizeof(T));
    narrow(widen(a) + widen(b), a);
    std::memcpy(sum, &a, sizeof(T));
  }
}

// sum[i] = round(sum[i] + x[i])
void add(std::byte* sum, const std::byte* x, std::size_t count, ncclDataType_t type) {
  if (type == ncclFloat16) add_as<__half>(sum, x, count);
  else if (type == ncclBfloat16) add_as<__nv_bfloat16>(sum, x, count);
  else add_as<float>(sum, x, count);
}

// A message on its way to a rank or from it: what it belongs to, then its bytes.
struct Message {
  bool leaves;
  int peer;
  Operation operation;
  std::byte* data;
  std::size_t size;
  Operation arrived{};   // what the peer says it belongs to
  std::size_t done = 0;  // bytes, those of the operation included
};

// Moves what can be moved now; whether that was anything.
bool advance(Member& member, Message& message) {
  Pipe& pipe = message.leaves ? member.board->pipe(member.rank, message.peer)
                              : member.board->pipe(message.peer, member.rank);
  const auto move = [&](std::byte* data, std::size_t size) {
    const std::size_t moved = message.leaves ? pipe.write(data, size) : pipe.read(data, size);
    message.done += moved;
    return moved > 0;
  };
  constexpr std::size_t kHead = sizeof(Operation);
  if (message.done < kHead) {
    Operation& head = message.leaves ? message.operation : message.arrived;
    if (!move(reinterpret_cast<std::byte*>(&head) + message.done, kHead - message.done)) {
      return false;
    }
    if (message.done < kHead || message.leaves) return true;
    if (message.arrived == message.operation) return true;
    fail("NCCL, rank " + std::to_string(member.rank) + ": " + describe(message.operation) +
         ", and rank " + std::to_string(message.peer) + " came with " + describe(message.arrived));
  }
  const std::size_t at = message.done - kHead;
  return move(message.data + at, message.size - at);
}

bool is_done(const Message& message) { return message.done == sizeof(Operation) + message.size; }

// All at once, but one after the other between two ranks in one direction. False when aborted.
bool exchange(Member& member, std::vector<Message> messages) {
  auto last_move = std::chrono::steady_clock::now();
  for (;;) {
    // First: after an abort the pipes may hold parts of messages, and nobody may go on with them.
    if (member.aborted) return false;
    bool busy[2][kMostRanks] = {};
    bool moved = false;
    for (Message& message : messages) {
      bool& taken = busy[message.leaves][message.peer];
      if (is_done(message) || taken) continue;
      moved |= advance(member, message);
      taken = !is_done(message);
    }
    if (std::all_of(messages.begin(), messages.end(), is_done)) return true;
    const auto now = std::chrono::steady_clock::now();
    if (moved) {
      last_move = now;
      continue;
    }
    if (settings().streams != StreamMode::threads && now - last_move > kPatience) {
      fail("NCCL, rank " + std::to_string(member.rank) + ": nobody comes to " +
           describe(messages[0].operation));
    }
    if (now - last_move > std::chrono::milliseconds(1)) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    } else {
      std::this_thread::yield();
    }
  }
}

// One collective call of one rank. B: bytes of `count` elements; K: ranks.
class Collective {
 public:
  Collective(Member& member, const Call& call)
      : member_(member),
        call_(call),
        me_(member.rank),
        K_(member.world_size),
        B_(call.operation.count * bytes_of(call.operation.type)) {}

  void run() {
    switch (call_.operation.kind) {
      case Kind::all_reduce:
        return all_reduce();
      case Kind::reduce_scatter:
        return reduce_scatter();
      case Kind::all_gather:
        return all_gather();
      case Kind::reduce:
        return reduce();
      case Kind::broadcast:
        return broadcast();
      case Kind::send:
        break;
    }
  }

 private:
  void all_reduce() {
    std::vector<std::byte> all(B_ * K());  // (K, count)
    for (int peer = 0; peer < K_; ++peer) {
      leaves(peer, call_.from);
      arrives(peer, all.data() + at(peer));
    }
    if (!exchange(member_, messages_)) return;
    std::memcpy(all.data() + at(me_), call_.from, B_);
    const std::size_t width = bytes_of(call_.operation.type);
    for (std::size_t first = 0; first < call_.operation.count; first += kPiece) {
      const std::size_t count = std::min(kPiece, call_.operation.count - first);
      const int last = static_cast<int>((first / kPiece + 1) % K());
      sum(all.data() + first * width, B_, last, count, call_.to + first * width);
    }
  }

  void reduce_scatter() {
    std::vector<std::byte> all(B_ * K());  // (K, count): everyone's block for this rank
    for (int peer = 0; peer < K_; ++peer) {
      leaves(peer, call_.from + at(peer));
      arrives(peer, all.data() + at(peer));
    }
    if (!exchange(member_, messages_)) return;
    std::memcpy(all.data() + at(me_), call_.from + at(me_), B_);
    sum(all.data(), B_, me_, call_.operation.count, call_.to);
  }

  void all_gather() {
    for (int peer = 0; peer < K_; ++peer) {
      leaves(peer, call_.from);
      arrives(peer, call_.to + at(peer));
    }
    if (!exchange(member_, messages_)) return;
    if (call_.from != call_.to + at(me_)) std::memcpy(call_.to + at(me_), call_.from, B_);
  }

  void reduce() {
    const int root = call_.operation.root;
    if (me_ != root) {
      leaves(root, call_.from);
      exchange(member_, messages_);
      return;
    }
    std::vector<std::byte> all(B_ * K());  // (K, count)
    for (int peer = 0; peer < K_; ++peer) arrives(peer, all.data() + at(peer));
    if (!exchange(member_, messages_)) return;
    std::memcpy(all.data() + at(me_), call_.from, B_);
    sum(all.data(), B_, root, call_.operation.count, call_.to);
  }

  void broadcast() {
    const int root = call_.operation.root;
    if (me_ != root) {
      arrives(root, call_.to);
      exchange(member_, messages_);
      return;
    }
    for (int peer = 0; peer < K_; ++peer) leaves(peer, call_.from);
    if (!exchange(member_, messages_)) return;
    if (call_.from != call_.to) std::memcpy(call_.to, call_.from, B_);
  }

  std::size_t K() const { return static_cast<std::size_t>(K_); }
  std::size_t at(int rank) const { return static_cast<std::size_t>(rank) * B_; }
  void leaves(int peer, std::byte* data) {
    if (peer != me_) messages_.push_back({true, peer, call_.operation, data, B_});
  }
  void arrives(int peer, std::byte* data) {
    if (peer != me_) messages_.push_back({false, peer, call_.operation, data, B_});
  }
  // The sum of everyone's `count` elements, which are `stride` bytes apart: `last` comes last.
  void sum(const std::byte* all, std::size_t stride, int last, std::size_t count, std::byte* to) {
    const std::size_t bytes = count * bytes_of(call_.operation.type);
    std::vector<std::byte> total(bytes);
    for (int step = 1; step <= K_; ++step) {
      const std::byte* const own = all + static_cast<std::size_t>((last + step) % K_) * stride;
      if (step == 1) std::memcpy(total.data(), own, bytes);
      else add(total.data(), own, count, call_.operation.type);
    }
    std::memcpy(to, total.data(), bytes);
  }

  Member& member_;
  const Call& call_;
  const int me_;
  const int K_;
  const std::size_t B_;
  std::vector<Message> messages_;
};

}  // namespace

std::string describe(const Operation& operation) {
  constexpr const char* kNames[] = {"ncclSend/ncclRecv", "ncclAllReduce", "ncclReduceScatter",
                                    "ncclAllGather",     "ncclReduce",    "ncclBroadcast"};
  std::string text = kNames[static_cast<int>(operation.kind)];
  text += " of " + std::to_string(operation.count) + " elements of type " +
          std::to_string(static_cast<int>(operation.type));
  if (operation.root >= 0) text += ", root " + std::to_string(operation.root);
  return text;
}

std::size_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclFloat32:
      return 4;
    default:
      return 0;
  }
}

void run(Member& member, const std::vector<Call>& calls) {
  const DeviceAccess access;
  std::vector<Message> messages;
  for (const Call& call : calls) {
    if (call.operation.kind != Kind::send) continue;
    const bool leaves = call.to == nullptr;
    messages.push_back({leaves, call.peer, call.operation, leaves ? call.from : call.to,
                        call.operation.count * bytes_of(call.operation.type)});
  }
  if (!exchange(member, messages)) return;
  for (const Call& call : calls) {
    if (call.operation.kind != Kind::send) Collective(member, call).run();
  }
}

}  // namespace zero::emulator
