// cortado list: machines, variants, strategies and so on.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/plan.hpp"
#include "cortado/report.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "base/text.hpp"
#include "command.hpp"
#include "flags.hpp"
#include "pipeline/breakdown.hpp"
#include "pipeline/compare.hpp"
#include "pipeline/explain.hpp"
#include "pipeline/feature_gains.hpp"
#include "pipeline/gemm_bench.hpp"
#include "pipeline/kv/host_copy.hpp"
#include "pipeline/kv/study.hpp"
#include "pipeline/run_model.hpp"
#include "plan/c3.hpp"
#include "plan/ficco.hpp"
#include "plan/kv.hpp"
#include "plan/overlap.hpp"
#include "plan/t3.hpp"
#include "report/bench_rows.hpp"
#include "report/schedule_map.hpp"
#include "reproduce/published/published.hpp"
#include "reproduce/reproduction.hpp"
#include "serve/serve.hpp"
#include "table_output.hpp"

namespace cortado::cli {
namespace {

constexpr Example kListExamples[] = {{"cortado list", "what can be listed"},
                                     {"cortado list variants", "the values of --variant for each collective"},
                                     {"cortado list machines --json", "the machines, as JSON for a script"}};

using report::Table;

struct Named {
  std::string key;
  std::string meaning;
};

Table listing(const std::vector<Named>& columns) {
  Table table;
  for (const Named& named : columns) {
    std::string head = named.key;
    std::ranges::replace(head, '_', ' ');
    table.columns.push_back(
        {.key = named.key, .head = std::move(head), .meaning = named.meaning, .notation = report::Notation::shortest});
  }
  return table;
}

Table summaries(const auto& items) {
  Table table = listing({{"name", "name to use in flags"}, {"summary", "in one line"}});
  for (const auto& item : items) table.add({item.name, item.summary});
  return table;
}

Result<Table> list_machines() {
  Table table = listing({{"name", "name to use in flags"},
                         {"gpus", "number of GPUs"},
                         {"gpu", "type of GPU"},
                         {"cap_W", "power cap of a board in watts; null if its power is not described"},
                         {"predicts", "what is known of it: time; time, power; null: it cannot be simulated"},
                         {"title", "in one line"}});
  for (const std::string& name : machine_names()) {
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(name));
    const report::Cell cap = machine.power ? report::Cell(machine.power->cap_w) : report::Cell();
    const report::Cell predicts = !machine.timing ? report::Cell() : machine.power ? "time, power" : "time";
    table.add({machine.name, machine.gpus, machine.gpu, cap, predicts, machine.title});
  }
  return table;
}

Result<Table> list_models() {
  Table table = listing({{"name", "name to use in flags"},
                         {"family", "model_type in its config.json"},
                         {"layers", "number of layers"},
                         {"parameters_B", "billions"},
                         {"active_B", "billions of parameters that one token uses"},
                         {"weights_GB", "size of the weights as stored"},
                         {"kv_bytes", "KV cache bytes per token, in bf16"}});
  // To a tenth, or of small models three digits.
  const auto billions = [](double value) {
    const double unit = value >= 1e9 ? 1e8 : std::pow(10, std::floor(std::log10(value)) - 2);
    return report::Cell(std::round(value / unit) * unit * 1e-9);
  };
  for (const std::string& name : model_names()) {
    CORTADO_ASSIGN_OR_RETURN(const Model model, load_model(name));
    const ParameterCounts counts = count_parameters(model);
    table.add({name, model.family, model.layers.size(), billions(static_cast<double>(counts.total)),
               billions(static_cast<double>(counts.active)), billions(static_cast<double>(weight_bytes(model).value)),
               kv_bytes_per_token(model, Bytes{2})});
  }
  return table;
}

Result<Table> collectives() {
  Table table = listing({{"name", "name to use in flags"}, {"variants", "values of `--variant`"}});
  for (const Collective collective : kCollectives) {
    std::vector<std::string> variants;
    for (const VariantInfo& info : list_variants(collective)) variants.push_back(info.variant);
    table.add({collective.name(), variants});
  }
  return table;
}

Result<Table> variants() {
  Table table = listing({{"collective", "name of the collective"},
                         {"variant", "value of `--variant`"},
                         {"in_place", "input and output may share a buffer"},
                         {"out_of_place", "input and output may be separate buffers"},
                         {"summary", "in one line"}});
  for (const VariantInfo& info : list_variants()) {
    table.add({info.collective.name(), info.variant, info.in_place, info.out_of_place, info.summary});
  }
  return table;
}

Result<Table> overlap_strategies() {
  Table table = listing({{"name", "name to use in flags"},
                         {"family", "group it belongs to"},
                         {"summary", "in one line"},
                         {"wins", "when"},
                         {"loses", "when"}});
  for (const Strategy& one : strategies()) {
    table.add({one.name, one.family, one.summary, one.wins, one.loses});
  }
  return table;
}

Result<Table> kv_strategies() {
  return summaries(plan::kv_strategies());
}

Result<Table> power_policies() {
  Table table = listing({{"name", "name to use in flags"}, {"summary", "in one line"}});
  for (const sim::PowerPolicy* policy : sim::power_policies()) table.add({policy->name, policy->summary});
  return table;
}

Result<Table> features() {
  return summaries(pipeline::list_features());
}

Result<Table> maps() {
  Table table =
      listing({{"collective", "name of the collective"}, {"algorithm", "how it is done"}, {"summary", "in one line"}});
  for (const T3Preset& preset : list_t3_presets()) {
    table.add({preset.collective.name(), preset.algorithm, preset.summary});
  }
  return table;
}

Result<Table> targets() {
  Table table =
      listing({{"name", "name to use in flags"}, {"times", "`measured` or `predicted`"}, {"summary", "in one line"}});
  for (const TargetInfo& info : list_targets()) {
    table.add({info.name, info.name == kSimulator ? "predicted" : "measured", info.summary});
  }
  return table;
}

Result<Table> publications() {
  Table table = listing({{"name", "name to use in flags"},
                         {"machine", "that it was measured on"},
                         {"title", "in one line"},
                         {"source", "where to find it"}});
  for (const std::string& name : published::publication_names()) {
    CORTADO_ASSIGN_OR_RETURN(const auto publication, published::load_publication(name));
    table.add({publication.name, publication.machine, publication.title, publication.source});
  }
  return table;
}

Result<Table> rules() {
  Table table = listing({{"code", "prefix of its error codes"}, {"summary", "in one line"}});
  for (const RuleInfo& info : verify_rules()) table.add({info.code, info.summary});
  return table;
}

struct Topic {
  std::string_view name;
  std::string_view summary;
  Result<Table> (*make)();
};

constexpr std::array kTopics{
    Topic{"machines", "modelled machines, for --machine", list_machines},
    Topic{"models", "transformer models, for --model and show model", list_models},
    Topic{"collectives", "collectives, with the variants of each", collectives},
    Topic{"variants", "implementations of each collective, for --variant", variants},
    Topic{"strategies", "ways to overlap a GEMM with a collective, for --strategy", overlap_strategies},
    Topic{"kv-strategies", "ways to fetch KV blocks from host memory, for kv --strategy", kv_strategies},
    Topic{"power-policies", "ways to manage power, for power --policy", power_policies},
    Topic{"maps", "where the tracked stores of a GEMM go, for --strategy t3", maps},
    Topic{"features", "hardware features that can be added to a machine, for --with", features},
    Topic{"targets", "where programs run, for --on", targets},
    Topic{"publications", "published results, for reproduce", publications},
    Topic{"rules", "what the verifier proves", rules}};

Result<Table> table_of(const Topic& topic) {
  CORTADO_ASSIGN_OR_RETURN(Table table, topic.make());
  table.key = topic.name;
  table.meaning = topic.summary;
  return table;
}

Result<Table> topics() {
  return summaries(kTopics);
}

/// What a flag adds to a document: facts and tables that are not in it yet.
void add_part(const report::Document& with, const std::string& flag, report::Document& document) {
  const auto known = [](const auto& all, const auto& one) {
    return std::ranges::any_of(all, [&](const auto& other) { return other.key == one.key; });
  };
  for (const report::Fact& fact : with.facts) {
    if (!known(document.facts, fact)) {
      document.facts.push_back({fact.key, fact.value, fmt::format("{}: {}", flag, fact.meaning)});
    }
  }
  for (report::Table table : with.tables) {
    if (known(document.tables, table)) continue;
    table.meaning = fmt::format("{}: {}", flag, table.meaning);
    document.tables.push_back(std::move(table));
  }
}

/// The part of docs/json.md on documents that are tables, which describe themselves.
Result<std::string> json_reference() {
  report::ScheduleMap map;
  map.schedules = {"SCHEDULE"};
  report::Document lists{.schema = "cortado.list"};
  for (const Topic& topic : kTopics) {
    CORTADO_ASSIGN_OR_RETURN(lists.tables.emplace_back(), table_of(topic));
  }
  report::Document overlap = pipeline::overlap_document({});
  add_part(pipeline::explain_overlap_document({}, {}), "`--explain`", overlap);
  add_part(pipeline::why_document({}, {}), "`--why`", overlap);
  const std::vector<std::pair<const char*, report::Document>> sections{
      {"overlap --json`", overlap},
      {"overlap --with --json`", pipeline::what_if_document({})},
      {"bench --json`", report::bench_document({})},
      {"bench gemm --json`", pipeline::gemm_bench_document({})},
      {"bench copy --phases --json`", pipeline::breakdown_document({})},
      {"bench --explain --json`", pipeline::explain_sizes_document({}, {})},
      {"plan --explain --json`", pipeline::explain_document({}, {})},
      {"run --on soft,sim --json`", pipeline::compare_document({})},
      {"model --on soft --json`", pipeline::model_run_document({})},
      {"power --json`", report::power_document({})},
      {"model --json`", pipeline::model_document({}, true)},
      {"kv --json`", pipeline::kv_document({})},
      {"bench host-copy --json`", pipeline::host_copy_document({})},
      {"bench features --json`", pipeline::feature_gains_document({})},
      {"serve-sim --json`", serve::serve_document({})},
      {"overlap --map --json`", report::schedule_map_document(map)},
      {"reproduce --json`: a list `reproductions`", report::reproduction_document({})},
      {"list --json`: one of these lists", lists}};
  std::string text;
  for (const auto& [heading, document] : sections) {
    text += fmt::format("{}## `cortado {}\n\n{}", text.empty() ? "" : "\n", heading, report::json_reference(document));
  }
  return text;
}

/// How a name of the list may go on.
const std::vector<std::string> kStrategyNotes{
    "after a FiCCO schedule or tiles: /N splits into N chunks (hetero-fused-1d/8, tiles-ag/2); -cores, with or without "
    "it: kernels on CUs copy, not DMA engines (tiles-ag/1-cores, serial-dma/cores); -stores, tiles after a GEMM: the "
    "GEMM itself stores to its peers (waves/1-stores)",
    "after c3-sp and c3-sp-rp: /N is the number of CUs of the collective (c3-sp/32); after c3* and conccl*: the "
    "variant "
    "of the collective (conccl/bcst-prelaunch)",
    "cortado overlap also searches among these forms, unless --strategy says what to compare"};

Result<Exit> show_list(const Arguments& arguments, Console& console, const std::string& what, Result<Table> table) {
  if (!table) return fail(table.error());
  report::Document document{.schema = "cortado.list"};
  table->key = what;
  document.tables.push_back(*std::move(table));
  if (what == "strategies") document.notes = kStrategyNotes;
  CORTADO_RETURN_IF_ERROR(TableOutput(arguments).show(console, document));
  return Exit::ok;
}

Result<Exit> run_list(const Arguments& arguments, Console& console) {
  const std::string wanted = arguments.text("what");
  for (const Topic& topic : kTopics) {
    if (topic.name == wanted) return show_list(arguments, console, wanted, table_of(topic));
  }
  if (wanted.empty()) return show_list(arguments, console, "lists", topics());
  if (wanted == "json") {
    CORTADO_ASSIGN_OR_RETURN(const std::string reference, json_reference());
    console.out(reference);
    return Exit::ok;
  }
  return fail("usage.topic", fmt::format("'{}' cannot be listed", wanted),
              suggestion(wanted, known_values(*find_flag("list", "what")), "choose one of "));
}

}  // namespace

std::vector<std::string> list_names() {
  std::vector<std::string> names;
  for (const Topic& topic : kTopics) names.emplace_back(topic.name);
  return names;
}

constinit const Subcommand kListCommand{
    "list", "List machines, collectives, variants, strategies, and other values that flags accept", kListExamples,
    run_list};

}  // namespace cortado::cli
