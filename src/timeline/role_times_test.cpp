#include <gtest/gtest.h>

#include "cortado/timeline.hpp"

namespace cortado {
namespace role_times_test {

TEST(TimesByRole, EndWithTheirCommands) {
  Program program;
  program.queues = {
      {.name = "host", .kind = QueueKind::host, .commands = {Timestamp{"begin"}}, .role = QueueRole::control},
      {.name = "dma", .kind = QueueKind::dma, .commands = {Copy{}}},
      {.name = "kernels",
       .kind = QueueKind::compute,
       .commands = {Gemm{}, Kernel{KernelOp::scatter_rows, {}, {}}, Wait{}, Kernel{}, Wait{}},
       .role = QueueRole::gemm}};
  const auto span = [](std::uint32_t track, std::uint32_t command, SpanKind kind, std::int64_t end) {
    return Span{track, "", kind, {end}, {end}, {}, 0, command};
  };
  Timeline timeline;
  timeline.spans = {span(0, 0, SpanKind::mark, 1000),   span(1, 0, SpanKind::copy, 5000),
                    span(2, 0, SpanKind::kernel, 3000), span(2, 1, SpanKind::kernel, 4000),
                    span(2, 2, SpanKind::wait, 5500),   span(2, 3, SpanKind::kernel, 7000),
                    span(2, 4, SpanKind::wait, 9000)};
  const RoleTimes times = times_by_role(timeline, program);
  EXPECT_EQ(times.gemm, Nanoseconds{3000});        // the rows of the GEMM are scattered until 4000
  EXPECT_EQ(times.collective, Nanoseconds{6000});  // what has come is added up until 7000
}

}  // namespace role_times_test
}  // namespace cortado
