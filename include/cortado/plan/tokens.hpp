// Rows from every rank to every rank: what an all-to-all moves where experts are not equally popular.
//
// As a file, one line a sender, one number a receiver, its own included, separated by commas or blanks; empty lines and
// what follows a # do not count:
//
//   # rows of rank 0 for ranks 0, 1 and 2
//   40, 8, 0
//   12,20,16
//    0,16,32
//
// As shares of the receivers, "3:1:1:1": every sender has the same number of rows, as far as that is possible, and
// divides them so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/base/result.hpp"

namespace cortado {

/// [from][to]
using TokenTable = std::vector<std::vector<std::uint64_t>>;

/// The text of a file, whose name goes into errors with the line (ficco.tokens). As many numbers in every line as there
/// are lines.
Result<TokenTable> parse_tokens(std::string_view text, const std::string& file);

/// Whether this is how shares are written, right or wrong: with colons.
bool looks_like_shares(std::string_view text);

/// `rows` in all, by shares as above. Refuses what is no list of shares, or shares that are all zero (ficco.tokens).
Result<TokenTable> tokens_by_shares(std::string_view shares, std::uint64_t rows);

}  // namespace cortado
