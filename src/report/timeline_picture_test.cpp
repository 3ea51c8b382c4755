#include "report/timeline_picture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cortado::report {
namespace timeline_picture_test {

using testing::HasSubstr;
using testing::Not;

/// A GEMM of 8 us on GPU 0 that releases a copy of GPU 1, 8 to 10 us.
Timeline small_timeline() {
  Timeline timeline;
  timeline.where = "simulated x";
  timeline.tracks = {{"host", {}, true}, {"gemm0", RankId{0}}, {"dma1", RankId{1}}};
  timeline.spans = {{0, "submit", SpanKind::host, {0}, {500}},
                    {1, "gemm <a>", SpanKind::kernel, {1000}, {9000}},
                    {2, "wait", SpanKind::wait, {1000}, {9000}},
                    {2, "copy", SpanKind::copy, {9000}, {11000}}};
  timeline.flows = {{1, 2}};
  return timeline;
}

TEST(TimelinePicture, DrawsLanesBarsTicksAndArrows) {
  const std::string svg = timeline_picture(small_timeline(), {.title = "a & b"});
  EXPECT_THAT(svg, testing::StartsWith("<svg "));
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
  EXPECT_THAT(svg, HasSubstr(">gemm0<"));
  EXPECT_THAT(svg, HasSubstr(">dma1<"));
  EXPECT_THAT(svg, Not(HasSubstr(">host<")));
  // Time is counted from the first span that is drawn.
  EXPECT_THAT(svg, HasSubstr("gemm &lt;a&gt;: 0.00 to 8.00 us"));
  EXPECT_THAT(svg, HasSubstr("copy: 8.00 to 10.00 us"));
  EXPECT_THAT(svg, HasSubstr(">10 us<"));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
}

// XML has no way to write them.
TEST(TimelinePicture, ControlCharactersAreWrittenOut) {
  const std::string title("a\0b\x1b", 4);
  EXPECT_THAT(timeline_picture(small_timeline(), {.title = title}), HasSubstr("a\\u0000b\\u001b"));
}

TEST(TimelinePicture, HostsOnlyIfAskedFor) {
  EXPECT_THAT(timeline_picture(small_timeline(), {.hosts = true}), HasSubstr("submit: 0.00 to 0.50 us"));
}

TEST(TimelinePicture, AnEmptyTimelineIsAnEmptyPicture) {
  EXPECT_THAT(timeline_picture({}), HasSubstr("</svg>"));
}

}  // namespace timeline_picture_test
}  // namespace cortado::report
