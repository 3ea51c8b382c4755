// Flags that describe a collective, as requests of one plan, of a choice and of a sweep.
#pragma once

#include <optional>
#include <string>

#include "cortado/collective.hpp"
#include "cortado/result.hpp"

#include "arguments.hpp"
#include "console.hpp"
#include "pipeline/bench.hpp"
#include "pipeline/choose.hpp"
#include "plan/choose.hpp"

namespace cortado::cli {

/// --planner, or --variant, or the fallback.
std::string asked_variant(const Arguments& arguments, std::string_view fallback);

/// One plan; in_place is chosen where nobody said. The variant may be kAutoVariant.
Result<CollectiveRequest> collective_request(const Arguments& arguments, const std::string& collective,
                                             const std::string& variant);

/// What is left open in such a request.
ChoiceRequest choice_request(const Arguments& arguments, const CollectiveRequest& request);
pipeline::ChooserOptions chooser_options(const Arguments& arguments);

/// The request with the variant that is predicted to be fastest in place of kAutoVariant; the console says which.
Result<CollectiveRequest> settled(const CollectiveRequest& request, const Arguments& arguments, const Machine& machine,
                                  Console& console);

/// Variants, sizes and kinds of launch. Refuses names and sizes that are not known.
Result<pipeline::BenchRequest> sweep_request(const Arguments& arguments, const std::string& collective,
                                             const std::string& variants, const std::string& sizes);

/// Whether one of several variants is to be chosen.
bool leaves_open(const std::string& variants);

/// Keeps what the chooser has simulated; a cache that cannot be written is mentioned and nothing else.
void keep_times(pipeline::Chooser& chooser, Console& console);

/// "all-gather bcst prelaunch of 1MiB on 8 ranks of mi300x-8, in place"
std::string describe(const CollectiveRequest& request, const Program& program);

/// "32 commands, 32 signals, 32 doorbells, 1 trigger"; triggers and kernels only where there are any
std::string describe_counts(const ProgramCounts& counts);

}  // namespace cortado::cli
