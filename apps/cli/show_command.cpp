// cortado show: one machine with the source of every number, one model, or one program as a listing.
#include <algorithm>

#include <fmt/format.h>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "base/text.hpp"
#include "command.hpp"
#include "json.hpp"

namespace cortado::cli {
namespace {

/// "built in", or "from FILE".
std::string origin_text(const std::string& file) {
  return file == "built in" ? file : "from " + file;
}

std::string engine_list(const Machine& machine, EngineClass kind) {
  std::vector<std::string> ids;
  for (const EngineId id : machine.present_engines(kind)) ids.push_back(fmt::format("{}", id.value));
  return ids.empty() ? "none" : join(ids, " ");
}

/// Rows: source GPU, columns: destination GPU, cells: engine.
std::string affinity_text(const Machine& machine) {
  std::vector<std::string> header{"src\\dst"};
  for (std::uint32_t dst = 0; dst < machine.gpus; ++dst) header.push_back(fmt::format("{}", dst));
  TextTable table(std::move(header));
  for (std::uint32_t src = 0; src < machine.gpus; ++src) {
    std::vector<std::string> cells{fmt::format("{}", src)};
    for (const auto& engine : machine.affinity[src]) cells.push_back(engine ? fmt::format("{}", engine->value) : "-");
    table.add_row(std::move(cells));
  }
  return table.to_string("  ");
}

/// The range of limits for policies, and the clocks that they can set.
std::string power_text(const Power& power) {
  std::vector<std::string> clocked;
  for (const Component which : kComponents) {
    if (power.component(which) != nullptr) clocked.emplace_back(name_of(which));
  }
  return fmt::format("at most {:g} W, {:.0f} W idle; components with a clock: {}", power.cap_w, power.idle_w(),
                     clocked.empty() ? "none" : join(clocked, " "));
}

/// Long lists are cut in the table; --json has them in full.
std::string shortened(const std::string& value) {
  constexpr std::size_t kWidth = 40;
  return value.size() <= kWidth ? value : value.substr(0, kWidth - 3) + "...";
}

std::string machine_summary(const Machine& machine) {
  std::string text = fmt::format("{}: {}\n\n", machine.name, machine.title);
  text += fmt::format("  {} x {}, {}\n", machine.gpus, machine.gpu, origin_text(machine.file));
  text += fmt::format("  engines to peers: {}\n", engine_list(machine, EngineClass::peer));
  text += fmt::format("  engines to the host: {}\n", engine_list(machine, EngineClass::host));
  if (machine.power) text += fmt::format("  power of a GPU: {}\n", power_text(*machine.power));
  if (!machine.affinity.empty()) text += "\nBest engine from one GPU to another:\n" + affinity_text(machine);
  TextTable table({"key", "value", "confidence", "source"});
  for (const Provenance& fact : machine.provenance) {
    table.add_row({fact.key, shortened(fact.value), fact.confidence, fact.source});
  }
  text += "\nValues. Confidence: A vendor, B measured and published, C third party, D derived by arithmetic.\n";
  return text + table.to_string("  ");
}

Json machine_json(const Machine& machine) {
  Json facts = Json::array();
  for (const Provenance& fact : machine.provenance) {
    facts.push_back(
        {{"key", fact.key}, {"value", fact.value}, {"confidence", fact.confidence}, {"source", fact.source}});
  }
  Json engines = Json::array();
  for (const Engine& engine : machine.engines) {
    engines.push_back({{"id", engine.id.value},
                       {"class", engine.kind == EngineClass::peer ? "peer" : "host"},
                       {"present", engine.present}});
  }
  Json affinity = Json::array();
  for (const auto& row : machine.affinity) {
    Json cells = Json::array();
    for (const auto& engine : row) cells.push_back(engine ? Json(engine->value) : Json());
    affinity.push_back(std::move(cells));
  }
  Json power;
  if (machine.power) power = {{"cap_W", machine.power->cap_w}, {"idle_W", machine.power->idle_w()}};
  Json json = document("cortado.machine");
  json.update({{"name", machine.name},
               {"title", machine.title},
               {"file", machine.file},
               {"gpus", machine.gpus},
               {"gpu", machine.gpu},
               {"engines", std::move(engines)},
               {"affinity", std::move(affinity)},
               {"power", std::move(power)},
               {"values", std::move(facts)}});
  return json;
}

/// Numbers of a model, in the order of the text.
Json model_json(const Model& model) {
  const ParameterCounts counts = count_parameters(model);
  const Attention& attention = model.attention;
  Json json = document("cortado.model");
  json.update(
      {{"name", model.name},
       {"family", model.family},
       {"file", model.file},
       {"parameters", counts.total},
       {"active_parameters", counts.active},
       {"embedding_parameters", counts.embeddings},
       {"weights", model.weights.name},
       {"weight_bytes", weight_bytes(model).value},
       {"kv_bytes_per_token", kv_bytes_per_token(model, Bytes{2}).value},
       {"layers", model.layers.size()},
       {"layers_with_experts", model.layers_with_experts()},
       {"layers_with_window", std::ranges::count_if(model.layers, [](const Layer& l) { return l.window.has_value(); })},
       {"hidden", model.hidden},
       {"heads", attention.heads},
       {"kv_heads", attention.latent ? Json() : Json(attention.kv_heads)},
       {"head_dim", attention.head_dim},
       {"intermediate", model.intermediate},
       {"vocabulary", model.vocabulary},
       {"context", model.context},
       {"experts", model.experts ? model.experts->count : 0},
       {"experts_per_token", model.experts ? model.experts->per_token : 0},
       {"shared_experts", model.experts ? model.experts->shared : 0},
       {"expert_intermediate", model.experts ? model.experts->intermediate : 0}});
  return json;
}

std::string model_summary(const Model& model) {
  const ParameterCounts counts = count_parameters(model);
  const auto amount = [](std::uint64_t value) {
    const auto number = static_cast<double>(value);
    return number < 1e9 ? fmt::format("{:.2f} million", number * 1e-6) : fmt::format("{:.2f} billion", number * 1e-9);
  };
  const Attention& attention = model.attention;
  std::string text = fmt::format("{}: {} model, {}\n\n", model.name, model.family, origin_text(model.file));
  text += fmt::format("  {} parameters, {} active for a token; {:.3g} GB of weights in {}\n", amount(counts.total),
                      amount(counts.active), static_cast<double>(weight_bytes(model).value) * 1e-9, model.weights.name);
  text += fmt::format("  {} bytes of KV cache per token in bf16, over all layers\n",
                      kv_bytes_per_token(model, Bytes{2}).value);
  text += fmt::format("  {} layers of hidden size {}, vocabulary {}{}, context {}\n", model.layers.size(), model.hidden,
                      model.vocabulary, model.tied ? " (tied embeddings)" : "", model.context);
  text += attention.latent ? fmt::format("  latent attention: {} heads, ranks {} and {}\n", attention.heads,
                                         attention.latent->query_rank, attention.latent->kv_rank)
                           : fmt::format("  attention: {} heads of size {}, {} KV heads\n", attention.heads,
                                         attention.head_dim, attention.kv_heads);
  if (!model.experts) return text + fmt::format("  feed-forward: {}\n", model.intermediate);
  const Experts& experts = *model.experts;
  const std::size_t dense = model.layers.size() - model.layers_with_experts();
  text += fmt::format("  feed-forward: {} experts of size {}, {} per token{}", experts.count, experts.intermediate,
                      experts.per_token, experts.shared > 0 ? fmt::format(" and {} shared", experts.shared) : "");
  if (dense > 0) {
    text += fmt::format("; {} dense layer{} of size {}", dense, dense == 1 ? "" : "s", model.intermediate);
  }
  return text + "\n";
}

constexpr Example kShowExamples[] = {
    {"cortado show machine mi300x-8", "every value with its source and confidence"},
    {"cortado show model llama-3.1-70b", "parameters, weights and KV cache; also works with your own config.json"},
    {"cortado plan all-gather --bytes 1KiB --ranks 2 | cortado show program -", "a program, command by command"}};

Result<Exit> run_show(const Arguments& arguments, Console& console) {
  const std::string name = arguments.text("name");
  const bool json = arguments.given("--json");
  if (arguments.text("what") == "machine") {
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(name));
    console.out(json ? to_text(machine_json(machine)) : machine_summary(machine));
  } else if (arguments.text("what") == "model") {
    CORTADO_ASSIGN_OR_RETURN(const Model model, load_model(name));
    console.out(json ? to_text(model_json(model)) : model_summary(model));
  } else {
    CORTADO_ASSIGN_OR_RETURN(const Program program, load_program(name));
    console.out(json ? to_json(program) : listing(program));
  }
  return Exit::ok;
}

}  // namespace

constinit const Subcommand kShowCommand{
    "show", "Show a machine with its sources, a model with its parameters, or a program as a listing", kShowExamples,
    run_show};

}  // namespace cortado::cli
