// For every rank:
//
//   kernels   the one GEMM, block by block as the map lists its chunks
//   engines   a queue towards every rank that pieces are passed on to, submitted in advance: for every piece, wait for
//             its tracker, then copy
//   host      waits for the trackers of what is final, then for kernels and engines
//
// The barrier of the hosts before an iteration is enough for replay, although engines are submitted before it: they
// wait for trackers, and nothing is stored before a GEMM has started after the barrier. The host does not end before
// everything that its rank receives has arrived: engines wait for what they pass on, and the host for what is final.
#include "cortado/program.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "plan/t3.hpp"
#include "plan/t3/request.hpp"
#include "plan/t3/slots.hpp"

namespace cortado {
namespace plan {
namespace {

class T3Program {
 public:
  T3Program(const CheckedT3& checked, const Machine& machine)
      : checked_(checked),
        machine_(machine),
        chunks_(checked.request.gemm, checked.request.axis, checked.maps.front().chunks(), checked.tiling.tile_m),
        schedule_({.collective = checked.request.collective,
                   .variant = "t3",
                   .ranks = checked.request.ranks,
                   .host = HostThreads::per_rank},
                  machine),
        operands_(operands()),
        slots_(checked, chunks_, schedule_) {
    schedule_.omit_exit_barrier();
    schedule_.submit_engines_ahead();
    for (std::uint32_t rank = 0; rank < checked.request.ranks; ++rank) {
      multiply(rank);
      track(rank);
    }
  }

  Result<T3Plan> finish() {
    const T3Request& request = checked_.request;
    T3Plan plan{{},           schedule_.footprint(), request.algorithm, chunks_.count(),
                most_pieces_, request.axis,          checked_.tiling};
    if (plan.footprint > machine_.memory_bytes) {
      return fail(About::machine, "t3.memory",
                  fmt::format("{} with its {} needs {} of memory on a GPU; {} has {} per GPU", to_string(request.gemm),
                              request.collective, readable_bytes(plan.footprint), machine_.name,
                              readable_bytes(machine_.memory_bytes)),
                  "use fewer rows or columns");
    }
    CORTADO_RETURN_IF_ERROR(check_entries());
    CORTADO_ASSIGN_OR_RETURN(plan.program, schedule_.finish(contract()));
    plan.program.name = fmt::format("{} -> {}, t3 {}", to_string(request.gemm), request.collective, request.algorithm);
    return plan;
  }

 private:
  struct Operands {
    Matrix a;
    Matrix b;
  };

  /// A piece that is passed on when its tracker fires.
  struct Passed {
    std::uint64_t turn = 0;   // within the queue; own pieces come first
    std::uint64_t relay = 0;  // 0: an own piece
    SignalId complete{};
    Region piece{};
    std::vector<std::pair<DmaOperation, Region>> to{};
  };

  Bytes bytes(std::uint64_t elements) const { return size_of(checked_.request.gemm.dtype) * elements; }

  std::vector<Operands> operands() {
    const GemmShape& gemm = checked_.request.gemm;
    std::vector<Operands> all;
    const auto matrix = [&](const char* kind, RankId rank, std::uint64_t rows, std::uint64_t columns) {
      const Bytes pitch = bytes(columns);
      return Matrix{schedule_.buffer(kind, rank, pitch * rows, BufferRole::input).buffer, {}, pitch};
    };
    for (const RankId rank : schedule_.ranks()) {
      all.push_back({matrix("a", rank, gemm.m, gemm.k), matrix("b", rank, gemm.k, gemm.n)});
    }
    return all;
  }

  Region rows_of(std::uint32_t rank, std::uint32_t slot, std::uint32_t chunk, const Span& rows) const {
    return slots_.matrix(rank, slot, chunk).rows(rows);
  }

  /// The same bytes as one row: chunks have no gaps.
  static Region flat(const Region& rows) { return make_region(rows.buffer, rows.offset, rows.bytes()); }

  void multiply(std::uint32_t rank) {
    const GemmShape& shape = checked_.request.gemm;
    const Operands& operands = operands_[rank];
    Gemm gemm = gemm_command(shape, checked_.tiling, operands.a.rows({0, shape.m}), operands.b.rows({0, shape.k}), {});
    const T3Map& map = checked_.maps[rank];
    bool more = true;
    for (std::size_t turn = 0; more; ++turn) {
      more = false;
      for (const T3Entry& entry : map.entries()) {
        if (!entry.produced) continue;
        const std::vector<Span> blocks =
            map.are_in_turns() ? pieces(entry) : std::vector{Span{0, chunks_.rows(entry.chunk).count}};
        if (turn < blocks.size()) gemm.outputs.push_back(block(rank, entry, blocks[turn]));
        more = more || turn + 1 < blocks.size();
      }
    }
    schedule_.compute_lane(RankId{rank}).multiply(std::move(gemm));
  }

  /// `rows` are counted from the first of the chunk.
  OutputBlock block(std::uint32_t rank, const T3Entry& entry, const Span& rows) const {
    const Span columns = chunks_.columns(entry.chunk);
    const std::uint32_t owner = entry.remote ? entry.remote->value : rank;
    return {chunks_.rows(entry.chunk).begin + rows.begin,  columns.begin, rows.count, columns.count,
            rows_of(owner, entry.slot, entry.chunk, rows), entry.op};
  }

  /// A chunk that is stored on another rank all at once arrives before that rank has computed its own part of it: all
  /// of its trackers must be open at the same time, or every rank waits for entries of the next one.
  Status check_entries() const {
    const TrackerLimits& limits = *machine_.features.tracker;
    for (std::uint32_t rank = 0; rank < checked_.request.ranks; ++rank) {
      if (checked_.maps[rank].are_in_turns()) continue;
      for (const T3Entry& entry : checked_.maps[rank].entries()) {
        if (!entry.remote) continue;
        std::uint64_t needed = 0;
        for (const Span& rows : pieces(entry)) {
          needed += limits.entries_for(chunks_.row_bytes(entry.chunk) * rows.count);
        }
        if (needed <= limits.entries) continue;
        return fail("t3.entries",
                    fmt::format("chunk {} of rank {}, {}, needs {} tracker entries on rank {} before that rank "
                                "produces its own part; {} has {}",
                                entry.chunk, rank, format_bytes(chunks_.bytes(entry.chunk)), needed,
                                entry.remote->value, machine_.name, limits.entries),
                    "use fewer rows or columns, more ranks, or a machine with more entries");
      }
    }
    return {};
  }

  std::vector<Span> pieces(const T3Entry& entry) const {
    std::uint64_t wanted = checked_.request.pieces;
    if (wanted == 0) wanted = chunks_.fitting_pieces(entry.chunk, machine_.features.tracker->granularity);
    return chunks_.pieces(entry.chunk, entry.pieces.value_or(wanted));
  }

  void track(std::uint32_t rank) {
    std::vector<Passed> passed;
    std::uint64_t own_turns = 0;
    std::uint64_t relays = 0;
    for (const T3Entry& entry : checked_.maps[rank].entries()) {
      if (entry.remote) continue;
      const std::vector<Span> rows = pieces(entry);
      most_pieces_ = std::max<std::uint64_t>(most_pieces_, rows.size());
      if (entry.dma.empty()) {
        complete_here(rank, entry, rows);
        continue;
      }
      if (!entry.produced) ++relays;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        Passed& piece = passed.emplace_back(pass_on(rank, entry, i, rows[i]));
        piece.relay = entry.produced ? 0 : relays;
        piece.turn = entry.produced ? own_turns++ : i + relays;
      }
    }
    queue_up(rank, std::move(passed));
  }

  Region watch(std::uint32_t rank, const T3Entry& entry, std::size_t index, const Span& rows, SignalId signal) {
    const Region piece = flat(rows_of(rank, entry.slot, entry.chunk, rows));
    schedule_.track({fmt::format("chunk{}.piece{}.rank{}", entry.slot, index, rank), piece, entry.updates, signal});
    return piece;
  }

  void complete_here(std::uint32_t rank, const T3Entry& entry, const std::vector<Span>& rows) {
    const SignalId complete = schedule_.signal(fmt::format("chunk{}.rank{}.complete", entry.slot, rank));
    for (std::size_t i = 0; i < rows.size(); ++i) watch(rank, entry, i, rows[i], complete);
    schedule_.await(RankId{rank}, complete, rows.size());
  }

  Passed pass_on(std::uint32_t rank, const T3Entry& entry, std::size_t index, const Span& rows) {
    Passed piece;
    piece.complete =
        schedule_.signal(fmt::format("chunk{}.piece{}.rank{}.complete", entry.slot, index, rank), RankId{rank});
    piece.piece = watch(rank, entry, index, rows, piece.complete);
    for (const DmaOperation& dma : entry.dma) {
      piece.to.emplace_back(dma, flat(rows_of(dma.to.value, dma.slot.value_or(entry.slot), entry.chunk, rows)));
    }
    return piece;
  }

  /// Own pieces as they are computed; relay i of a piece when i more of them have been computed.
  void queue_up(std::uint32_t rank, std::vector<Passed> passed) {
    std::stable_sort(passed.begin(), passed.end(), [](const Passed& a, const Passed& b) {
      return std::pair{a.turn, a.relay} < std::pair{b.turn, b.relay};
    });
    std::map<RankId, Lane> lanes;
    for (const Passed& piece : passed) {
      for (const auto& [dma, region] : piece.to) {
        if (!lanes.contains(dma.to)) lanes.emplace(dma.to, schedule_.lane_towards(RankId{rank}, dma.to));
        Lane& lane = lanes.at(dma.to);
        lane.wait(piece.complete);
        if (dma.op == CopyOp::add) {
          lane.add(piece.piece, region, checked_.request.gemm.dtype);
        } else {
          lane.copy(piece.piece, region);
        }
      }
    }
  }

  Contract contract() const {
    const T3Request& request = checked_.request;
    Contract contract{fmt::format("product -> {}", request.collective), {}};
    for (std::uint32_t rank = 0; rank < request.ranks; ++rank) {
      for (const FinalSlot& final : final_slots(request, rank)) {
        const Span rows = chunks_.rows(final.chunk);
        const Span columns = chunks_.columns(final.chunk);
        ProductClause clause{rows_of(rank, final.slot, final.chunk, {0, rows.count}), {}, request.gemm.dtype};
        for (const std::uint32_t from : final.from) {
          const Region b =
              operands_[from].b.part({0, request.gemm.k}, {bytes(columns.begin).value, bytes(columns.count).value});
          clause.products.push_back({{operands_[from].a.rows(rows)}, b});
        }
        contract.products.push_back(std::move(clause));
      }
    }
    return contract;
  }

  const CheckedT3& checked_;
  const Machine& machine_;
  const Chunks chunks_;
  Schedule schedule_;
  const std::vector<Operands> operands_;
  const Slots slots_;
  std::uint64_t most_pieces_ = 0;
};

}  // namespace
}  // namespace plan

Result<T3Plan> plan_t3(const T3Request& request, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const plan::CheckedT3 checked, plan::check_t3(request, machine));
  return plan::T3Program(checked, machine).finish();
}

Result<T3Plan> plan_t3(const T3Request& request, const std::vector<T3Map>& maps, const Machine& machine) {
  CORTADO_ASSIGN_OR_RETURN(const plan::CheckedT3 checked, plan::check_t3(request, maps, machine));
  return plan::T3Program(checked, machine).finish();
}

}  // namespace cortado
