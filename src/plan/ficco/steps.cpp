#include "plan/ficco/steps.hpp"

namespace cortado::plan {
namespace {

// Strided copies count in elements of at most this many bytes.
constexpr std::uint64_t kLargestElement = 16;

std::uint32_t count_of(const FiccoSchedule& schedule, std::uint32_t ranks) {
  switch (schedule.grain) {
    case Grain::whole:
      return 1;
    case Grain::shards:
      return ranks - 1;
    case Grain::chunks:
    case Grain::tiles:
    case Grain::waves:
      break;
  }
  return schedule.chunks;
}

}  // namespace

std::uint64_t panel_unit(std::uint64_t columns, Bytes element) {
  const std::uint64_t row = (columns * element.value) | kLargestElement;
  const std::uint64_t aligned = row & (~row + 1);  // the largest power of two that divides a row
  return aligned / element.value;
}

Steps::Steps(const Exchange& exchange, std::uint64_t columns, Bytes element, const FiccoSchedule& schedule)
    : exchange_(exchange),
      schedule_(schedule),
      columns_(columns),
      unit_(panel_unit(columns, element)),
      count_(count_of(schedule, exchange.ranks())),
      with_own_(schedule.grain == Grain::whole || (schedule.grain == Grain::chunks && schedule.uniform)) {}

Piece Steps::piece(std::uint32_t step, std::uint32_t from, std::uint32_t to) const {
  Piece piece{from, to, exchange_.given(from, to), exchange_.placed(from, to), {0, columns_}};
  if (schedule_.grain == Grain::shards && (from + step + 1) % exchange_.ranks() != to) {
    piece.given.count = piece.placed.count = 0;
  }
  if (schedule_.grain == Grain::whole || schedule_.grain == Grain::shards) return piece;
  if (schedule_.shape == CommShape::panels_2d) {
    piece.columns = part_of(piece.columns, count_, step, unit_);
  } else {
    piece.given = part_of(piece.given, count_, step);
    piece.placed = part_of(piece.placed, count_, step);
  }
  return piece;
}

Pieces Steps::pieces(std::uint32_t step, std::uint32_t from, const std::vector<RankId>& to) const {
  Pieces all;
  all.reserve(to.size());
  for (const RankId receiver : to) add(piece(step, from, receiver.value), all);
  return all;
}

Piece Steps::own(std::uint32_t rank) const {
  return {rank, rank, exchange_.given(rank, rank), exchange_.placed(rank, rank), {0, columns_}};
}

std::vector<Piece> Steps::received(std::uint32_t step, std::uint32_t to) const {
  std::vector<Piece> all;
  all.reserve(exchange_.ranks());
  for (std::uint32_t from = 0; from < exchange_.ranks(); ++from) add(piece(step, from, to), all);
  return all;
}

std::vector<Piece> Steps::given(std::uint32_t step, std::uint32_t from) const {
  std::vector<Piece> all;
  all.reserve(exchange_.ranks());
  for (std::uint32_t to = 0; to < exchange_.ranks(); ++to) add(piece(step, from, to), all);
  return all;
}

std::uint64_t Steps::received_before(std::uint32_t step, const Piece& before) const {
  std::uint64_t rows = 0;
  for (std::uint32_t from = 0; from < before.from; ++from) {
    if (const Piece above = piece(step, from, before.to); counts(above)) rows += above.rows();
  }
  return rows;
}

std::uint64_t Steps::given_before(std::uint32_t step, const Piece& before) const {
  std::uint64_t rows = 0;
  for (std::uint32_t to = 0; to < before.to; ++to) {
    if (const Piece above = piece(step, before.from, to); counts(above)) rows += above.rows();
  }
  return rows;
}

}  // namespace cortado::plan
