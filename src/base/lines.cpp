#include "base/lines.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado {

Status LineReader::add(std::string& line, const char* text, std::size_t size) {
  line.append(text, size);
  bytes_ += size;
  const bool long_line = line.size() > limits_.line.bytes.value;
  if (!long_line && bytes_ <= limits_.file.bytes.value) return {};
  const SizeLimit& limit = long_line ? limits_.line : limits_.file;
  Diagnostic error{"file.size", fmt::format("larger than {}, the limit for {}", format_bytes(limit.bytes), limit.what),
                   "check that it is the right file"};
  error.place.file = path_;
  if (long_line) error.place.line = number_;
  return fail(std::move(error));
}

Result<bool> LineReader::next(std::string& line) {
  line.clear();
  if (!in_) return false;
  ++number_;
  std::array<char, 4096> part{};
  while (true) {
    in_.getline(part.data(), part.size());
    const auto count = static_cast<std::size_t>(in_.gcount());
    if (in_.bad()) return false;
    if (in_.good()) {  // the end of the line was read, too
      CORTADO_RETURN_IF_ERROR(add(line, part.data(), count - 1));
      return true;
    }
    CORTADO_RETURN_IF_ERROR(add(line, part.data(), count));
    if (in_.eof()) return !line.empty();
    in_.clear();  // the part is full
  }
}

}  // namespace cortado
