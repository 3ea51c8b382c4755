#include "sweep/model_axes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/plan.hpp"

#include "base/text.hpp"
#include "pipeline/model/composition.hpp"
#include "sweep/axis_values.hpp"
#include "workload/operators.hpp"

namespace cortado::sweep {
namespace {

constexpr const char* kModelsForm =
    R"(write models = ["NAME", ...], tokens = NUMBER or [NUMBER, ...], and tp, ep or fsdp = GPUS)";
constexpr std::array<std::string_view, 6> kKeys{"models", "tokens", "tp", "ep", "fsdp", "phase"};

/// GPUs of a collective.
std::uint32_t ranks_of(RankGroup group, const cortado::Layout& layout) {
  switch (group) {
    case RankGroup::tensor:
      return layout.tp;
    case RankGroup::experts:
      return layout.ep;
    case RankGroup::shards:
      return layout.fsdp;
    case RankGroup::replicas:
      return layout.dp;
    case RankGroup::stages:
      return layout.pp;
  }
  return 1;
}

class ModelAxes {
 public:
  ModelAxes(const toml::table& zip, const std::string& file, const std::string& folder)
      : zip_(zip), file_(file), folder_(folder) {}

  Result<std::vector<Axis>> read() {
    for (const auto& [key, node] : zip_) {
      if (std::ranges::count(kKeys, key.str()) == 0)
        return refuse(fmt::format("{} cannot be used together with models", key.str()));
    }
    CORTADO_RETURN_IF_ERROR(read_layout());
    const toml::array* const models = zip_["models"].as_array();
    if (models == nullptr || models->empty()) return refuse("no models given");
    CORTADO_ASSIGN_OR_RETURN(const std::vector<std::int64_t> tokens, numbers("tokens"));
    if (tokens.empty()) return refuse("tokens is missing");
    for (const toml::node& one : *models) {
      const auto name = one.value<std::string>();
      if (!name) return refuse("a model is not a string");
      for (const std::int64_t count : tokens) CORTADO_RETURN_IF_ERROR(add(*name, static_cast<std::uint64_t>(count)));
    }
    if (points_.empty())
      return refuse("no GEMM of these models depends on a collective or feeds one", "split them over more GPUs");
    return axes();
  }

 private:
  struct Point {
    std::string op;
    std::string model;
    std::uint64_t tokens;
    OverlapProblem problem;
  };

  Unexpected<Diagnostic> refuse(std::string message, std::string hint = kModelsForm) const {
    return fail({"sweep.axis", std::move(message), std::move(hint), place_in(file_, zip_, "models")});
  }

  Result<std::vector<std::int64_t>> numbers(const char* key) const {
    std::vector<std::int64_t> all;
    const auto node = zip_[key];
    if (const auto one = node.value<std::int64_t>()) all.push_back(*one);
    if (const toml::array* const list = node.as_array()) {
      for (const toml::node& one : *list) all.push_back(one.value<std::int64_t>().value_or(0));
    }
    if (all.empty() && zip_.contains(key)) all.push_back(0);
    for (const std::int64_t one : all) {
      if (one <= 0) return refuse(fmt::format("{} has a value that is not a number above 0", key));
    }
    return all;
  }

  Result<std::uint32_t> degree(const char* key) const {
    CORTADO_ASSIGN_OR_RETURN(const std::vector<std::int64_t> given, numbers(key));
    if (given.empty()) return 1U;
    if (given.size() == 1 && given[0] <= std::numeric_limits<std::uint32_t>::max()) {
      return static_cast<std::uint32_t>(given[0]);
    }
    return refuse(fmt::format("{} is not one number of GPUs", key));
  }

  Status read_layout() {
    CORTADO_ASSIGN_OR_RETURN(layout_.tp, degree("tp"));
    CORTADO_ASSIGN_OR_RETURN(layout_.ep, degree("ep"));
    CORTADO_ASSIGN_OR_RETURN(layout_.fsdp, degree("fsdp"));
    layout_.sp = layout_.tp > 1;
    const std::string phase = zip_["phase"].value_or(std::string(zip_.contains("phase") ? "" : "prefill"));
    if (phase != "prefill" && phase != "train") {
      return refuse("phase is neither prefill nor train", "use phase = \"train\", or leave it out");
    }
    trains_ = phase == "train";
    if (layout_.fsdp > 1 && !trains_)
      return refuse("fsdp shards weights, which only training does", "also set phase = \"train\"");
    if (layout_.tp == 1 && layout_.ep == 1 && layout_.fsdp == 1) return refuse("the number of GPUs is missing");
    // Experts without tensor parallelism are divided among replicas.
    if (layout_.tp == 1) layout_.dp = std::max(1U, layout_.ep / layout_.fsdp);
    return {};
  }

  Status add(const std::string& name, std::uint64_t tokens) {
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".json");
    const auto model = load_model(is_path ? (std::filesystem::path(folder_) / name).string() : name);
    if (!model) return refuse(model.error().message, model.error().hint);
    const Phase phase{.kind = trains_ ? PhaseKind::train : PhaseKind::prefill, .tokens = tokens};
    // The machine is another axis: only what does not depend on it is checked here.
    Machine any;
    any.gpus = layout_.gpus();
    any.memory_bytes = {std::numeric_limits<std::uint64_t>::max()};
    if (const Status fits = check_layout(*model, layout_, phase, any); !fits) {
      return refuse(fmt::format("{}: {}", name, fits.error().message), fits.error().hint);
    }
    for (const Block& block : step_of(*model, layout_, phase).blocks) add(name, tokens, block);
    return {};
  }

  void add(const std::string& model, std::uint64_t tokens, const Block& block) {
    std::vector<GemmWork> gemms;
    const auto add_point = [&](const std::string& what, OverlapProblem problem) {
      std::string op = fmt::format("{} {} {} {}", model, tokens, block.name, what);
      // Layers that differ in the window of their attention have the same GEMMs.
      if (names_.insert(op).second) points_.push_back({std::move(op), model, tokens, std::move(problem)});
    };
    for (std::size_t i = 0; i < block.operators.size(); ++i) {
      const Operator& op = block.operators[i];
      if (const GemmWork* const gemm = op.gemm()) gemms.push_back(*gemm);
      const CollectiveWork* const work = op.collective();
      if (work == nullptr) continue;
      const std::uint32_t ranks = ranks_of(work->group, layout_);
      if (const auto partner = pipeline::partner_of(block, i)) {
        const Operator& gemm = block.operators[partner->gemm];
        OverlapProblem problem = pipeline::dependent_problem(*work, *gemm.gemm(), partner->relation, ranks);
        // The last matrix of a prompt has a row for each sequence only.
        if (problem.gemm().m >= pipeline::kLeastRows * ranks) add_point(gemm.name, std::move(problem));
      }
      for (const std::size_t behind : op.hides_behind) {
        const Operator& gemm = block.operators[behind];
        add_point(fmt::format("{} beside {}", gemm.name, work->collective),
                  pipeline::independent_problem({*work}, {*gemm.gemm()}, ranks));
      }
    }
    std::vector<CollectiveWork> shards;
    for (const CollectiveWork& work : block.beside) {
      if (work.group == RankGroup::shards) shards.push_back(work);
    }
    if (shards.empty() || gemms.empty()) return;
    add_point("beside weights", pipeline::independent_problem(shards, gemms, layout_.fsdp));
  }

  /// Axes that no point needs are left out; where only some need them, the others have an empty text or false.
  std::vector<Axis> axes() const {
    std::vector<Axis> all{{"operator", {}}, {"model", {}},      {"prompt", {}},      {"ranks", {}}, {"collective", {}},
                          {"gemm", {}},     {"gemm-first", {}}, {"independent", {}}, {"bytes", {}}};
    bool first = false;
    bool independent = false;
    for (const Point& point : points_) {
      const OverlapProblem& problem = point.problem;
      std::vector<std::string> collectives;
      std::vector<std::string> gemms;
      std::vector<std::string> bytes;
      for (const CollectiveRequest& one : problem.collectives) {
        collectives.emplace_back(one.collective.name());
        bytes.push_back(fmt::format("{}", one.bytes.value));
      }
      for (const GemmShape& one : problem.gemms) gemms.push_back(fmt::format("{}x{}x{}", one.m, one.n, one.k));
      const bool beside = problem.relation == Relation::independent;
      // A reduction comes behind the GEMM always.
      const bool gemm_first =
          problem.relation == Relation::collective_needs_gemm && problem.collectives[0].collective == "all-to-all";
      first = first || gemm_first;
      independent = independent || beside;
      const auto flag = [](bool given) { return Value(std::string(given ? "true" : "false")); };
      const std::vector<Value> values{point.op,
                                      point.model,
                                      static_cast<std::int64_t>(point.tokens),
                                      static_cast<std::int64_t>(problem.ranks),
                                      join(collectives, ","),
                                      join(gemms, ","),
                                      flag(gemm_first),
                                      flag(beside),
                                      beside ? join(bytes, ",") : std::string()};
      for (std::size_t i = 0; i < all.size(); ++i) all[i].values.push_back(values[i]);
    }
    std::erase_if(all, [&](const Axis& axis) {
      return (axis.name == "gemm-first" && !first) ||
             ((axis.name == "independent" || axis.name == "bytes") && !independent);
    });
    return all;
  }

  const toml::table& zip_;
  const std::string& file_;
  const std::string& folder_;
  cortado::Layout layout_{};
  bool trains_ = false;
  std::set<std::string> names_;
  std::vector<Point> points_;
};

}  // namespace

Result<std::vector<Axis>> axes_of_models(const toml::table& zip, const std::string& file, const std::string& folder) {
  return ModelAxes(zip, file, folder).read();
}

}  // namespace cortado::sweep
