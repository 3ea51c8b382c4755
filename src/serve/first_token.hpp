// How long the first token of one request takes whose prefix is in host memory: what `cortado kv` tells of a request is
// what the simulator of serving says of the same request on an idle machine.
#pragma once

#include <cstdint>

#include "cortado/machine.hpp"
#include "cortado/target.hpp"

#include "pipeline/kv/study.hpp"

namespace cortado::serve {

/// The study of pipeline/kv, and the time to the first token of a prompt that is the prefix and one more token, alone
/// in an engine with the usual limits of a step. It stays empty where the engine has no room for the prompt.
Outcome<pipeline::KvReport> study_kv_request(const pipeline::KvStudyRequest& request, const Machine& machine,
                                             std::uint32_t threads = 1);

}  // namespace cortado::serve
