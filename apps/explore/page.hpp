// The files of the explorer's page, compressed, inside this program.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cortado/result.hpp"

namespace cortado::explore {

struct PageFile {
  std::string_view type;     ///< for the header Content-Type
  std::string_view content;  ///< as gzip wrote it
};

/// By path, including "/index.html".
using Page = std::map<std::string, PageFile, std::less<>>;

/// A bundle has, for every file, a line "PATH TYPE BYTES" and then that many bytes. The page refers to its memory.
Result<Page> read_bundle(std::string_view bundle);

/// The one that was linked in; empty if the page was not built.
std::string_view linked_bundle();

}  // namespace cortado::explore
