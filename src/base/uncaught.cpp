#include "base/uncaught.hpp"

#include <new>
#include <system_error>

#include <fmt/format.h>

namespace cortado {

Diagnostic uncaught(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return {"memory",
            "out of memory",
            "use a computer with more memory, fewer ranks or a smaller program",
            {},
            About::environment};
  }
  const auto* const system = dynamic_cast<const std::system_error*>(&exception);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return {"thread",
            fmt::format("cannot start a thread: {}", exception.what()),
            "allow more processes (ulimit -u) or more memory (ulimit -v)",
            {},
            About::environment};
  }
  return {"internal", exception.what(), "this is a bug; please report it"};
}

}  // namespace cortado
