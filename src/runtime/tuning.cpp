#include "runtime/tuning.hpp"

#include <array>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::runtime {
namespace {

constexpr std::array kVariants{Variant::by_size, Variant::slots, Variant::staged, Variant::direct};
constexpr std::array kKinds{OperationKind::all_gather, OperationKind::all_to_all, OperationKind::reduce_scatter,
                            OperationKind::all_reduce, OperationKind::broadcast,  OperationKind::gather,
                            OperationKind::scatter};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Result<Variant> parse_variant(std::string_view name) {
  for (const Variant variant : kVariants) {
    if (name == name_of(variant)) return variant;
  }
  return fail("runtime.options", fmt::format("unknown variant \"{}\"", name),
              "use slots, staged, direct or auto, or rules such as all-gather<=64KiB:slots, direct");
}

Result<OperationKind> parse_kind(std::string_view name) {
  std::vector<std::string> names;
  for (const OperationKind kind : kKinds) {
    if (name == name_of(kind)) return kind;
    names.emplace_back(name_of(kind));
  }
  return fail("runtime.options", fmt::format("variants cannot be chosen for \"{}\"", name),
              suggestion(name, names, "collectives: "));
}

}  // namespace

std::string_view name_of(Variant variant) {
  switch (variant) {
    case Variant::by_size:
      return "auto";
    case Variant::slots:
      return "slots";
    case Variant::staged:
      return "staged";
    case Variant::direct:
      return "direct";
  }
  return "";
}

Result<Tuning> Tuning::parse(std::string_view text) {
  Tuning tuning;
  if (trimmed(text).empty()) return tuning;
  for (const std::string& part : split(text, ',')) {
    std::string_view rest = trimmed(part);
    Rule rule{{}, std::numeric_limits<std::uint64_t>::max(), Variant::by_size};
    if (const auto colon = rest.find(':'); colon != std::string_view::npos) {
      std::string_view what = trimmed(rest.substr(0, colon));
      rest = trimmed(rest.substr(colon + 1));
      if (const auto size = what.find("<="); size != std::string_view::npos) {
        CORTADO_ASSIGN_OR_RETURN(const Bytes most, parse_bytes(trimmed(what.substr(size + 2))));
        rule.most_bytes = most.value;
        what = trimmed(what.substr(0, size));
      }
      if (!what.empty()) {
        CORTADO_ASSIGN_OR_RETURN(rule.kind, parse_kind(what));
      }
    }
    CORTADO_ASSIGN_OR_RETURN(rule.variant, parse_variant(rest));
    tuning.rules_.push_back(rule);
  }
  return tuning;
}

Variant Tuning::variant_for(OperationKind kind, std::uint64_t bytes) const {
  for (const Rule& rule : rules_) {
    if (rule.kind.value_or(kind) == kind && bytes <= rule.most_bytes) return rule.variant;
  }
  return Variant::by_size;
}

}  // namespace cortado::runtime
