#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace cortado::internal {

void check_failed(const char* file, int line, const char* condition, const char* what) {
  std::fprintf(stderr, "cortado: internal error at %s:%d: %s: %s\nThis is a bug in Cortado, please report it.\n", file,
               line, condition, what);
  std::abort();
}

}  // namespace cortado::internal
