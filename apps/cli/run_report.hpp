// What a run shows: text, JSON, trace and page.
#pragma once

#include <optional>
#include <string>

#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "arguments.hpp"
#include "console.hpp"
#include "json.hpp"

namespace cortado::cli {

/// Spans of more commands are kept only if the user requests a trace: they would take gigabytes.
inline constexpr std::uint64_t kMaxCommandsInPath = 1'000'000;

class RunReport {
 public:
  RunReport(const Arguments& arguments, const RunOptions& options, std::string title, std::optional<bool> in_place)
      : arguments_(arguments), run_(options), title_(std::move(title)), in_place_(in_place) {}

  std::string text(const CheckedProgram& verified, const Run& run) const;
  Json json(const CheckedProgram& verified, const Run& run) const;
  Status write_pictures(const CheckedProgram& verified, const Run& run, Console& console) const;

 private:
  std::string body_text(const CheckedProgram& verified, const Run& run) const;  // all but the title
  std::string checked_text(const Run& run) const;
  std::string predicted_text(const Run& run) const;
  std::string sharing_note() const;
  std::string path_text(const Timeline& timeline) const;
  void add_predicted(const Run& run, Json& json) const;

  const Arguments& arguments_;
  const RunOptions& run_;
  std::string title_;
  std::optional<bool> in_place_;
};

}  // namespace cortado::cli
