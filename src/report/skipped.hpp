// What a study left out, with the reason.
#pragma once

#include <string>
#include <vector>

#include "cortado/report.hpp"
#include "cortado/result.hpp"

namespace cortado::report {

/// Columns code, message and hint of what was left out.
template <class Item>
std::vector<Field<Item>> reason_fields(std::vector<Field<Item>> fields, Diagnostic Item::*reason) {
  const auto add = [&](const char* key, const char* meaning, std::string Diagnostic::*part) {
    fields.push_back(
        {{.key = key, .meaning = meaning}, [reason, part](const Item& item) { return item.*reason.*part; }});
  };
  add("code", "its code ([errors.md](errors.md))", &Diagnostic::code);
  add("message", "the reason", &Diagnostic::message);
  add("hint", "what to do about it; may be empty", &Diagnostic::hint);
  return fields;
}

/// The list `skipped` of JSON; `kind` is the key of the names, "policy" or "schedule".
Table skipped_table(const std::vector<SkippedWay>& skipped, const std::string& kind);

/// A note for each reason: "c3-rp left out: ...", "tiles-ag, waves left out: ...".
std::vector<std::string> skipped_notes(const std::vector<SkippedWay>& skipped);

}  // namespace cortado::report
