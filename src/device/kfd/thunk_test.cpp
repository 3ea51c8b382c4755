#include "device/kfd/thunk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cortado::device {
namespace thunk_test {

using testing::HasSubstr;

TEST(LoadThunk, NoLibraryIsAnEnvironmentErrorThatNamesTheLibraries) {
  const auto thunk = load_thunk({"libcortado-none.so.1", "libcortado-none.so"});
  ASSERT_FALSE(thunk.has_value());
  EXPECT_EQ(thunk.error().code, "device.no_library");
  EXPECT_EQ(thunk.error().about, About::environment);
  EXPECT_THAT(thunk.error().message, HasSubstr("libcortado-none.so.1"));
  EXPECT_THAT(thunk.error().message, HasSubstr("libcortado-none.so:"));
  EXPECT_THAT(thunk.error().hint, HasSubstr("--on soft"));
}

TEST(LoadThunk, ALibraryWithoutTheFunctionsIsRefusedByName) {
  const auto thunk = load_thunk({"libcortado-none.so", "libc.so.6"});
  ASSERT_FALSE(thunk.has_value());
  EXPECT_EQ(thunk.error().code, "device.no_library");
  EXPECT_THAT(thunk.error().message, HasSubstr("libc.so.6 lacks hsaKmtOpenKFD, hsaKmtCloseKFD"));
  EXPECT_THAT(thunk.error().message, testing::Not(HasSubstr("hsaKmtCreateQueueExt")));  // can do without
}

}  // namespace thunk_test
}  // namespace cortado::device
