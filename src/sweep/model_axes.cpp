#include "sweep/model_axes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"

#include "sweep/axis_values.hpp"
#include "workload/operators.hpp"

namespace cortado::sweep {
namespace {

constexpr const char* kModelsForm = R"(give models = ["NAME", ...], tp = GPUS and tokens = NUMBER or [NUMBER, ...])";

class ModelAxes {
 public:
  ModelAxes(const toml::table& zip, const std::string& file, const std::string& folder)
      : zip_(zip), file_(file), folder_(folder) {}

  Result<std::vector<Axis>> read() {
    for (const auto& [key, node] : zip_) {
      const std::string_view name = key.str();
      if (name != "models" && name != "tp" && name != "tokens") {
        return refuse(fmt::format("{} beside models", name), kModelsForm);
      }
    }
    const toml::array* const models = zip_["models"].as_array();
    const auto tp = zip_["tp"].value<std::int64_t>();
    if (models == nullptr || models->empty() || !tp || *tp < 2 || *tp > std::numeric_limits<std::uint32_t>::max()) {
      return refuse("which models, on how many GPUs?", kModelsForm);
    }
    tp_ = static_cast<std::uint32_t>(*tp);
    CORTADO_ASSIGN_OR_RETURN(const std::vector<std::int64_t> tokens, numbers("tokens"));
    for (const toml::node& one : *models) {
      const auto name = one.value<std::string>();
      if (!name) return refuse("a model that is no text", kModelsForm);
      for (const std::int64_t count : tokens) CORTADO_RETURN_IF_ERROR(add(*name, static_cast<std::uint64_t>(count)));
    }
    if (axes_.front().values.empty()) {
      return refuse("no GEMM of these models depends on a collective", "give a larger tp");
    }
    return std::vector<Axis>(axes_.begin(), axes_.end());
  }

 private:
  tl::unexpected<Diagnostic> refuse(std::string message, std::string hint) const {
    return fail({"sweep.axis", std::move(message), std::move(hint), place_in(file_, zip_, "models")});
  }

  Result<std::vector<std::int64_t>> numbers(const char* key) const {
    std::vector<std::int64_t> all;
    const auto node = zip_[key];
    if (const auto one = node.value<std::int64_t>()) all.push_back(*one);
    if (const toml::array* const list = node.as_array()) {
      for (const toml::node& one : *list) all.push_back(one.value<std::int64_t>().value_or(0));
    }
    for (const std::int64_t one : all) {
      if (one <= 0) return refuse(fmt::format("{} has a value that is no number above 0", key), kModelsForm);
    }
    if (all.empty()) return refuse(fmt::format("{} is missing", key), kModelsForm);
    return all;
  }

  Status add(const std::string& name, std::uint64_t tokens) {
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".json");
    const auto model = load_model(is_path ? (std::filesystem::path(folder_) / name).string() : name);
    if (!model) return refuse(model.error().message, model.error().hint);
    const cortado::Layout layout{.tp = tp_, .sp = true};
    const Phase phase{.kind = PhaseKind::prefill, .tokens = tokens};
    // The machine is another axis: only what does not depend on it is checked here.
    Machine any;
    any.gpus = tp_;
    any.memory_bytes = {std::numeric_limits<std::uint64_t>::max()};
    if (const Status fits = check_layout(*model, layout, phase, any); !fits) {
      return refuse(fmt::format("{}: {}", name, fits.error().message), fits.error().hint);
    }
    for (const Block& block : step_of(*model, layout, phase).blocks) add(name, tokens, block);
    return {};
  }

  void add(const std::string& model, std::uint64_t tokens, const Block& block) {
    for (std::size_t i = 0; i < block.operators.size(); ++i) {
      const CollectiveWork* const work = block.operators[i].collective();
      if (work == nullptr) continue;
      const bool gathers = work->collective == "all-gather" && i + 1 < block.operators.size();
      const bool sums = work->collective == "reduce-scatter" && i > 0;
      if (!gathers && !sums) continue;
      const Operator& partner = block.operators[gathers ? i + 1 : i - 1];
      // Of layers: the last matrix has fewer rows, and those of experts are no single GEMM.
      const GemmWork* const gemm = partner.gemm();
      if (gemm != nullptr && gemm->groups == 1 && gemm->shape.m == tokens) {
        add(model, tokens, fmt::format("{} {}", block.name, partner.name), *work, gemm->shape);
      }
    }
  }

  void add(const std::string& model, std::uint64_t tokens, const std::string& op, const CollectiveWork& work,
           const GemmShape& shape) {
    const std::array<Value, 6> values{
        fmt::format("{} {} {}", model, tokens, op), model,
        static_cast<std::int64_t>(tokens),          static_cast<std::int64_t>(tp_),
        std::string(work.collective.name()),        fmt::format("{}x{}x{}", shape.m, shape.n, shape.k)};
    for (std::size_t i = 0; i < values.size(); ++i) axes_[i].values.push_back(values[i]);
  }

  const toml::table& zip_;
  const std::string& file_;
  const std::string& folder_;
  std::uint32_t tp_ = 0;
  std::array<Axis, 6> axes_{
      {{"operator", {}}, {"model", {}}, {"prompt", {}}, {"ranks", {}}, {"collective", {}}, {"gemm", {}}}};
};

}  // namespace

Result<std::vector<Axis>> axes_of_models(const toml::table& zip, const std::string& file, const std::string& folder) {
  return ModelAxes(zip, file, folder).read();
}

}  // namespace cortado::sweep
