// Whole-file reading and writing. A written file appears complete or not at all.
#pragma once

#include <string>
#include <string_view>

#include "cortado/base/result.hpp"

namespace cortado {

/// Reads a file, or standard input for "-".
Result<std::string> read_file(const std::string& path);

/// Writes to a temporary file beside `path`, flushes it, then renames it over `path`; on failure nothing is left
/// behind.
Status write_file(const std::string& path, std::string_view content);

/// Removes the temporary file of a write_file() that is under way, for a process that is about to end. May be called by
/// a signal handler.
void remove_unfinished_file() noexcept;

}  // namespace cortado
