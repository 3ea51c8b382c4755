// What the registry knows about a variant: its names, requirements and options, and the function that plans it.
#pragma once

#include <optional>
#include <vector>

#include "cortado/plan.hpp"

#include "plan/collective/schedule.hpp"

namespace cortado::plan {

struct Variant {
  VariantInfo info;
  Result<Program> (*plan)(Schedule& schedule) = nullptr;
  bool (*has)(const Features& features) = nullptr;  ///< whether a machine has what the variant needs, if anything
  const char* needs = "";                           ///< description of that
  bool rooted = false;                              ///< uses CollectiveRequest::root
  bool paired = false;                              ///< uses CollectiveRequest::peer
  bool takes_ways = false;                          ///< uses CollectiveRequest::ways
  bool reduces = false;                             ///< works on elements of CollectiveRequest::dtype, not on bytes
  /// Consists of kernels of the machine's library, with this protocol (none: whichever the library chooses).
  std::optional<Protocol> library{};
  bool ring = false;  ///< goes only from rank r to rank r + 1 modulo N; on compute units in one part

  bool can_run_on(const Machine& machine) const { return has == nullptr || has(machine.features); }
};

/// Those of a collective, each in the file of its name.
std::vector<Variant> all_gather_variants();
std::vector<Variant> all_reduce_variants();
std::vector<Variant> all_to_all_variants();
std::vector<Variant> reduce_scatter_variants();
std::vector<Variant> rooted_variants();  ///< of broadcast, gather, scatter and point-to-point

/// What NCCL and RCCL run, including the variant `library`, which chooses among them.
std::vector<Variant> library_variants();

/// The variant that the request names; if there is none, an error with similar names.
Result<const Variant*> find_variant(const CollectiveRequest& request);

/// The request with its final number of ranks, or why this variant cannot do it on this machine.
Result<CollectiveRequest> check_request(const CollectiveRequest& request, const Variant& variant,
                                        const Machine& machine);

/// A program that can still be extended.
struct OpenProgram {
  Program program;
  std::vector<HostPlace> hosts;
};
/// `sends`: of an all-to-all.
Result<OpenProgram> plan_open(const CollectiveRequest& request, const Machine& machine, SendTable sends = {});

/// "use 512 or 1KiB": the multiples of `unit` around `bytes`.
std::string nearest_multiples(Bytes bytes, Bytes unit);

}  // namespace cortado::plan
