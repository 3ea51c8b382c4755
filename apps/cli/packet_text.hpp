// Text form of dwords: hexadecimal words separated by white space, with or without 0x; '#' starts a comment up to the
// end of the line. A comment "# queue NAME" starts a new stream, because the packets of two queues are two streams.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/result.hpp"

namespace cortado::cli {

struct DwordStream {
  std::string queue;  ///< empty if the text names none
  std::vector<std::uint32_t> dwords;
};

Result<std::vector<DwordStream>> parse_dwords(std::string_view text, const std::string& file);

/// Little-endian bytes.
Result<std::vector<DwordStream>> parse_binary_dwords(std::string_view bytes, const std::string& file);

/// "00000001 0000ffff ...", sixteen per line, with a newline after each line.
std::string format_dwords(std::span<const std::uint32_t> dwords, std::string_view indent = "");

/// The line that starts the stream of a queue, and any other comment line.
std::string queue_comment(std::string_view queue);
std::string comment(std::string_view text);

}  // namespace cortado::cli
