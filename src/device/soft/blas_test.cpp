#include "device/soft/blas.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace cortado::device::soft::blas_test {

auto threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(Blas, IsLoadedWithoutThreadsOfItsOwn) {
  const auto before = threads();
  ASSERT_TRUE(blas().has_value());
  EXPECT_EQ(threads(), before);
}

TEST(Blas, LeavesTheEnvironmentAsItWas) {
  const char* const kVariable = "OPENBLAS_NUM_THREADS";
  ::setenv(kVariable, "3", 1);
  ASSERT_TRUE(load_blas("libopenblas.so.0").has_value());
  EXPECT_STREQ(std::getenv(kVariable), "3");
  ::unsetenv(kVariable);
  ASSERT_TRUE(load_blas("libopenblas.so.0").has_value());
  EXPECT_EQ(std::getenv(kVariable), nullptr);
}

TEST(Blas, TakesBackThreadsThatOthersGaveIt) {
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))(2);
  ASSERT_TRUE(load_blas("libopenblas.so.0").has_value());
  EXPECT_EQ(reinterpret_cast<int (*)()>(dlsym(library, "openblas_get_num_threads"))(), 1);
}

TEST(Blas, SaysWhatToInstall) {
  const auto missing = load_blas("libno-such-blas.so.0");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, "device.no_library");
  EXPECT_EQ(missing.error().about, About::environment);
  EXPECT_NE(missing.error().message.find("libno-such-blas.so.0"), std::string::npos);
  EXPECT_NE(missing.error().hint.find("libopenblas0"), std::string::npos);
}

TEST(Blas, RefusesALibraryWithoutProducts) {
  const auto other = load_blas("libm.so.6");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message, "libm.so.6 lacks cblas_sgemm");
}

}  // namespace cortado::device::soft::blas_test
