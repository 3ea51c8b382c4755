#include "base/uncaught.hpp"

#include <new>
#include <stdexcept>
#include <system_error>

#include <gtest/gtest.h>

namespace cortado {
namespace uncaught_test {

TEST(Uncaught, NoMemoryIsNoBug) {
  EXPECT_EQ(to_string(uncaught(std::bad_alloc())),
            "memory: out of memory (hint: use a computer with more memory, fewer ranks or a smaller program)");
  EXPECT_EQ(uncaught(std::bad_alloc()).about, About::environment);
}

// What std::thread throws.
TEST(Uncaught, NoThreadIsNoBug) {
  const Diagnostic diagnostic =
      uncaught(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again)));
  EXPECT_EQ(diagnostic.code, "thread");
  EXPECT_EQ(diagnostic.message, "cannot start a thread: Resource temporarily unavailable");
  EXPECT_EQ(diagnostic.about, About::environment);
}

TEST(Uncaught, EverythingElseIs) {
  EXPECT_EQ(to_string(uncaught(std::logic_error("odd"))), "internal: odd (hint: this is a bug; please report it)");
  EXPECT_EQ(uncaught(std::system_error(std::make_error_code(std::errc::bad_address))).code, "internal");
}

}  // namespace uncaught_test
}  // namespace cortado
