// Whole-file reading and writing. A written file appears complete or not at all.
#pragma once

#include <string>
#include <string_view>

#include "cortado/base/result.hpp"
#include "cortado/base/units.hpp"

namespace cortado {

/// How large a file may be that is read into memory, by what it is.
struct SizeLimit {
  Bytes bytes;
  const char* what;  ///< "machine files"
};
inline constexpr SizeLimit kInputLimit{Bytes{1ULL << 30}, "inputs"};

/// Reads a file, or standard input for "-". One that is larger than the limit, or never ends, is refused (file.size).
Result<std::string> read_file(const std::string& path, const SizeLimit& limit = kInputLimit);

/// Writes to a temporary file beside `path`, flushes it, then renames it over `path`; on failure nothing is left
/// behind. An existing file keeps its mode and, as far as the system lets it, its owner. Of a symbolic link the target
/// is written, whether it exists or not.
Status write_file(const std::string& path, std::string_view content);

/// Removes the temporary file of a write_file() that is under way, for a process that is about to end. May be called by
/// a signal handler.
void remove_unfinished_file() noexcept;

}  // namespace cortado
