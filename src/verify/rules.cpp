// The single list of rules.
#include <array>

#include "verify/rule.hpp"

namespace cortado::verifier {

// Each rule is defined in the file of the same name.
void check_ids(Subject& subject, Findings& findings);
void check_structure(Subject& subject, Findings& findings);
void check_bounds(Subject& subject, Findings& findings);
void check_tracker(Subject& subject, Findings& findings);
void check_machine(Subject& subject, Findings& findings);
void check_deadlock(Subject& subject, Findings& findings);
void check_units(Subject& subject, Findings& findings);
void check_equal_wait(Subject& subject, Findings& findings);
void check_race(Subject& subject, Findings& findings);
void check_contract(Subject& subject, Findings& findings);

std::span<const Rule> rules() {
  static const std::array all{
      Rule{"verify.ids",
           "every buffer, signal, queue and rank exists, and every command is on a queue that can run it",
           {},
           check_ids},
      Rule{"verify.structure",
           "queues are complete and submitted once; each signal is raised in one way; every rank has a caller",
           {"verify.ids"},
           check_structure},
      Rule{"verify.bounds", "regions lie inside their buffers and match each other", {"verify.ids"}, check_bounds},
      Rule{"verify.tracker",
           "every tracked byte gets exactly as many updates as its tracker counts, and nothing else writes it",
           {"verify.ids", "verify.structure", "verify.bounds"},
           check_tracker},
      Rule{"verify.machine",
           "packets, engines, links, rings and memory stay within the limits of the machine",
           {"verify.ids", "verify.structure", "verify.bounds"},
           check_machine,
           About::machine},
      Rule{"verify.deadlock",
           "two consecutive iterations run to completion",
           {"verify.ids", "verify.structure", "verify.bounds", "verify.tracker"},
           check_deadlock},
      Rule{"verify.units",
           "waiting tiles and kernels cannot hold all the compute units needed by what they wait for",
           {"verify.ids", "verify.structure", "verify.bounds", "verify.tracker", "verify.deadlock"},
           check_units},
      Rule{"verify.equal_wait",
           "no counter can pass the value that an equality wait needs",
           {"verify.ids", "verify.structure", "verify.bounds", "verify.tracker", "verify.deadlock"},
           check_equal_wait},
      Rule{"verify.race",
           "accesses to the same bytes are ordered, within an iteration, with the next one and with the caller",
           {"verify.ids", "verify.structure", "verify.bounds", "verify.tracker", "verify.deadlock"},
           check_race},
      Rule{"verify.contract",
           "every output byte is what the contract says, and every output is covered by the contract",
           {"verify.ids", "verify.structure", "verify.bounds", "verify.tracker", "verify.deadlock", "verify.race"},
           check_contract},
  };
  return all;
}

}  // namespace cortado::verifier
