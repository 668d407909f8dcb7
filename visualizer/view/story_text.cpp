#include "visualizer/view/story_text.h"

#include <fmt/format.h>

#include <string_view>

#include "visualizer/view/story_facts.h"

namespace zero::view {

using namespace replay;

namespace {

std::string hops(int n) { return n == 1 ? "after one hop" : fmt::format("after {} hops", n); }

std::string_view what(const CollectiveFacts& c) {
  return c.gradients ? "gradients" : c.parameters ? "parameters" : "values";
}

// "Ring reduce-scatter"
std::string called(const CollectiveFacts& c) {
  std::string name = c.name;
  for (char& letter : name) {
    if (letter == '_') letter = '-';
  }
  if (c.algorithm == "ring") return fmt::format("Ring {}", name);
  if (c.algorithm == "direct") return fmt::format("Direct {}", name);
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::string of_library(const CollectiveFacts& c) {
  const std::string_view result =
      c.name == "all_reduce"       ? "every GPU has the average of all"
      : c.name == "reduce_scatter" ? "each GPU has the average of its own shard"
      : c.name == "reduce"         ? "the owner of each piece has its average"
      : c.name == "all_gather"     ? "every GPU has all shards"
                                   : "every GPU has a copy of each owner's piece";
  return fmt::format("{} by a library: its messages are not seen, only that afterwards {}.",
                     called(c), result);
}

std::string of_one_gpu(const CollectiveFacts& c) {
  return fmt::format("{} with one GPU: its own {} already are the result, so nothing is sent.",
                     called(c), what(c));
}

std::string of_collective(const CollectiveFacts& c, const ChapterFacts& facts, int K) {
  if (K == 1) return of_one_gpu(c);
  if (c.algorithm == "library") return of_library(c);
  const bool ring = c.algorithm == "ring";
  const std::string name = called(c);
  const int steps = c.hops > 0 ? c.hops : K - 1;  // in closed form no hop is told
  if (c.name == "reduce_scatter") {
    if (ring) {
      return fmt::format(
          "{}: each GPU passes a running sum to its right neighbour, which adds its own part; {} "
          "each owner has the sum of its shard and divides it by {}: the average.",
          name, hops(steps), K);
    }
    return fmt::format(
        "{}: each GPU sends every shard of its {} straight to the shard's owner, who adds them all "
        "up and divides by {}: the average.",
        name, what(c), K);
  }
  if (c.name == "all_reduce") {
    if (ring) {
      return fmt::format(
          "{}: running sums pass to the right, each GPU adding its own part; {} each part's sum is "
          "complete and becomes the average. As many hops again bring every average to every GPU.",
          name, hops(steps));
    }
    return fmt::format(
        "{}: each GPU sends every part of its {} to the part's owner, who adds them up and divides "
        "by {}; then each owner sends its average to all others.",
        name, what(c), K);
  }
  if (c.name == "reduce") {
    return fmt::format(
        "{}: {}, who divides by {}.{}", name,
        ring ? "a running sum goes round, each GPU adding its own part, and ends at the piece's "
               "owner"
             : "all GPUs send their part of each piece to its owner",
        K,
        facts.gradients_freed
            ? " Only the owner keeps the average; every GPU frees the unit's own gradients."
            : "");
  }
  if (c.name == "all_gather") {
    if (ring) {
      return fmt::format(
          "{}: each GPU passes its shard to its right neighbour, which keeps a copy and passes it "
          "on; {} every GPU has all {}.",
          name, hops(steps), what(c));
    }
    return fmt::format(
        "{}: each GPU sends its shard straight to all others; then every GPU has "
        "all {}.",
        name, what(c));
  }
  if (c.name == "broadcast") {
    return fmt::format("{}: the owner of each piece sends it {}.", name,
                       ring ? "round the ring to all others" : "straight to all others");
  }
  return fmt::format("{}.", name);
}

// An operator's step, with collectives that bring what it needs.
std::string of_operators(const ChapterFacts& facts, const Chapter& chapter, int K) {
  const std::string_view model = chapter.unit.empty() ? "the whole model" : "the unit";
  if (!facts.collectives.empty() && K > 1) {
    const CollectiveFacts& c = facts.collectives.front();
    const std::string_view freed =
        facts.gathered_freed ? ", then frees the gathered copy at once" : "";
    if (facts.backward) {
      return fmt::format(
          "{}: the owners send the unit's {} again; each GPU computes the gradients of its own "
          "micro-batch{}, and frees activations as it goes.",
          called(c), what(c), freed);
    }
    return fmt::format(
        "{}: the owner of each piece of {} sends it to all others; each GPU runs {} on its own "
        "micro-batch{}.",
        called(c), chapter.unit.empty() ? "a unit" : "the unit",
        chapter.unit.empty() ? "it" : "the whole unit", freed);
  }
  if (facts.backward && facts.forward) {
    return "Each GPU runs the model on its own micro-batch, forward and backward.";
  }
  if (facts.backward) {
    return fmt::format(
        "Each GPU goes back through {} and computes the gradients of its own micro-batch{}; "
        "activations are freed once they have been used.",
        model, facts.temporary_gradients ? ", in a temporary buffer" : "");
  }
  return fmt::format(
      "Each GPU runs {} on its own micro-batch, without a message{}; its activations grow, because "
      "backward needs them.",
      model, facts.parameters_kept == Extent::all ? ": it has all parameters itself" : "");
}

std::string of_update(const ChapterFacts& facts, int K) {
  if (facts.updated == Extent::shard && K > 1) {
    return fmt::format(
        "Each GPU updates only its own shard, 1/{} of the fp32 parameters, with the averaged "
        "gradients and the optimizer states of that shard: nobody does the same work twice.",
        K);
  }
  return K == 1 ? "The GPU updates all fp32 parameters with the gradients and its optimizer states."
                : "Each GPU updates all fp32 parameters itself; the averages are the same "
                  "everywhere, so all GPUs do the same work and get the same result.";
}

std::string of_cast(const ChapterFacts& facts, int K) {
  if (facts.skipped)
    return "Nothing was updated; the copy of lower precision is made all the same.";
  if (facts.cast == Extent::shard && K > 1) {
    return "Each GPU rounds its own shard of updated fp32 parameters to the precision that forward "
           "and backward work with.";
  }
  return "Each GPU rounds the updated fp32 parameters to the precision that forward and backward "
         "work with.";
}

// "parameters, gradients and optimizer states": those of the model states of this extent.
std::string states_of(const ChapterFacts& facts, Extent extent) {
  constexpr std::string_view kNames[] = {"parameters", "gradients", "optimizer states"};
  std::vector<std::string_view> names;
  for (std::size_t c = 0; c < 3; ++c) {
    if (facts.allocated[c] == extent) names.push_back(kNames[c]);
  }
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
    list += names[i];
  }
  return list;
}

std::string of_start(const ChapterFacts& facts, int K) {
  const std::string whole = states_of(facts, Extent::all), shards = states_of(facts, Extent::shard);
  std::string sentence = "Each GPU allocates its model states and sets the initial values";
  if (K == 1 || (whole.empty() && shards.empty())) return sentence + ".";
  sentence += ": ";
  if (!whole.empty()) sentence += fmt::format("all {}", whole);
  if (!whole.empty() && !shards.empty()) sentence += "; ";
  if (!shards.empty()) sentence += fmt::format("its own shard, 1/{}, of {}", K, shards);
  return sentence + ".";
}

// At the end of an iteration, where updated parameters would be sent.
std::string of_nothing(const ChapterFacts& facts, int K) {
  std::string sentence;
  if (K > 1 && facts.parameters_kept == Extent::all) {
    sentence = "Nothing is sent: every GPU has all parameters already.";
  } else if (K > 1 && facts.parameters_kept == Extent::shard) {
    sentence = "Nothing is sent: each GPU keeps only its own shard of the parameters.";
  } else {
    sentence = "Nothing is sent.";
  }
  return sentence;
}

std::string sentence_of(const ChapterFacts& facts, const Chapter& chapter, int K) {
  std::string sentence;
  if (facts.forward || facts.backward) {
    sentence = of_operators(facts, chapter, K);
  } else if (!facts.collectives.empty()) {
    sentence = of_collective(facts.collectives.front(), facts, K);
    for (std::size_t i = 1; i < facts.collectives.size(); ++i) {
      sentence += fmt::format(" {}", of_collective(facts.collectives[i], facts, K));
    }
  } else if (facts.updated != Extent::none) {
    sentence = of_update(facts, K);
  } else if (facts.cast != Extent::none) {
    sentence = of_cast(facts, K);
  } else if (facts.initial) {
    sentence = of_start(facts, K);
  } else if (facts.activations) {
    sentence = K == 1 ? "The GPU takes the next tokens."
                      : "Each GPU takes its own micro-batch: other tokens than the other GPUs, so "
                        "their gradients will differ.";
  } else if (facts.skipped && !facts.loss && !facts.after_iteration) {
    sentence = "A gradient has overflowed: no GPU updates anything in this iteration.";
  } else if (facts.ends_iteration) {
    sentence = of_nothing(facts, K);  // a whole step; one that is cut off may go on to send
  }
  if (facts.loss) sentence += fmt::format(" The iteration ends with the loss {:.4f}.", *facts.loss);
  return sentence;
}

}  // namespace

std::vector<std::string> sentences_of(const Run& run) {
  const std::vector<ChapterFacts> facts = facts_of(run);
  std::vector<std::string> sentences;
  for (std::size_t n = 0; n < facts.size(); ++n) {
    sentences.push_back(sentence_of(facts[n], run.chapters()[n], run.world_size()));
  }
  return sentences;
}

}  // namespace zero::view
