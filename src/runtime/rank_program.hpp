// What one rank does in a proved program: its host queue and its stream, as a list of steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "runtime/pull_program.hpp"

namespace cortado::runtime {

/// A byte of a buffer that a rank has named in its call.
struct Place {
  std::uint32_t rank = 0;
  bool received = false;  ///< in the buffer that it receives into, otherwise in the one that it sends
  std::uint64_t offset = 0;
};

struct Step {
  enum class Kind : std::uint8_t { copy, reduce, raise, wait };
  Kind kind = Kind::copy;
  std::uint32_t signal = 0;      ///< raise, wait: which of the rank's
  std::uint32_t rank = 0;        ///< wait: whose signal
  std::vector<Place> sources{};  ///< copy: one; reduce: combined in this order
  std::uint64_t to = 0;          ///< offset in what this rank receives
  std::uint64_t bytes = 0;
};

/// The steps of one rank. The barrier at the start is left out: with it the ranks tell each other their calls, and
/// thereby the addresses of the buffers, before any of them runs the program (Team::meet).
std::vector<Step> steps_of(const VerifiedProgram& program, std::uint32_t rank);

/// Programs that were planned and proved for this rank.
class RankPrograms {
 public:
  explicit RankPrograms(std::uint32_t rank) : rank_(rank) {}

  /// The steps for this request, planned and proved if it is the first of its kind.
  Result<const std::vector<Step>*> find(const PullRequest& request);
  std::uint64_t proved() const { return proved_; }

 private:
  std::uint32_t rank_;
  std::optional<Machine> machine_;
  std::map<PullRequest, std::vector<Step>> programs_;
  std::uint64_t proved_ = 0;
};

}  // namespace cortado::runtime
