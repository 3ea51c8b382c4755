// Time to the first token of one request whose prefix is in host memory: `cortado kv` reports for a request what the
// serving simulator says about the same request on an idle machine.
#pragma once

#include <cstdint>

#include "cortado/machine.hpp"
#include "cortado/target.hpp"

#include "pipeline/kv/study.hpp"

namespace cortado::serve {

/// The study of pipeline/kv with an engine that has the usual limits of a step. Its request is a prompt that consists
/// of the prefix and one more token, alone.
Outcome<pipeline::KvReport> study_kv_request(const pipeline::KvStudyRequest& request, const Machine& machine,
                                             std::uint32_t threads = 1);

}  // namespace cortado::serve
