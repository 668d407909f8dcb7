// Compares what a stage program left behind with the formulas and with the ground truth:
//
//   stage_judge REQUEST
//   {"stage": "zero1", "instance": {...}, "folder": "...", "diverged": false}
//
// Prints what is wrong as a JSON list of {rung, text, look, again}: empty when nothing is.
#include <cstdio>
#include <exception>

#include "exercises/judge/judge.h"
#include "tests/support/files.h"

namespace zero::judge {
namespace {

using Json = nlohmann::json;

Request read_request(const std::string& path) {
  const Json told = Json::parse(read_whole_file(path));
  const Json& instance = told.at("instance");
  Request request;
  request.stage = told.at("stage");
  request.folder = told.at("folder");
  request.diverged = told.at("diverged");
  request.loss_scale = instance.at("loss_scale");
  Work& work = request.work;
  work.ranks = instance.at("ranks");
  work.dtype = instance.at("dtype");
  work.collectives = instance.at("collectives");
  work.layers = instance.at("layers");
  work.heads = instance.at("heads");
  work.channels = instance.at("channels");
  work.context = instance.at("context");
  work.vocab = instance.at("vocab");
  work.batch = instance.at("batch");
  work.iterations = instance.at("iterations");
  work.seed = instance.at("seed");
  work.more = instance.at("more").get<std::vector<std::string>>();
  return request;
}

Findings judge(const Request& request) {
  try {
    const Run run = read_run(request);
    Findings findings;
    for (const auto check : {check_memory, check_traffic, check_numbers, check_peak}) {
      if (request.diverged && check == check_numbers) continue;  // they differ, as is known
      for (Finding& finding : check(request, run)) findings.push_back(std::move(finding));
    }
    return findings;
  } catch (const Unusable& error) {
    return {{"ends", error.what(), "what the program does to its own files"}};
  }
}

}  // namespace
}  // namespace zero::judge

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: stage_judge REQUEST\n", stderr);
    return 2;
  }
  try {
    const zero::judge::Request request = zero::judge::read_request(argv[1]);
    nlohmann::json list = nlohmann::json::array();
    for (const auto& finding : zero::judge::judge(request))
      list.push_back({{"rung", finding.rung},
                      {"text", finding.text},
                      {"look", finding.look},
                      {"again", finding.again}});
    // The answer's own words may be no UTF-8.
    const auto replace = nlohmann::json::error_handler_t::replace;
    std::printf("%s\n", list.dump(1, ' ', false, replace).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stage_judge: %s\n", error.what());
    return 2;
  }
}
