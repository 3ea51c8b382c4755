#include "explore/page.hpp"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::explore {

Result<Page> read_bundle(std::string_view bundle) {
  Page page;
  while (!bundle.empty()) {
    const std::size_t end = bundle.find('\n');
    const std::vector<std::string> head = split(std::string(bundle.substr(0, end)), ' ');
    const auto bytes = head.size() == 3 ? parse_number<std::uint64_t>(head[2]) : std::nullopt;
    if (end == std::string_view::npos || !bytes || *bytes > bundle.size() - end - 1) {
      return fail("explore.page", "the page inside this program is damaged", "rebuild it: tools/build_web");
    }
    const std::string_view type = bundle.substr(head[0].size() + 1, head[1].size());
    page[head[0]] = {type, bundle.substr(end + 1, static_cast<std::size_t>(*bytes))};
    bundle.remove_prefix(end + 1 + static_cast<std::size_t>(*bytes));
  }
  if (!page.contains("/index.html")) {
    return fail("explore.page", "this program was built without the explorer's page",
                "./run explore builds it; it needs npm and clang-22");
  }
  return page;
}

}  // namespace cortado::explore
