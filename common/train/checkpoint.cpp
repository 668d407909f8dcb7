// Writing a model or a whole state to files, whichever rank holds which part.
#include "common/train/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "common/train/rank.h"
#include "common/train/report.h"
#include "common/train/safetensors.h"

namespace zero {
namespace {

constexpr std::int64_t kElements = 16 * 1024;  // at a time, through the host

// Raw elements of `view`, a constant number at a time.
template <class Consume>
void for_each_chunk(View view, Consume&& consume) {
  std::array<std::byte, kElements * 4> host;
  const Range range = view.range();
  for (std::int64_t begin = range.begin; begin < range.end; begin += kElements) {
    const Range chunk{begin, std::min(begin + kElements, range.end)};
    const auto bytes =
        std::span(host).first(static_cast<std::size_t>(chunk.size() * bytes_of(view.dtype())));
    view.heap().download(view[chunk], bytes);
    consume(chunk, std::span<const std::byte>(bytes));
  }
}

void write_raw(View view, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool ok = file != nullptr;
  if (file) {
    for_each_chunk(view, [&](Range, std::span<const std::byte> bytes) {
      ok = ok && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    });
    ok = std::fclose(file) == 0 && ok;
  }
  if (!ok) throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

// What an earlier run with more ranks left in `directory` belongs to no rank of this one.
void remove_other_ranks(const std::string& directory, int world_size) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    int owner = -1;
    if (std::sscanf(name.c_str(), "rank%d_", &owner) == 1 && owner >= world_size &&
        name.ends_with(".bin"))
      std::filesystem::remove(entry.path());
  }
}

}  // namespace

void save_model(Rank& rank, View params, const std::string& path) {
  const std::vector<Range> held = rank.comm.all_gather_scalar(params.range());
  std::optional<SafetensorsWriter> writer;
  if (rank.comm.rank() == 0) writer.emplace(path, rank.model.tensors(), params.dtype());
  for (const TensorInfo& tensor : rank.model.tensors()) {
    for (std::int64_t begin = tensor.range.begin; begin < tensor.range.end;) {
      Range chunk{begin, std::min(begin + kElements, tensor.range.end)};
      const auto put = [&](Range part, std::span<const std::byte> bytes) {
        writer->put(tensor, part, bytes);
      };
      if (held[0].contains(chunk)) {
        if (writer) for_each_chunk(params[chunk], put);
      } else {
        const auto owner = std::find_if(held.begin(), held.end(), [&](Range range) {
          return range.begin <= begin && begin < range.end;
        });
        chunk.end = std::min(chunk.end, owner->end);
        Buffer scratch = rank.allocate(Memory::communication, "saving", chunk);
        rank.comm.broadcast(params, scratch, {chunk, static_cast<int>(owner - held.begin())});
        if (writer) for_each_chunk(scratch, put);
      }
      begin = chunk.end;
    }
  }
  if (writer) writer->finish();
}

void save_initial_model(const Model& model, Dtype dtype, const std::string& path) {
  SafetensorsWriter writer(path, model.tensors(), dtype);
  for (const TensorInfo& tensor : model.tensors()) {
    for (std::int64_t begin = tensor.range.begin; begin < tensor.range.end; begin += kElements) {
      const Range chunk{begin, std::min(begin + kElements, tensor.range.end)};
      const std::vector<float> values = model.initial_values(chunk);
      with_type(dtype, [&](auto type) {
        std::vector<decltype(type)> rounded(values.size());
        std::transform(values.begin(), values.end(), rounded.begin(),
                       [](float x) { return narrow<decltype(type)>(x); });
        writer.put(tensor, chunk, std::as_bytes(std::span(rounded)));
      });
    }
  }
  writer.finish();
}

void dump_state(Rank& rank, View params, const AdamW& optimizer, const std::string& directory) {
  struct Held {
    Range params, states;
  };
  struct Array {
    const char* state;
    View view;
  };
  const std::array<Array, 4> arrays = {{{"parameters", params},
                                        {"master", optimizer.master()},
                                        {"exp_avg", optimizer.exp_avg()},
                                        {"exp_avg_sq", optimizer.exp_avg_sq()}}};
  const auto file_name = [](int r, const char* state) {
    return fmt::format("rank{}_{}.bin", r, state);
  };
  std::filesystem::create_directories(directory);
  if (rank.comm.rank() == 0) remove_other_ranks(directory, rank.comm.world_size());
  for (const Array& array : arrays)
    write_raw(array.view, directory + "/" + file_name(rank.comm.rank(), array.state));

  const auto held = rank.comm.all_gather_scalar(Held{params.range(), optimizer.range()});
  if (rank.comm.rank() != 0) return;
  nlohmann::ordered_json index = {
      {"world_size", rank.comm.world_size()},     {"num_parameters", rank.model.num_parameters()},
      {"dtype", to_string(params.dtype())},       {"iteration", rank.place().iteration},
      {"ranks", nlohmann::ordered_json::array()}, {"tensors", nlohmann::ordered_json::array()}};
  for (int r = 0; r < rank.comm.world_size(); ++r) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Array& array : arrays) {
      const bool is_params = array.state == arrays[0].state;
      const Range range = is_params ? held[r].params : held[r].states;
      list.push_back({{"state", array.state},
                      {"file", file_name(r, array.state)},
                      {"dtype", to_string(array.view.dtype())},
                      {"begin", range.begin},
                      {"end", range.end}});
    }
    index["ranks"].push_back({{"rank", r}, {"arrays", list}});
  }
  for (const TensorInfo& tensor : rank.model.tensors()) {
    index["tensors"].push_back({{"name", tensor.name},
                                {"begin", tensor.range.begin},
                                {"end", tensor.range.end},
                                {"shape", tensor.shape}});
  }
  write_file(directory + "/index.json", index.dump(1) + "\n");
}

}  // namespace zero
