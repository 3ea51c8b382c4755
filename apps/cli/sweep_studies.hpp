// The commands that a sweep can ask, with their flags already read.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/report.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "arguments.hpp"
#include "sweep/spec.hpp"

namespace cortado::cli {

/// A command whose flags are the parameters, on one machine.
class CommandStudy {
 public:
  CommandStudy() = default;
  CommandStudy(const CommandStudy&) = delete;
  CommandStudy& operator=(const CommandStudy&) = delete;
  virtual ~CommandStudy() = default;

  virtual Outcome<report::Document> ask(const Arguments& arguments) = 0;
};

struct SweptCommand {
  std::string_view command;
  std::string_view argument;   ///< of the command line, if it has one
  std::string_view parameter;  ///< as a spec calls it
  sweep::Ranking ranking;
  report::Document (*answer)();  ///< without rows
  Status (*check)(const Arguments&, const Machine&);
  std::unique_ptr<CommandStudy> (*study)(const Machine&);
};

const std::vector<SweptCommand>& swept_commands();

}  // namespace cortado::cli
