// loop: what a serving engine does that calls the runtime's asynchronous copy for every fragment.
#include "plan/kv/strategies.hpp"
#include "plan/kv/workbench.hpp"

namespace cortado::plan::kv {

Result<Program> plan_loop(const KvRequest& request, const Machine& machine) {
  return plan_single_queue("loop", request, machine, Submission::calls, true);
}

}  // namespace cortado::plan::kv
