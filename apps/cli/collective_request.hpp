// Flags that describe a collective, as requests for one plan, for a choice and for a sweep.
#pragma once

#include <optional>
#include <string>

#include "cortado/plan.hpp"
#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"
#include "pipeline/bench.hpp"
#include "pipeline/choose.hpp"
#include "plan/choose.hpp"

namespace cortado::cli {

/// --planner, or --variant, or the fallback.
std::string asked_variant(const Arguments& arguments, std::string_view fallback);

/// One plan; in_place has its default if it was not given. The variant may be kAutoVariant.
Result<CollectiveRequest> collective_request(const Arguments& arguments, const std::string& collective,
                                             const std::string& variant);

/// What such a request leaves open.
ChoiceRequest choice_request(const Arguments& arguments, const CollectiveRequest& request);
pipeline::ChooserOptions chooser_options(const Arguments& arguments);

/// The request with the variant that is predicted to be fastest instead of kAutoVariant; the console says which one.
Result<CollectiveRequest> settled(const CollectiveRequest& request, const Arguments& arguments, const Machine& machine,
                                  Console& console);

/// Variants, sizes and kinds of launch. Refuses unknown names and sizes.
Result<pipeline::BenchRequest> sweep_request(const Arguments& arguments, const std::string& collective,
                                             const std::string& variants, const std::string& sizes);

/// Whether one of several variants is to be chosen.
bool leaves_open(const std::string& variants);

/// Saves what the chooser has simulated. If the cache cannot be written, the console only mentions it.
void keep_times(pipeline::Chooser& chooser, Console& console);

/// "all-gather bcst prelaunch of 1MiB on 8 ranks of mi300x-8, in place"
std::string describe(const CollectiveRequest& request, const Program& program);

/// "32 commands, 32 signals, 32 doorbells, 1 trigger"; triggers and kernels only if there are any
std::string describe_counts(const ProgramCounts& counts);

}  // namespace cortado::cli
