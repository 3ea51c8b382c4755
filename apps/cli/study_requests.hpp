// Requests of studies from the flags of a command: the same on the command line and at every point of a sweep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/result.hpp"
#include "cortado/study.hpp"
#include "cortado/target.hpp"

#include "arguments.hpp"
#include "pipeline/kv/study.hpp"
#include "serve/serve.hpp"

namespace cortado::cli {

Result<pipeline::KvStudyRequest> kv_request(const Arguments& arguments);

Status check_power_flags(const Arguments& arguments);
Result<pipeline::PowerRequest> power_request(const Arguments& arguments, const Machine& machine);
Result<pipeline::PowerOptions> power_options(const Arguments& arguments);

std::vector<std::string_view> model_modes(const Arguments& arguments);
Result<pipeline::ModelRequest> model_request(const Arguments& arguments, const std::string& name,
                                             const Machine& machine);
Result<pipeline::ModelPower> model_power(const Arguments& arguments);
Status set_cap(const Arguments& arguments, Machine& machine);  ///< --cap
/// The step of the fastest system under the policies, if there are any.
Outcome<void> add_policies(const pipeline::ModelPower& power, const Machine& machine,
                           const pipeline::ModelOptions& options, pipeline::ModelStudy& study,
                           pipeline::ModelReport& report);

std::vector<std::string_view> serve_modes(const Arguments& arguments);
Result<serve::ServeRequest> serve_request(const Arguments& arguments);

}  // namespace cortado::cli
