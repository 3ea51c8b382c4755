// What programs of GEMMs and collectives are built with, whichever comes first: matrices, queues and GEMMs of every
// rank, and what they need.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "plan/collective/schedule.hpp"
#include "plan/ficco.hpp"
#include "plan/ficco/matrix.hpp"

namespace cortado::plan {

/// Staging memory is used alternately: for even and for odd steps.
inline constexpr std::uint32_t kTurns = 2;

/// Whether the output of a GEMM is overwritten or added to.
enum class Output { written, added_to };

/// The rank that stands for all. Nobody asks for its steps behind the one in which its GEMMs, each alone, have taken
/// `enough`.
struct OnlyRank {
  std::uint32_t rank = 0;
  Nanoseconds enough = kEndless;
};

/// From one rank to another.
struct Hop {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

class Bench {
 public:
  /// Request and schedule must have been checked; they and the machine must outlive the bench. `only`: the rank that
  /// stands for all.
  Bench(const DependentRequest& request, const FiccoSchedule& way, const Machine& machine,
        std::optional<OnlyRank> only);
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const GemmShape& gemm() const { return request_.gemm; }
  std::uint32_t ranks() const { return request_.ranks; }

  std::optional<std::uint32_t> only() const { return only_ ? std::optional(only_->rank) : std::nullopt; }
  /// Ranks that get commands: all, or the one that stands for them.
  std::vector<std::uint32_t> made_ranks() const;
  /// Ranks whose pieces the planned ranks receive. For one that stands for all: the nearest before it first, in the
  /// order in which it opens the queues that stand for theirs.
  std::vector<std::uint32_t> senders() const;
  /// All other ranks, in the order in which their pieces arrive: the nearest before this one first.
  std::vector<std::uint32_t> senders_to(std::uint32_t rank) const;
  bool is_made(std::uint32_t rank) const { return !only_ || rank == only_->rank; }
  /// The hop itself, or the equally long one that starts at the rank that stands for all.
  Hop made_hop(const Hop& hop) const;
  Bytes bytes(std::uint64_t elements) const { return size_of(request_.gemm.dtype) * elements; }
  /// Columns in bytes, as a matrix counts them.
  Span in_bytes(const Span& columns) const { return {bytes(columns.begin).value, bytes(columns.count).value}; }
  /// rank+1, rank+2, ... modulo the number of ranks
  std::vector<RankId> peers(std::uint32_t rank) const { return schedule_.peers_after(RankId{rank}); }

  Matrix matrix(std::string_view kind, std::uint32_t rank, std::uint64_t rows, std::uint64_t columns, BufferRole role);
  /// Scratch memory that is needed only because of the cutting.
  Matrix staging(std::string_view kind, std::uint32_t rank, std::uint64_t rows, std::uint64_t columns);

  Schedule& schedule() { return schedule_; }
  Lane& kernels(std::uint32_t rank) { return kernels_[rank]; }

  /// A GEMM on the kernels of a rank; the regions determine its shape.
  void multiply(std::uint32_t rank, const Region& a, const Region& b, const Region& c, Output output = Output::written);

  /// One kernel for all rows of A, whose tiles are produced in the order of these blocks.
  Gemm ordered_gemm(const Region& a, const Region& b, std::vector<OutputBlock> blocks);
  void multiply(std::uint32_t rank, Gemm gemm) { kernels_[rank].multiply(std::move(gemm)); }

  /// Time of a GEMM that `multiply` would create, alone on the GPU; in ns, including the start of its kernel.
  double time_of(const GemmShape& shape);

  /// Steps that follow need not be made.
  bool has_enough() const { return has_enough_; }

  /// `contract` is called only for a program of all ranks.
  template <class MakeContract>
  Result<FiccoPlan> finish(std::uint32_t steps, MakeContract contract) {
    return finish(only_ ? Contract{} : contract(), steps);
  }

 private:
  struct Piece {
    Tiling tiling{};
    std::optional<double> nanoseconds{};  // once it was asked for
  };

  Piece& piece(const GemmShape& shape);
  Result<FiccoPlan> finish(Contract contract, std::uint32_t steps);

  const DependentRequest& request_;
  const FiccoSchedule& way_;
  const Machine& machine_;
  const std::optional<OnlyRank> only_;
  Schedule schedule_;
  std::vector<Lane> kernels_;
  std::vector<Bytes> memory_;
  std::vector<Bytes> staging_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, bool>, Piece> pieces_;  // by m, n, k, added to
  double multiplied_ = 0;  // nanoseconds, of the rank that stands for all
  bool has_enough_ = false;
};

}  // namespace cortado::plan
