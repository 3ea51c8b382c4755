// batch: one runtime call with a list of copies (cuMemcpyBatchAsync, hipMemcpyBatchAsync).
#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {

Result<Program> plan_batch(const KvRequest& request, const Machine& machine) {
  return plan_single_queue("batch", request, machine, Submission::batch, false);
}

}  // namespace cortado::plan::kv
