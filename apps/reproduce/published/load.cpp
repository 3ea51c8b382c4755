#include <algorithm>

#include "reproduce/published/embedded.hpp"
#include "reproduce/published/published.hpp"
#include "reproduce/published/reader.hpp"

namespace cortado::published {

const Table* Publication::table(std::string_view wanted) const {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const Table& t) { return t.name == wanted; });
  return found == tables.end() ? nullptr : &*found;
}

const char* to_string(UsedFor used_for) {
  return used_for == UsedFor::calibration ? "calibration" : "validation";
}

std::vector<std::string> publication_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : internal::embedded_publications()) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

Result<Publication> load_publication(const std::string& wanted) {
  return load_from(internal::embedded_publications(), "", "is not a published result", wanted, parse_publication);
}

}  // namespace cortado::published
