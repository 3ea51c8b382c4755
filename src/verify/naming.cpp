#include "verify/naming.hpp"

#include <fmt/format.h>

#include "cortado/program.hpp"

namespace cortado::verifier {

Spot Spot::tracker(const Program& program, std::size_t index) {
  Spot spot("trackers", index);
  const std::uint32_t buffer = program.trackers[index].region.buffer.value;
  if (buffer < program.buffers.size()) spot.rank_ = program.buffers[buffer].rank;
  return spot;
}

Spot::operator Place() const {
  Place place;
  if (program_ == nullptr) {
    place.rank = rank_;
    place.key = fmt::format("{}[{}]", list_, *index_);
  } else {
    place.rank = program_->queue(queue_).rank;
    place.queue = program_->queue(queue_).name;
    place.command = index_;
  }
  return place;
}

std::string tracker_name(const Program& program, std::size_t index) {
  const Tracker& tracker = program.trackers[index];
  return fmt::format("tracker {} ({} of rank {})", tracker.name, to_string(program, tracker.region),
                     program.buffer(tracker.region.buffer).rank.value);
}

std::string block_name(const Gemm& gemm, std::size_t block) {
  const OutputBlock& b = gemm.outputs[block];
  return fmt::format("block {} (rows {} to {}, columns {} to {})", block, b.row, b.row + b.rows, b.column,
                     b.column + b.columns);
}

std::string where(const Program& program, QueueId queue, std::size_t command) {
  return to_string(Place(Spot(program, queue, command)));
}

std::string byte_range(const Program& program, BufferId buffer, std::uint64_t begin, std::uint64_t end) {
  return fmt::format("{}[{}, {})", program.buffer(buffer).name, begin, end);
}

}  // namespace cortado::verifier
