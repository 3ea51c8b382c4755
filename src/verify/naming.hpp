// How messages name the things of a program.
#pragma once

#include <string>

#include "cortado/base/result.hpp"
#include "cortado/ir/program.hpp"

namespace cortado::verifier {

Place place_of(const Program& program, QueueId queue);
Place place_of(const Program& program, QueueId queue, std::size_t command);
Place place_of_clause(std::size_t clause);

/// "rank 0, queue dma0.14, command 2"
std::string where(const Program& program, QueueId queue, std::size_t command);

/// "in0[64, 128)": bytes of a buffer from the first to the one behind the last.
std::string byte_range(const Program& program, BufferId buffer, std::uint64_t begin, std::uint64_t end);

}  // namespace cortado::verifier
