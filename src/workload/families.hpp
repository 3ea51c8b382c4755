// What model families have in common and where they differ.
#pragma once

#include <string>
#include <vector>

#include "cortado/model.hpp"

#include "workload/config.hpp"

namespace cortado::workload {

/// A model_type of config.json.
struct Family {
  const char* name;
  void (*read)(Config& config, Model& model);  ///< errors are kept in the config
};

/// nullptr if unknown.
const Family* find_family(const std::string& name);
std::vector<std::string> family_names();

}  // namespace cortado::workload
