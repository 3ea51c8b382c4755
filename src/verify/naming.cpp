#include "verify/naming.hpp"

#include <fmt/format.h>

namespace cortado::verifier {

Place place_of(const Program& program, QueueId queue) {
  Place place;
  place.rank = program.queue(queue).rank;
  place.queue = program.queue(queue).name;
  return place;
}

Place place_of(const Program& program, QueueId queue, std::size_t command) {
  Place place = place_of(program, queue);
  place.command = static_cast<std::uint32_t>(command);
  return place;
}

Place place_of_clause(std::size_t clause) {
  Place place;
  place.key = fmt::format("contract.clauses[{}]", clause);
  return place;
}

std::string where(const Program& program, QueueId queue, std::size_t command) {
  return to_string(place_of(program, queue, command));
}

std::string byte_range(const Program& program, BufferId buffer, std::uint64_t begin, std::uint64_t end) {
  return fmt::format("{}[{}, {})", program.buffer(buffer).name, begin, end);
}

}  // namespace cortado::verifier
