// What the environment says, and how the emulator ends a program.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "emulator.h"

namespace zero::emulator {
namespace {

long long number(const char* name, long long otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const long long value = std::strtoll(text, &end, 10);
  if (end == text || *end != '\0') fail(std::string(name) + "=" + text + " is no number");
  return value;
}

// "7.5"
void read_capability(Settings& read) {
  const char* const text = std::getenv("EMU_CAPABILITY");
  if (text == nullptr) return;
  int end = 0;
  if (std::sscanf(text, "%2d.%1d%n", &read.major, &read.minor, &end) != 2 || text[end] != '\0' ||
      read.major < 1 || read.minor < 0) {
    fail(std::string("EMU_CAPABILITY=") + text + ": a number like 7.5");
  }
}

Settings read() {
  Settings read;
  read.devices = static_cast<int>(number("EMU_DEVICES", read.devices));
  read.memory = static_cast<std::size_t>(number("EMU_MEMORY", 0x200000000));
  read.workers = static_cast<int>(number("EMU_WORKERS", read.workers));
  read_capability(read);
  if (read.devices < -1 || read.devices > 64) fail("EMU_DEVICES: -1 (no driver) to 64");
  if (read.workers < 1 || read.workers > 64) fail("EMU_WORKERS: 1 to 64");

  const char* order_text = std::getenv("EMU_ORDER");
  const std::string_view order = order_text == nullptr ? "forward" : order_text;
  if (order == "reverse") {
    read.order = Order::reverse;
  } else if (order.starts_with("random")) {
    read.order = Order::random;
    read.seed = static_cast<unsigned>(std::strtoul(order_text + 6, nullptr, 10));
  } else if (order != "forward") {
    fail("EMU_ORDER: forward, reverse, or random and a number");
  }

  const char* streams_text = std::getenv("EMU_STREAMS");
  const std::string_view streams = streams_text == nullptr ? "eager" : streams_text;
  if (streams == "lazy") {
    read.streams = StreamMode::lazy;
  } else if (streams == "threads") {
    read.streams = StreamMode::threads;
  } else if (streams != "eager") {
    fail("EMU_STREAMS: eager, lazy or threads");
  }
  return read;
}

}  // namespace

const Settings& settings() {
  static const Settings settings = read();
  return settings;
}

void fail(const std::string& message) {
  std::fprintf(stderr, "emulated CUDA: %s\n", message.c_str());
  std::fflush(stderr);
  std::abort();
}

std::string describe(const Where& where) {
  return std::string(where.file) + ":" + std::to_string(where.line);
}

}  // namespace zero::emulator
