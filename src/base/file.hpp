// Whole-file reading and writing. A written file appears complete or not at all.
#pragma once

#include <string>
#include <string_view>

#include "cortado/result.hpp"

namespace cortado {

/// The largest file of a kind that may be read into memory.
struct SizeLimit {
  Bytes bytes;
  const char* what;  ///< "machine files"
};
inline constexpr SizeLimit kInputLimit{Bytes{1ULL << 30}, "inputs"};

/// Reads a file, or standard input for "-". A file that exceeds the limit, or never ends, is rejected (file.size).
Result<std::string> read_file(const std::string& path, const SizeLimit& limit = kInputLimit);

/// The target of a symbolic link, which need not exist; any other path unchanged.
Result<std::string> followed(const std::string& path);

/// Writes to a temporary file next to `path`, flushes it, then renames it over `path`; on failure nothing is left
/// behind. An existing file keeps its mode and, if the system allows it, its owner. A symbolic link stays: its target
/// is written, or created if it does not exist.
Status write_file(const std::string& path, std::string_view content);

/// Removes the temporary file of a write_file() in progress, for a process that is about to end. May be called from a
/// signal handler.
void remove_unfinished_file() noexcept;

}  // namespace cortado
