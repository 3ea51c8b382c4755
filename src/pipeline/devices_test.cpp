#include "cortado/pipeline/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cortado::pipeline {
namespace devices_test {

using testing::HasSubstr;

TEST(Devices, UnknownNamesAreRefusedWithTheList) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  const auto driver = open_device({"gpu", 8, {}}, *machine);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, "device.unknown");
  EXPECT_THAT(driver.error().hint, HasSubstr("soft, kfd"));
}

TEST(Devices, TheEmbeddedNodeHasAsManyGpusAsAskedFor) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  const auto driver = open_device({"soft", 3, {}}, *machine);
  ASSERT_TRUE(driver) << to_string(driver.error());
  EXPECT_EQ((*driver)->topology().gpus.size(), 3U);
}

TEST(Devices, RealGpusTakeNoInjectedFaults) {
  const auto machine = load_machine("mi300x-8");
  ASSERT_TRUE(machine);
  DeviceRequest request{"kfd", 2, {}};
  request.soft.adversarial_seed = 1;
  const auto driver = open_device(request, *machine);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().code, "device.option");
}

}  // namespace devices_test
}  // namespace cortado::pipeline
