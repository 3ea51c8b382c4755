#include "moved.hpp"

#include <algorithm>

namespace cortado::cli {
namespace {

struct Moved {
  std::string_view command;  ///< empty: any
  std::string_view word;     ///< empty: the command itself
  std::string_view hint;
};

constexpr Moved kMoved[] = {
    {"encode", "", "use cortado packets FILE"},
    {"decode", "", "use cortado packets --decode FILE"},
    {"breakdown", "", "use cortado bench copy --phases --on sim"},
    {"compare", "", "use cortado run WHAT --on soft,sim"},
    {"simulate", "", "use cortado run WHAT --on sim"},
    {"explain", "",
     "use cortado plan COLLECTIVE --bytes SIZE --explain, or cortado overlap COLLECTIVE --gemm MxNxK --explain"},
    {"characterize", "", "use cortado overlap COLLECTIVE --gemm MxNxK --why, or cortado overlap COLLECTIVE --map"},
    {"what-if", "", "use cortado overlap COLLECTIVE --gemm MxNxK --with FEATURES"},
    {"plan", "ficco", "use cortado plan overlap COLLECTIVE --gemm MxNxK --strategy hetero-fused-1d"},
    {"plan", "t3", "use cortado plan overlap COLLECTIVE --gemm MxNxK --strategy t3"},
    {"list", "policies", "use cortado list strategies"},
    {"list", "schedules", "use cortado list strategies"},
    {"list", "systems", "use cortado list strategies"},
    {"list", "devices", "use cortado list targets"},
    {"", "--collective", "name it after the command, as in cortado overlap all-gather"},
    {"", "--schedule", "use --strategy"},
    {"", "--product-first", "use --gemm-first"},
    {"", "--iterations", "use --iters"},
    {"run", "--picture", "use --html"},
    {"sweep", "--picture", "use --html; its charts can be saved as SVG"},
    {"overlap", "--policy", "use --strategy"},
    {"overlap", "--dependent", "leave it out: it is the default unless --independent is given"},
    {"bench", "on", "use --prelaunch"},
    {"bench", "off", "use --no-prelaunch"},
    {"bench", "both", "leave it out: both is the default"},
    {"demo", "--on", "leave it out: the tour runs a fixed list of commands"},
    {"demo", "--bytes", "leave it out: the tour runs a fixed list of commands"},
};

std::optional<std::string> find_moved(std::string_view command, std::string_view word) {
  const auto* found = std::ranges::find_if(kMoved, [&](const Moved& moved) {
    return moved.word == word && (moved.command == command || moved.command.empty());
  });
  if (found == std::end(kMoved)) return {};
  return std::string(found->hint);
}

}  // namespace

std::optional<std::string> moved_command(std::string_view command) {
  return find_moved(command, "");
}

std::optional<std::string> moved_word(std::string_view command, std::string_view word) {
  return find_moved(command, word);
}

}  // namespace cortado::cli
