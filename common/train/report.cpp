// What a run measured, beside what its formulas say: on screen and as JSON.
#include "common/train/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/memory/bytes.h"
#include "common/model/model.h"

namespace zero {
namespace {

using Json = nlohmann::ordered_json;

// "1.23 s", "45.6 ms", "7.8 us"
std::string format_seconds(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} us", seconds * 1e6);
}

Json to_json(const Link& link) {
  return {{"name", link.name}, {"latency", link.latency}, {"bandwidth", link.bandwidth}};
}

Json to_json(const ClosedFormBytes& bytes) {
  return {{"parameters", bytes.parameters},
          {"gradients", bytes.gradients},
          {"optimizer_states", bytes.optimizer_states},
          {"model_states", bytes.model_states},
          {"sent_bytes_per_iteration", bytes.sent_per_iteration}};
}

}  // namespace

Report::Report(const Options& options, const Model& model, const ClosedForm& form)
    : options_(options),
      num_parameters_(model.num_parameters()),
      padded_parameters_(model.padded_parameters()),
      closed_form_(evaluate(form, model.num_parameters(), options.ranks, options.dtype,
                            options.optimizer_bytes_per_parameter())) {}

std::string Report::heading() const {
  const ModelConfig& m = options_.model;
  const std::string device =
      options_.device == DeviceKind::cpu ? "" : fmt::format("{}, ", to_string(options_.device));
  return fmt::format("{}: {} rank{}, {}{}, {}; L{} H{} C{} T{} V{}: {} parameters, padded to {}\n",
                     options_.program, options_.ranks, options_.ranks == 1 ? "" : "s", device,
                     to_string(options_.collectives), to_string(options_.dtype), m.layers, m.heads,
                     m.channels, m.context, m.vocab, with_commas(num_parameters_),
                     with_commas(padded_parameters_));
}

std::string Report::line(const IterationRecord& record) const {
  if (simulated()) {
    return fmt::format("iteration {:>3}/{}  {}: computing {}, communicating {}{}\n",
                       record.iteration + 1, options_.iterations, format_seconds(record.seconds),
                       format_seconds(record.computing_seconds),
                       format_seconds(record.communicating_seconds),
                       record.norm.is_finite() ? "" : "; skipped: gradients overflowed");
  }
  const std::string head = fmt::format("iteration {:>3}/{}  loss {:.6f}  ", record.iteration + 1,
                                       options_.iterations, record.loss);
  const std::string tail = fmt::format("  {:016x}\n", record.fingerprint);
  if (record.norm.is_finite()) {
    const std::string scale =
        options_.dtype == Dtype::fp16 ? fmt::format("  scale {:g}", record.norm.loss_scale) : "";
    return head + fmt::format("norm {:.6f}", record.norm.value) + scale + tail;
  }
  if (options_.dtype != Dtype::fp16)
    return head + "skipped: a gradient is not finite on some rank" + tail;
  return head +
         fmt::format("skipped: gradients overflowed; scale {:g} -> {:g}", record.norm.loss_scale,
                     std::max(1.0f, record.norm.loss_scale / 2)) +
         tail;
}

std::string Report::summary() const {
  const auto most = [&](auto value) {
    std::int64_t result = 0;
    for (const RankRecord& rank : ranks_) result = std::max(result, value(rank));
    return result;
  };
  const auto peak = [&](Memory category) {
    return most([&](const RankRecord& r) { return r.peak[static_cast<int>(category)]; });
  };
  // Wide enough for the largest number and a space before it.
  const std::int64_t largest = std::max({closed_form_.model_states, closed_form_.sent_per_iteration,
                                         most([](const RankRecord& r) { return r.peak_total; })});
  const std::size_t width = std::max<std::size_t>(16, with_commas(largest).size() + 2);
  std::string text = fmt::format("\n{:34}{:>{}}{:>{}}{:>12}\n", "bytes per rank (the most)",
                                 simulated() ? "simulated" : "measured", width, "closed form",
                                 width, "difference");
  const auto compared = [&](const char* name, std::int64_t measured, std::int64_t formula) {
    text += fmt::format("  {:32}{:>{}}{:>{}}{:>12}\n", name, with_commas(measured), width,
                        with_commas(formula), width, with_commas(measured - formula));
  };
  compared("parameters", peak(Memory::parameters), closed_form_.parameters);
  compared("gradients", peak(Memory::gradients), closed_form_.gradients);
  compared("optimizer states", peak(Memory::optimizer_states), closed_form_.optimizer_states);
  if (options_.collectives == Algorithm::library) {
    text += fmt::format("  {:32}{:>{}}{:>{}}\n", "sent per iteration", "not measured", width,
                        with_commas(closed_form_.sent_per_iteration), width);
  } else {
    compared("sent per iteration", most([](const RankRecord& r) { return r.sent; }),
             closed_form_.sent_per_iteration);
  }
  for (const Memory category :
       {Memory::activations, Memory::temporary, Memory::communication, Memory::workspace}) {
    text += fmt::format("  {:32}{:>{}}\n", fmt::format("{} (peak)", to_string(category)),
                        with_commas(peak(category)), width);
  }
  if (!ranks_.empty()) {
    text += fmt::format("  {:32}{:>{}}  in \"{}\"\n", "all together (peak)",
                        with_commas(most([](const RankRecord& r) { return r.peak_total; })), width,
                        ranks_[0].peak_step.data());
  }
  if (simulated() && !iterations_.empty()) text += simulated_time();
  return text;
}

std::string Report::simulated_time() const {
  const IterationRecord& last = iterations_.back();
  const Gpu& gpu = options_.simulation.hardware.gpu;
  const double tokens = static_cast<double>(options_.batch) * options_.model.context / last.seconds;
  const double rate = product_rate(gpu, options_.dtype);
  std::string text = fmt::format("\n{:34}{:>16}\n", "time of an iteration (the last)",
                                 format_seconds(last.seconds));
  const auto row = [&](const char* name, const std::string& value, const std::string& note) {
    text += fmt::format("  {:32}{:>16}{}\n", name, value, note.empty() ? "" : "  " + note);
  };
  const auto part = [&](double seconds) {
    return fmt::format("{:.0f} % of it", 100 * seconds / last.seconds);
  };
  row("computing", format_seconds(last.computing_seconds), part(last.computing_seconds));
  row("communicating, waiting", format_seconds(last.communicating_seconds),
      part(last.communicating_seconds));
  row("tokens a second", with_commas(std::llround(tokens)),
      fmt::format("{} a GPU", with_commas(std::llround(tokens / options_.ranks))));
  row("matrix products", fmt::format("{:.1f} TFLOP/s", last.product_flops / last.seconds * 1e-12),
      fmt::format("a GPU: {:.0f} % of its {:.1f}", 100 * last.product_flops / last.seconds / rate,
                  rate * 1e-12));
  return text;
}

bool Report::none_accepted() const {
  return std::none_of(iterations_.begin(), iterations_.end(),
                      [](const IterationRecord& r) { return r.norm.is_finite(); });
}

double Report::median_seconds() const {
  std::vector<double> seconds;
  for (const IterationRecord& r : iterations_) seconds.push_back(r.seconds);
  if (seconds.empty()) return 0;
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  return seconds.size() % 2 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
}

std::string Report::json() const {
  Json json = {{"program", options_.program},
               {"world_size", options_.ranks},
               {"dtype", to_string(options_.dtype)},
               {"collectives", to_string(options_.collectives)},
               {"device", to_string(options_.device)},
               {"num_parameters", num_parameters_},
               {"padded_parameters", padded_parameters_},
               {"optimizer_bytes_per_parameter", options_.optimizer_bytes_per_parameter()},
               {"iterations", Json::array()},
               {"ranks", Json::array()},
               {"closed_form", to_json(closed_form_)},
               {"median_seconds_per_iteration", median_seconds()},
               {"options", Json::parse(options_json(options_))}};
  if (simulated() && !iterations_.empty()) {
    const IterationRecord& last = iterations_.back();
    const Hardware& hardware = options_.simulation.hardware;
    const Gpu& gpu = hardware.gpu;
    json["simulated"] = {{"gpu", gpu.name},
                         {"gpu_memory", gpu.memory},
                         {"gpu_bandwidth", gpu.bandwidth},
                         {"gpu_flops", product_rate(gpu, options_.dtype)},
                         {"gpu_fp32_flops", gpu.fp32_flops},
                         {"gpu_launch_seconds", gpu.launch_seconds},
                         {"gpus_per_node", hardware.gpus_per_node},
                         {"link", to_json(hardware.link)},
                         {"network", to_json(hardware.network)},
                         {"host_latency", hardware.control_seconds},
                         {"closed_form", options_.simulation.closed_form},
                         {"representative", options_.simulation.representative},
                         {"seconds_per_iteration", last.seconds},
                         {"computing_seconds", last.computing_seconds},
                         {"communicating_seconds", last.communicating_seconds},
                         {"product_flops", last.product_flops}};
  }
  for (const IterationRecord& r : iterations_) {
    const Json fingerprint = simulated() ? Json() : Json(fmt::format("{:016x}", r.fingerprint));
    json["iterations"].push_back({{"iteration", r.iteration},
                                  {"loss", r.loss},
                                  {"fingerprint", fingerprint},
                                  {"gradient_norm", r.norm.value},
                                  {"loss_scale", r.norm.loss_scale},
                                  {"skipped", !r.norm.is_finite()},
                                  {"seconds", r.seconds}});
  }
  const bool measured = options_.collectives != Algorithm::library;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const RankRecord& r = ranks_[i];
    Json memory = Json::object();
    for (int c = 0; c < kMemoryCategories; ++c) {
      memory[std::string(to_string(static_cast<Memory>(c)))] = {{"live", r.live[c]},
                                                                {"peak", r.peak[c]}};
    }
    json["ranks"].push_back(
        {{"rank", i},
         {"memory", memory},
         {"peak_total", r.peak_total},
         {"peak_step", r.peak_step.data()},
         {"sent_bytes_per_iteration", measured ? Json(r.sent) : Json()},
         {"sent_bytes_per_iteration_least", measured ? Json(r.sent_least) : Json()},
         {"scalar_bytes_per_iteration", r.scalars},
         {"scalar_bytes_per_iteration_least", r.scalars_least}});
  }
  return json.dump(2) + "\n";
}

void Report::write_json(const std::string& path) const { write_file(path, json()); }

void write_file(const std::string& path, const std::string& content) {
  // A pipe, a device or a link (/dev/stdout) is written to, never replaced by a file of its name.
  std::error_code unknown;
  const auto status = std::filesystem::symlink_status(path, unknown);
  const bool in_place =
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  const std::string partial = in_place ? path : path + ".partial";
  std::FILE* file = std::fopen(partial.c_str(), "wb");
  bool ok = file != nullptr;
  if (file) {
    ok = std::fwrite(content.data(), 1, content.size(), file) == content.size();
    ok = std::fclose(file) == 0 && ok;
  }
  ok = ok && (in_place || std::rename(partial.c_str(), path.c_str()) == 0);
  if (!ok) {
    const std::string reason = std::strerror(errno);
    if (!in_place) std::remove(partial.c_str());
    throw std::runtime_error(fmt::format("cannot write {}: {}", path, reason));
  }
}

std::string options_json(const Options& o) {
  Json json = {{"ranks", o.ranks},
               {"dtype", to_string(o.dtype)},
               {"collectives", to_string(o.collectives)},
               {"device", to_string(o.device)},
               {"layers", o.model.layers},
               {"heads", o.model.heads},
               {"channels", o.model.channels},
               {"context", o.model.context},
               {"vocab", o.model.vocab},
               {"batch", o.batch},
               {"iterations", o.iterations},
               {"learning_rate", o.learning_rate},
               {"warmup", o.warmup},
               {"clip", o.clip},
               {"weight_decay", o.weight_decay},
               {"loss_scale", o.loss_scale},
               {"loss_scale_window", o.loss_scale_window},
               {"seed", o.seed},
               {"data", o.data},
               {"fp32_grads", o.fp32_grads},
               {"threads", o.threads}};
  json["memory_budget"] =
      o.memory_budget == MemoryTracker::kUnlimited ? Json() : Json(o.memory_budget);
  return json.dump();
}

std::string closed_form_json(const ClosedFormBytes& bytes) { return to_json(bytes).dump(); }

}  // namespace zero
