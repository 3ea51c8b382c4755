#include "flags.hpp"

#include <algorithm>
#include <set>

#include "cortado/machine.hpp"
#include "cortado/model.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "base/check.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "plan/choose.hpp"
#include "plan/kv.hpp"
#include "plan/overlap.hpp"
#include "plan/t3.hpp"
#include "reproduce/published/published.hpp"
#include "serve/fetch_ways.hpp"
#include "sweep/embedded.hpp"

namespace cortado::cli {
namespace {

using Names = std::vector<std::string>;

Names with(Names names, std::initializer_list<const char*> others) {
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

Names names_of(const auto& items) {
  Names names;
  for (const auto& item : items) names.emplace_back(item.name);
  return names;
}

Names collective_names() {
  return {Collective::kNames.begin(), Collective::kNames.end()};
}

Names variant_names() {
  std::set<std::string> names;
  for (const VariantInfo& info : list_variants()) names.insert(info.variant);
  return {names.begin(), names.end()};
}

Names power_policy_names() {
  Names names;
  for (const sim::PowerPolicy* policy : sim::power_policies()) names.emplace_back(policy->name);
  return names;
}

Names rule_names() {
  Names names;
  for (const RuleInfo& info : verify_rules()) names.emplace_back(info.code);
  return names;
}

struct List {
  std::string_view name;
  Names (*make)();
};

Names algorithm_names() {
  std::set<std::string> names{"auto"};
  for (const T3Preset& preset : list_t3_presets()) names.insert(preset.algorithm);
  return {names.begin(), names.end()};
}

constexpr List kLists[] = {
    {"@algorithms", algorithm_names},
    {"@among",
     [] {
       return with(variant_names(), {kDmaVariants, kCoresVariants});
     }},
    {"@collectives", collective_names},
    {"@components", [] { return Names(kComponentNames.begin(), kComponentNames.end()); }},
    {"@dtypes", [] { return Names{"u8", "i32", "f16", "bf16", "f32", "f8"}; }},
    {"@features", [] { return names_of(pipeline::list_features()); }},
    {"@kv-strategies", [] { return names_of(plan::kv_strategies()); }},
    {"@lists", [] { return with(list_names(), {"json"}); }},
    {"@machines", machine_names},
    {"@models", model_names},
    {"@ways", serve::way_names},
    {"@planned", [] { return with(collective_names(), {"overlap"}); }},
    {"@power-policies", [] { return with(power_policy_names(), {"all"}); }},
    {"@publications", [] { return with(published::publication_names(), {"all"}); }},
    {"@rules", rule_names},
    {"@strategies",
     [] {
       return with(names_of(strategies()), {"auto", "all"});
     }},
    {"@studies",
     [] {
       Names names{"show"};
       for (const auto& [name, text] : sweep::embedded_studies()) names.emplace_back(name);
       return names;
     }},
    {"@swept",
     [] {
       return with(collective_names(), {"copy", "features", "gemm", "host-copy"});
     }},
    {"@systems", [] { return with(pipeline::model_systems(), {"all"}); }},
    {"@targets", [] { return names_of(list_targets()); }},
    {"@variants",
     [] {
       return with(variant_names(), {kAutoVariant, "all"});
     }},
};

}  // namespace

std::string_view Flag::long_name() const {
  const std::size_t comma = name.find(',');
  return name.starts_with("--") ? name.substr(0, comma) : name.substr(comma + 1);
}

bool has_part(std::string_view text, char separator, std::string_view part) {
  while (!text.empty()) {
    const std::size_t at = text.find(separator);
    if (text.substr(0, at) == part) return true;
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + 1);
    if (text.empty()) return part.empty();
  }
  return false;
}

std::vector<const Flag*> flags_of(std::string_view command) {
  std::vector<const Flag*> flags;
  for (const Flag& flag : all_flags()) {
    if (has_part(flag.commands, ' ', command)) flags.push_back(&flag);
  }
  return flags;
}

const Flag* find_flag(std::string_view command, std::string_view name) {
  for (const Flag& flag : all_flags()) {
    if (has_part(flag.name, ',', name) && has_part(flag.commands, ' ', command)) return &flag;
  }
  return nullptr;
}

std::optional<NumberRange> number_range(const Flag& flag) {
  const std::vector<std::string> words = split(flag.accepts, ' ');
  if (words.size() != 2 || !words[0].starts_with("number")) return {};
  NumberRange range;
  range.least = parse_number<std::uint64_t>(words[1]).value();
  if (words[0] == "number64") range.most = std::numeric_limits<std::uint64_t>::max();
  return range;
}

bool is_closed(const Flag& flag) {
  return flag.accepts.find('|') != std::string_view::npos;
}

std::vector<std::string> known_values(std::string_view accepts) {
  if (accepts.find('|') != std::string_view::npos) return split(accepts, '|');
  const auto* list = std::ranges::find(kLists, accepts, &List::name);
  if (list != std::end(kLists)) return list->make();
  CORTADO_CHECK(!accepts.starts_with('@'), "the list exists");
  return {};
}

std::vector<std::string> known_values(const Flag& flag) {
  return known_values(flag.accepts);
}

std::string alternatives(const std::vector<std::string>& names) {
  if (names.size() < 2) return join(names);
  return join({names.begin(), names.end() - 1}) + " or " + names.back();
}

}  // namespace cortado::cli
