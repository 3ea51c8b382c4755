#include "packet_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::cli {
namespace {

constexpr std::string_view kQueueMark = "# queue ";
constexpr std::string_view kSpace = " \t\r\v\f";

Diagnostic bad_input(const std::string& file, std::uint32_t line, std::string message, std::string hint) {
  Diagnostic diagnostic{"decode.input", std::move(message), std::move(hint)};
  diagnostic.place.file = file;
  diagnostic.place.line = line;
  return diagnostic;
}

Result<std::uint32_t> parse_word(std::string_view word, const std::string& file, std::uint32_t line) {
  std::string_view digits = word;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  if (const auto value = parse_number<std::uint32_t>(digits, 16)) return *value;
  return fail(bad_input(file, line, fmt::format("'{}' is not a 32-bit hexadecimal word", word.substr(0, 40)),
                        "write words like 0000002f or 0x2f; raw bytes need --binary"));
}

}  // namespace

std::string comment(std::string_view text) {
  std::string line = fmt::format("# {}", text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line + "\n";
}

std::string queue_comment(std::string_view queue) {
  return comment(fmt::format("queue {}", queue));
}

Result<std::vector<DwordStream>> parse_dwords(std::string_view text, const std::string& file) {
  std::vector<DwordStream> streams(1);
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with(kQueueMark)) {
      if (!streams.back().dwords.empty() || !streams.back().queue.empty()) streams.emplace_back();
      streams.back().queue = line.substr(kQueueMark.size());
      continue;
    }
    line = line.substr(0, line.find('#'));
    while (true) {
      line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
      if (line.empty()) break;
      const std::string_view word = line.substr(0, line.find_first_of(kSpace));
      CORTADO_ASSIGN_OR_RETURN(const std::uint32_t value, parse_word(word, file, number));
      streams.back().dwords.push_back(value);
      line.remove_prefix(word.size());
    }
  }
  return streams;
}

Result<std::vector<DwordStream>> parse_binary_dwords(std::string_view bytes, const std::string& file) {
  if (bytes.size() % 4 != 0) {
    return fail(bad_input(file, 0, fmt::format("{} bytes are not a whole number of dwords", bytes.size()),
                          "the file is truncated, or does not hold raw packets"));
  }
  std::vector<DwordStream> streams(1);
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    std::uint32_t value = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i + k])) << (8 * k);
    }
    streams.back().dwords.push_back(value);
  }
  return streams;
}

std::string format_dwords(std::span<const std::uint32_t> dwords, std::string_view indent) {
  constexpr std::size_t kPerLine = 16;
  std::string text;
  for (std::size_t i = 0; i < dwords.size(); ++i) {
    text += i % kPerLine == 0 ? std::string(indent) : " ";
    text += fmt::format("{:08x}", dwords[i]);
    if (i % kPerLine == kPerLine - 1 || i + 1 == dwords.size()) text += "\n";
  }
  return text;
}

}  // namespace cortado::cli
