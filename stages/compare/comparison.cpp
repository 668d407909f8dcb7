// The comparison of stages: one column per stage, every number measured or computed from N and K.
#include "stages/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>

#include "common/memory/bytes.h"
#include "stages/compare/table.h"
#include "stages/compare/verdict.h"

namespace zero {
namespace {

using Cell = std::function<std::string(const StageResult&)>;

// The value that is furthest from the formula: a rank that is wrong is not hidden by one that is
// not.
std::int64_t worst(const StageResult& result, std::int64_t formula,
                   const std::function<std::int64_t(const RankResult&)>& value) {
  std::int64_t found = value(result.ranks.front());
  for (const RankResult& rank : result.ranks) {
    if (std::abs(value(rank) - formula) > std::abs(found - formula)) found = value(rank);
  }
  return found;
}

std::int64_t formula_of(const StageResult& result, const std::string& name) {
  const ClosedFormResult form = closed_form(result);
  if (name == "parameters") return form.parameters;
  if (name == "gradients") return form.gradients;
  if (name == "optimizer_states") return form.optimizer_states;
  if (name == "model_states") return form.model_states;
  return form.sent;
}

std::int64_t measured_of(const StageResult& result, const std::string& name) {
  return worst(result, formula_of(result, name), [&](const RankResult& rank) {
    return name == "sent" ? rank.sent.value_or(0) : model_state_bytes(rank, name);
  });
}

std::string difference(std::int64_t measured, std::int64_t formula) {
  return fmt::format("{}{} B", measured > formula ? "+" : "", with_commas(measured - formula));
}

// The same row of all stages.
void add_row(Table& table, const std::vector<StageResult>& results, const std::string& label,
             const Cell& cell) {
  std::vector<std::string> cells;
  for (const StageResult& result : results) cells.push_back(cell(result));
  table.row(label, cells);
}

// Measured, closed form, and the difference.
void add_compared(Table& table, const std::vector<StageResult>& results, const std::string& label,
                  const std::string& name) {
  const auto measured = [&](const StageResult& r) { return name != "sent" || r.ranks[0].sent; };
  add_row(table, results, label, [&](const StageResult& r) {
    return measured(r) ? with_commas(measured_of(r, name)) : "not measured";
  });
  add_row(table, results, "  closed form",
          [&](const StageResult& r) { return with_commas(formula_of(r, name)); });
  add_row(table, results, "  difference", [&](const StageResult& r) {
    return measured(r) ? difference(measured_of(r, name), formula_of(r, name)) : "-";
  });
}

// "step 2" of "2. Backward: ..."
std::string short_step(const std::string& banner) {
  const std::string number = banner.substr(0, banner.find_first_not_of("0123456789"));
  return number.empty() ? banner.substr(0, 14) : "step " + number;
}

std::string seconds_text(double seconds) {
  return seconds >= 1 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} ms", seconds * 1e3);
}

// By bytes, not by the formula: what was measured is what is shown.
double bytes_per_parameter(const StageResult& result) {
  return static_cast<double>(measured_of(result, "model_states")) /
         static_cast<double>(std::max<std::int64_t>(1, result.num_parameters));
}

void add_memory(Table& table, const std::vector<StageResult>& results) {
  table.group("bytes per rank");
  add_compared(table, results, "parameters", "parameters");
  add_compared(table, results, "gradients", "gradients");
  add_compared(table, results, "optimizer states", "optimizer_states");
  add_compared(table, results, "model states (sum)", "model_states");
  add_row(table, results, "  bytes a parameter",
          [](const StageResult& r) { return fmt::format("{:.2f}", bytes_per_parameter(r)); });
  table.group("on top, at their peak");
  for (const char* category : {"temporary", "activations", "communication", "workspace"}) {
    add_row(table, results, category,
            [&](const StageResult& r) { return with_commas(largest_peak(r, category)); });
  }
  add_row(table, results, "everything at its peak",
          [](const StageResult& r) { return with_commas(fullest_rank(r).peak_total); });
  add_row(table, results, "  which was in",
          [](const StageResult& r) { return short_step(fullest_rank(r).peak_step); });
}

void add_traffic_and_time(Table& table, const std::vector<StageResult>& results) {
  const StageResult& first = results.front();
  const std::string relative = fmt::format("  relative to {}", display_name(first.stage));
  table.group("sent per iteration");
  add_compared(table, results, "bytes per rank", "sent");
  add_row(table, results, relative, [&](const StageResult& r) {
    if (!r.ranks[0].sent || !first.ranks[0].sent || *first.ranks[0].sent == 0)
      return std::string("-");
    return fmt::format("{:.2f} x", static_cast<double>(measured_of(r, "sent")) /
                                       static_cast<double>(measured_of(first, "sent")));
  });
  table.group(first.simulated() ? "simulated time" : "time and result");
  add_row(table, results, "an iteration, median",
          [](const StageResult& r) { return seconds_text(r.median_seconds); });
  add_row(table, results, relative, [&](const StageResult& r) {
    return first.median_seconds > 0
               ? fmt::format("{:.2f} x", r.median_seconds / first.median_seconds)
               : std::string("-");
  });
  if (first.simulated()) return;
  add_row(table, results, "final loss", [](const StageResult& r) {
    return r.last().loss ? fmt::format("{:.12g}", *r.last().loss) : "not finite";
  });
  add_row(table, results, "fingerprint", [](const StageResult& r) { return r.last().fingerprint; });
}

// "ZeRO-1 and ZeRO-2", "A, B and C"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string about_states(const std::vector<StageResult>& results) {
  const StageResult& first = results.front();
  std::vector<std::string> others;
  for (std::size_t i = 1; i < results.size(); ++i) {
    others.push_back(
        fmt::format("{} {:.1f}", display_name(results[i].stage), bytes_per_parameter(results[i])));
  }
  if (others.empty()) {
    return fmt::format("{} keeps {:.1f} bytes a parameter on each rank.", display_name(first.stage),
                       bytes_per_parameter(first));
  }
  return fmt::format("Of {}'s {:.1f} bytes a parameter, a rank keeps: {}.",
                     display_name(first.stage), bytes_per_parameter(first), listed(others));
}

// Two sentences: of those that need less than the first, and of those that need more.
std::array<std::string, 2> about_peaks(const std::vector<StageResult>& results) {
  const StageResult& first = results.front();
  const std::int64_t base = fullest_rank(first).peak_total;
  std::vector<std::string> more, less;
  for (std::size_t i = 1; i < results.size(); ++i) {
    const std::int64_t peak = fullest_rank(results[i]).peak_total;
    const std::string name = display_name(results[i].stage);
    if (peak > base) {
      more.push_back(fmt::format("{} needs {} B more", name, with_commas(peak - base)));
    } else {
      less.push_back(fmt::format("{} {:.0f} %", name,
                                 100.0 * static_cast<double>(peak) / static_cast<double>(base)));
    }
  }
  std::array<std::string, 2> text;
  if (!less.empty()) {
    text[0] = fmt::format(
        "At the peak, with activations and temporaries, of {}'s {} B: {}; activations, which no "
        "stage divides, are {:.0f} % of it.",
        display_name(first.stage), with_commas(base), listed(less),
        100.0 * static_cast<double>(largest_peak(first, "activations")) /
            static_cast<double>(base));
  }
  if (!more.empty()) {
    text[1] = fmt::format(
        "At the peak {} than {}: whole units come on top (gradients; ZeRO-3: parameters too), and "
        "{}.",
        listed(more), display_name(first.stage),
        first.world_size == 1 ? "with one rank nothing is divided"
                              : "one unit is much of so small a model");
  }
  return text;
}

// Of a small model most of the peak is scratch, and the stages look more alike than they are.
std::string about_scratch(const std::vector<StageResult>& results) {
  for (const StageResult& result : results) {
    const std::int64_t scratch =
        largest_peak(result, "communication") + largest_peak(result, "workspace");
    const std::int64_t states = measured_of(result, "model_states");
    if (scratch <= states) continue;
    return fmt::format(
        "Of {}'s {} B at the peak {} B are scratch (communication and workspace), more than its "
        "model states: scratch stays bounded as the model grows.",
        display_name(result.stage), with_commas(fullest_rank(result).peak_total),
        with_commas(scratch));
  }
  return "";
}

std::string about_traffic(const std::vector<StageResult>& results) {
  const StageResult& first = results.front();
  if (first.world_size == 1) return "One rank sends nothing.";
  if (!first.ranks[0].sent)
    return "What the library's own collectives put on the wire cannot be seen from here.";
  std::vector<std::string> equal, more;
  const auto base = static_cast<double>(measured_of(first, "sent"));
  for (std::size_t i = 1; i < results.size(); ++i) {
    if (!results[i].ranks[0].sent) continue;
    const auto sent = static_cast<double>(measured_of(results[i], "sent"));
    const std::string name = display_name(results[i].stage);
    if (sent == base) {
      equal.push_back(name);
    } else {
      more.push_back(fmt::format("{} {:.2f} times as many", name, sent / base));
    }
  }
  std::string text;
  if (!equal.empty()) {
    text = fmt::format("{} {} exactly as many bytes as {}", listed(equal),
                       equal.size() == 1 ? "sends" : "send", display_name(first.stage));
  }
  if (!more.empty()) {
    text += text.empty() ? fmt::format("Of the bytes that {} sends: {}", display_name(first.stage),
                                       listed(more))
                         : "; " + listed(more);
  }
  if (!text.empty()) text += ".";
  if (results.back().stage == "zero3" && results.size() > 1)
    text += " ZeRO-3 sends the parameters twice: for the forward and for the backward pass.";
  return text;
}

std::string about_time(const std::vector<StageResult>& results) {
  if (results.front().device == "cpu")
    return "Time: ranks on one machine share its processors; a cluster would take another time.";
  if (results.front().simulated())
    return "Time: what data sheets of the GPU and its links allow, with nothing overlapping.";
  return "Time: no transfer overlaps with computation here; other GPUs, and other links between "
         "them, would take another time.";
}

}  // namespace

std::string comparison_table(const std::vector<StageResult>& results, int width) {
  const StageResult& first = results.front();
  std::vector<std::string> columns;
  for (const StageResult& result : results) columns.push_back(display_name(result.stage));
  const std::string padded =
      first.padded_parameters == first.num_parameters
          ? ""
          : fmt::format(" (padded to {})", with_commas(first.padded_parameters));
  const std::string title = fmt::format(
      "{} on the same work: {} parameters{}, {} rank{}{}, {}, {}{} iteration{}", listed(columns),
      with_commas(first.num_parameters), padded, first.world_size, first.world_size == 1 ? "" : "s",
      first.on_device(), first.dtype, first.collectives.empty() ? "" : first.collectives + ", ",
      first.iterations.size(), first.iterations.size() == 1 ? "" : "s");
  Table table(columns);
  add_memory(table, results);
  add_traffic_and_time(table, results);
  return wrap(title, width) + "\n\n" + table.text(width);
}

std::string what_it_means(const std::vector<StageResult>& results, int width) {
  const auto [less, more] = about_peaks(results);
  const std::string notes[] = {
      about_states(results), less, more, about_scratch(results), about_traffic(results),
      about_time(results)};
  std::string text;
  for (const std::string& note : notes) {
    if (!note.empty()) text += "- " + wrap(note, width - 2, 2) + '\n';
  }
  return text;
}

std::string skipped_iterations(const std::vector<StageResult>& results, int width) {
  const StageResult& first = results.front();
  const int skipped = first.skipped();
  const int all = static_cast<int>(first.iterations.size());
  if (skipped == 0) return "";
  if (skipped < all) {
    const char* sent = !first.ranks[0].sent ? ""
                       : skipped == 1       ? " It sends the same bytes as the others."
                                            : " They send the same bytes as the others.";
    return "- " +
           wrap(fmt::format("{} of {} iterations {} skipped, because gradients overflowed{}.{}",
                            skipped, all, skipped == 1 ? "was" : "were",
                            first.dtype == "fp16" ? " in fp16 until the loss scale was lower" : "",
                            sent),
                width - 2, 2) +
           '\n';
  }
  const std::string rule(static_cast<std::size_t>(width), '!');
  return fmt::format(
      "{}\n{}\n{}\n", rule,
      wrap("NO ITERATION WAS ACCEPTED: in every one the gradients overflowed, so that nothing was "
           "learnt, and equal bits say little. Let it run longer (--iterations; the loss scale "
           "halves each time) or begin with a lower --loss-scale.",
           width),
      rule);
}

}  // namespace zero
