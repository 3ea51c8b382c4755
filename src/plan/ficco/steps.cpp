#include "plan/ficco/steps.hpp"

namespace cortado::plan {
namespace {

// Strided copies count in elements of at most so many bytes.
constexpr std::uint64_t kLargestElement = 16;

std::uint32_t count_of(const FiccoSchedule& schedule, std::uint32_t ranks) {
  switch (schedule.grain) {
    case Grain::whole:
      return 1;
    case Grain::shards:
      return ranks - 1;
    case Grain::chunks:
      break;
  }
  return schedule.chunks;
}

}  // namespace

std::uint64_t panel_unit(const GemmShape& gemm) {
  const std::uint64_t element = size_of(gemm.dtype).value;
  const std::uint64_t row = (gemm.k * element) | kLargestElement;
  const std::uint64_t aligned = row & (~row + 1);  // the largest power of two that divides a row
  return aligned / element;
}

Steps::Steps(const Exchange& exchange, const GemmShape& gemm, const FiccoSchedule& schedule)
    : exchange_(exchange),
      schedule_(schedule),
      k_(gemm.k),
      unit_(panel_unit(gemm)),
      count_(count_of(schedule, exchange.ranks())),
      with_own_(schedule.grain == Grain::whole || (schedule.grain == Grain::chunks && schedule.uniform)) {}

Piece Steps::piece(std::uint32_t step, std::uint32_t from, std::uint32_t to) const {
  Piece piece{from, exchange_.given(from, to), exchange_.placed(from, to), {0, k_}};
  if (schedule_.grain == Grain::shards && (from + step + 1) % exchange_.ranks() != to) {
    piece.given.count = piece.placed.count = 0;
  }
  if (schedule_.grain != Grain::chunks) return piece;
  if (schedule_.shape == CommShape::panels_2d) {
    piece.columns = part_of(piece.columns, count_, step, unit_);
  } else {
    piece.given = part_of(piece.given, count_, step);
    piece.placed = part_of(piece.placed, count_, step);
  }
  return piece;
}

Piece Steps::own(std::uint32_t rank) const {
  return {rank, exchange_.given(rank, rank), exchange_.placed(rank, rank), {0, k_}};
}

std::vector<Piece> Steps::pieces(std::uint32_t step, std::uint32_t to) const {
  std::vector<Piece> all;
  for (std::uint32_t from = 0; from < exchange_.ranks(); ++from) {
    if (from == to && !with_own_) continue;
    if (const Piece one = piece(step, from, to); !one.empty()) all.push_back(one);
  }
  return all;
}

}  // namespace cortado::plan
