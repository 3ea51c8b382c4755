// cortado list: what there is.
#include <fmt/format.h>

#include "cortado/base/text.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/pipeline/devices.hpp"
#include "cortado/pipeline/fused.hpp"
#include "cortado/pipeline/power.hpp"
#include "cortado/pipeline/what_if.hpp"
#include "cortado/plan/c3.hpp"
#include "cortado/plan/collective.hpp"
#include "cortado/plan/ficco.hpp"
#include "cortado/published/published.hpp"
#include "cortado/verify/verify.hpp"

#include "json.hpp"
#include "subcommand.hpp"

namespace cortado::cli {
namespace {

/// A list as rows of named cells: one table and one JSON array from the same data.
struct Listing {
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows;
};

std::string cell_text(const Json& cell) {
  if (cell.is_null()) return "-";
  if (cell.is_number_float()) return fmt::format("{:g}", cell.get<double>());
  if (cell.is_boolean()) return cell.get<bool>() ? "yes" : "no";
  if (!cell.is_array()) return cell.is_string() ? cell.get<std::string>() : cell.dump();
  return join(cell.get<std::vector<std::string>>());
}

Result<Listing> list_machines() {
  Listing listing{{"name", "gpus", "gpu", "cap_W", "title"}, {}};
  for (const std::string& name : machine_names()) {
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(name));
    const Json cap = machine.power ? Json(machine.power->cap_w) : Json();
    listing.rows.push_back({machine.name, machine.gpus, machine.gpu, cap, machine.title});
  }
  return listing;
}

Result<Listing> collectives() {
  Listing listing{{"name", "variants"}, {}};
  for (const Collective collective : kCollectives) {
    std::vector<std::string> variants;
    for (const VariantInfo& info : list_variants(collective)) variants.push_back(info.variant);
    listing.rows.push_back({std::string(collective.name()), variants});
  }
  return listing;
}

Result<Listing> variants() {
  Listing listing{{"collective", "variant", "in_place", "out_of_place", "summary"}, {}};
  for (const VariantInfo& info : list_variants()) {
    listing.rows.push_back(
        {std::string(info.collective.name()), info.variant, info.in_place, info.out_of_place, info.summary});
  }
  return listing;
}

Result<Listing> policies() {
  Listing listing{{"name", "summary", "wins", "loses"}, {}};
  for (const PolicyInfo& info : list_policies()) {
    listing.rows.push_back({info.name, info.summary, info.wins, info.loses});
  }
  return listing;
}

Result<Listing> power_policies() {
  Listing listing{{"name", "summary"}, {}};
  for (const sim::PowerPolicy* policy : sim::power_policies()) {
    listing.rows.push_back({std::string(policy->name), std::string(policy->summary)});
  }
  return listing;
}

Result<Listing> schedules() {
  Listing listing{{"name", "published", "summary"}, {}};
  for (const FiccoScheduleInfo& info : list_schedules()) {
    listing.rows.push_back({info.name, info.published, info.summary});
  }
  return listing;
}

Result<Listing> systems() {
  Listing listing{{"name", "summary"}, {}};
  for (const pipeline::FusedWay& way : pipeline::list_fused_ways()) listing.rows.push_back({way.name, way.summary});
  return listing;
}

Result<Listing> features() {
  Listing listing{{"name", "summary"}, {}};
  for (const pipeline::FeatureInfo& info : pipeline::list_features()) listing.rows.push_back({info.name, info.summary});
  return listing;
}

Result<Listing> maps() {
  Listing listing{{"collective", "algorithm", "summary"}, {}};
  for (const T3Preset& preset : list_t3_presets()) {
    listing.rows.push_back({std::string(preset.collective.name()), preset.algorithm, preset.summary});
  }
  return listing;
}

Result<Listing> devices() {
  Listing listing{{"name", "times", "summary"}, {}};
  for (const pipeline::DeviceInfo& info : pipeline::list_devices()) {
    listing.rows.push_back({info.name, "measured", info.summary});
  }
  listing.rows.push_back({pipeline::kSimulator.name, "simulated", pipeline::kSimulator.summary});
  return listing;
}

Result<Listing> publications() {
  Listing listing{{"name", "machine", "title", "source"}, {}};
  for (const std::string& name : published::publication_names()) {
    CORTADO_ASSIGN_OR_RETURN(const auto publication, published::load_publication(name));
    listing.rows.push_back({publication.name, publication.machine, publication.title, publication.source});
  }
  return listing;
}

Result<Listing> rules() {
  Listing listing{{"code", "summary"}, {}};
  for (const RuleInfo& info : verify_rules()) listing.rows.push_back({info.code, info.summary});
  return listing;
}

struct Topic {
  std::string_view name;
  std::string_view summary;
  Result<Listing> (*make)();
};

constexpr std::array kTopics{
    Topic{"machines", "modelled machines, for --machine", list_machines},
    Topic{"collectives", "what can be planned, with the variants of each", collectives},
    Topic{"variants", "ways to do each collective, for --variant", variants},
    Topic{"policies", "ways to run a product beside a collective, for overlap --policy", policies},
    Topic{"power-policies", "what power management may do, for power --policy", power_policies},
    Topic{"schedules", "ways to cut a product and the collective that it depends on, for --schedule", schedules},
    Topic{"systems", "ways to take a product away, for overlap --schedule", systems},
    Topic{"maps", "where tracked stores of a product go, for plan t3", maps},
    Topic{"features", "hardware that a machine may get, for what-if --with", features},
    Topic{"devices", "where programs run, for --on", devices},
    Topic{"publications", "published results, for reproduce", publications},
    Topic{"rules", "what the verifier proves", rules}};

Result<Listing> topics() {
  Listing listing{{"name", "summary"}, {}};
  for (const Topic& topic : kTopics) listing.rows.push_back({topic.name, topic.summary});
  return listing;
}

class ListCommand : public Subcommand {
 public:
  std::string_view name() const override { return "list"; }
  std::string_view description() const override {
    return "List machines, collectives, variants, policies, power-policies, schedules, systems, maps, features, "
           "devices, publications or rules";
  }
  std::vector<Example> examples() const override {
    return {{"cortado list", "the lists that there are"},
            {"cortado list variants", "what --variant may be for each collective"},
            {"cortado list machines --json", "the machines, for a script"}};
  }

  void add_options(CLI::App& app) override {
    app.add_option(
           "what", topic_,
           "machines, collectives, variants, policies (overlap), power-policies (power), schedules, systems (overlap "
           "--schedule), maps (plan t3), features (what-if), devices, publications or rules; without it these lists")
        ->type_name("");
    app.add_flag("--json", json_, "JSON instead of a table");
  }

  Result<Exit> run(Console& console) override {
    std::vector<std::string> names;
    for (const Topic& topic : kTopics) {
      names.emplace_back(topic.name);
      if (topic.name == topic_) return show(console, topic_, topic.make());
    }
    if (topic_.empty()) return show(console, "lists", topics());
    const std::string nearest = nearest_name(topic_, names);
    return fail("usage.topic", fmt::format("'{}' is nothing that can be listed", topic_),
                (nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest)) + "lists are " + join(names));
  }

 private:
  Result<Exit> show(Console& console, const std::string& what, const Result<Listing>& listing) const {
    if (!listing) return fail(listing.error());
    console.out(json_ ? json_text(what, *listing) : table_text(*listing));
    return Exit::ok;
  }

  static std::string json_text(const std::string& what, const Listing& listing) {
    Json array = Json::array();
    for (const auto& row : listing.rows) {
      Json object;
      for (std::size_t i = 0; i < row.size(); ++i) object[listing.columns[i]] = row[i];
      array.push_back(std::move(object));
    }
    return to_text({{what, std::move(array)}});
  }

  static std::string table_text(const Listing& listing) {
    TextTable table(listing.columns);
    for (const auto& row : listing.rows) {
      std::vector<std::string> cells;
      for (const Json& cell : row) cells.push_back(cell_text(cell));
      table.add_row(std::move(cells));
    }
    return table.to_string();
  }

  std::string topic_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Subcommand> make_list() {
  return std::make_unique<ListCommand>();
}

}  // namespace cortado::cli
