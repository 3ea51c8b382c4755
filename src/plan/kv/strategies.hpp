// Every strategy of KV transfers; the list is in strategies.cpp.
#pragma once

#include "plan/kv.hpp"

namespace cortado::plan::kv {

Result<Program> plan_loop(const KvRequest& request, const Machine& machine);
Result<Program> plan_batch(const KvRequest& request, const Machine& machine);
Result<Program> plan_b2b(const KvRequest& request, const Machine& machine);
Result<Program> plan_b2b_prelaunch(const KvRequest& request, const Machine& machine);
Result<Program> plan_b2b_list(const KvRequest& request, const Machine& machine);
Result<Program> plan_b2b_device(const KvRequest& request, const Machine& machine);
Result<Program> plan_b2b_layers(const KvRequest& request, const Machine& machine);
Result<Program> plan_bcst(const KvRequest& request, const Machine& machine);
Result<Program> plan_mcast(const KvRequest& request, const Machine& machine);
Result<Program> plan_shard_gather(const KvRequest& request, const Machine& machine);
Result<Program> plan_kernel(const KvRequest& request, const Machine& machine);

}  // namespace cortado::plan::kv
