#include "verify/naming.hpp"

#include <fmt/format.h>

namespace cortado::verifier {

Spot::operator Place() const {
  Place place;
  if (program_ == nullptr) {
    place.key = fmt::format("contract.{}[{}]", list_, *index_);
  } else {
    place.rank = program_->queue(queue_).rank;
    place.queue = program_->queue(queue_).name;
    place.command = index_;
  }
  return place;
}

std::string where(const Program& program, QueueId queue, std::size_t command) {
  return to_string(Place(Spot(program, queue, command)));
}

std::string byte_range(const Program& program, BufferId buffer, std::uint64_t begin, std::uint64_t end) {
  return fmt::format("{}[{}, {})", program.buffer(buffer).name, begin, end);
}

}  // namespace cortado::verifier
