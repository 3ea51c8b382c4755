// Choosing the schedule of a GEMM and the collective that it depends on, eight GPUs, one thread.
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "cortado/study.hpp"

#include "measure.hpp"
#include "pipeline/choose.hpp"
#include "plan/schedule_heuristic.hpp"

namespace cortado::bench {
namespace {

struct Question {
  std::string what;
  DependentRequest request;
};

Question question(GemmShape gemm, Collective collective, Dependence dependence) {
  DependentRequest request;
  request.gemm = gemm;
  request.collective = collective;
  request.dependence = dependence;
  const bool first = dependence == Dependence::collective_first;
  return {first ? fmt::format("{} -> {}", collective, to_string(gemm))
                : fmt::format("{} -> {}", to_string(gemm), collective),
          request};
}

/// Near each other and far from each other, in both directions.
std::vector<Question> questions() {
  return {question({16384, 3584, 8192}, "all-gather", Dependence::collective_first),
          question({131072, 2048, 8192}, "all-gather", Dependence::collective_first),
          question({4096, 8192, 2048}, "all-gather", Dependence::collective_first),
          question({48128, 1408, 24448}, "all-gather", Dependence::collective_first),
          question({32768, 4096, 7168}, "all-to-all", Dependence::collective_first),
          question({16384, 8192, 3584}, "reduce-scatter", Dependence::product_first),
          question({32768, 7168, 4096}, "all-to-all", Dependence::product_first)};
}

}  // namespace

std::vector<Row> schedule_rows() {
  const Machine machine = load_machine("mi300x-8").value();
  std::vector<Row> rows;
  for (const auto& [what, request] : questions()) {
    const double search =
        median_thread_ns(5, [&] { search_schedules(request, machine, *pipeline::simulated_cost(machine)).value(); });
    rows.push_back({"schedules, search: " + what, search / 1e6, "ms", 50, Better::lower});
  }
  for (const auto& [what, relation, collective] :
       {std::tuple("all-gather -> 16384x3584x8192", Relation::gemm_needs_collective, Collective("all-gather")),
        std::tuple("16384x8192x3584 -> reduce-scatter", Relation::collective_needs_gemm,
                   Collective("reduce-scatter"))}) {
    const bool first = relation == Relation::gemm_needs_collective;
    const GemmShape gemm = first ? GemmShape{16384, 3584, 8192} : GemmShape{16384, 8192, 3584};
    const OverlapProblem problem{.relation = relation, .gemms = {gemm}, .collectives = {{.collective = collective}}};
    const double all = median_thread_ns(5, [&] { pipeline::study_overlap(problem, machine, {}).value(); });
    rows.push_back({fmt::format("strategies, all of {}", what), all / 1e6, "ms", 30, Better::lower});
  }
  const std::vector<Question> asked = questions();
  constexpr std::uint32_t kGuesses = 1000;  // of each; one alone is too short to be timed
  const double guesses = median_thread_ns(5, [&] {
    for (std::uint32_t i = 0; i < kGuesses; ++i) {
      for (const Question& one : asked) guess_schedule(one.request, machine).value();
    }
  });
  rows.push_back({"schedules, heuristic: mean of these", guesses / kGuesses / static_cast<double>(asked.size()) / 1e3,
                  "us", 1, Better::lower});
  pipeline::Chooser chooser(machine, {});
  const DependentRequest request = questions().front().request;
  chooser.schedule(request).value();
  const double kept = median_thread_ns(1001, [&] { chooser.schedule(request).value(); });
  rows.push_back({"schedules, chosen before", kept / 1e3, "us"});
  return rows;
}

}  // namespace cortado::bench
