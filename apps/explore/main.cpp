// cortado-explore PORT: what `cortado explore` starts. A separate program, so that cortado does not load an HTTP
// library.
#include <cstdint>
#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "base/text.hpp"
#include "explore/page.hpp"
#include "explore/server.hpp"

namespace {

constexpr int kUsage = 2;

cortado::Status run(const char* text) {
  using namespace cortado;
  const auto port = parse_number<std::uint64_t>(text);
  if (!port || *port > std::numeric_limits<std::uint16_t>::max()) {
    return fail("explore.port", fmt::format("'{}' is not a port", text), "use a number from 0 to 65535");
  }
  CORTADO_ASSIGN_OR_RETURN(const explore::Page page, explore::read_bundle(explore::linked_bundle()));
  explore::PageServer server(page);
  CORTADO_ASSIGN_OR_RETURN(const std::uint16_t taken, server.listen(static_cast<std::uint16_t>(*port)));
  fmt::print("cortado: the explorer is at http://127.0.0.1:{}/ for this computer only; Ctrl-C ends it\n", taken);
  std::fflush(stdout);
  server.serve();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto status = run(argc == 2 ? argv[1] : "");
  if (status) return 0;
  fmt::print(stderr, "cortado: error: {}\n", cortado::to_string(status.error()));
  return kUsage;
}
