// Broken invariants. A failed CORTADO_CHECK is a bug in Cortado, never a mistake of the user; it prints location and
// condition and aborts, in release builds too.
#pragma once

namespace cortado::internal {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* what);
}

#define CORTADO_CHECK(condition, what)                                         \
  do {                                                                         \
    if (!(condition)) [[unlikely]]                                             \
      ::cortado::internal::check_failed(__FILE__, __LINE__, #condition, what); \
  } while (false)
