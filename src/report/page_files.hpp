// What is embedded in pages: "style", web/src/style.css; "script", web/src/page as one script, empty if the build left
// it out; and "about", the script's hash in the form of a Content-Security-Policy, or why it was left out.
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace cortado::report {

std::span<const std::pair<std::string_view, std::string_view>> page_files();

}  // namespace cortado::report
