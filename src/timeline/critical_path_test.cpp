#include <gtest/gtest.h>

#include "cortado/timeline.hpp"

namespace cortado {
namespace critical_path_test {

/// A host queue (track 0) and two engine queues (tracks 1 and 2).
class Story {
 public:
  Story() {
    timeline_.tracks = {{"host", {}, true}, {"dma0", RankId{0}, false}, {"dma1", RankId{1}, false}};
    timeline_.iteration_times = {{0}};
  }

  std::uint32_t span(std::uint32_t track, SpanKind kind, std::int64_t start, std::int64_t end) {
    Span s;
    s.track = track;
    s.kind = kind;
    s.start = {start};
    s.end = {end};
    s.command = next_[track]++;
    timeline_.spans.push_back(s);
    return static_cast<std::uint32_t>(timeline_.spans.size() - 1);
  }
  void flow(std::uint32_t from, std::uint32_t to) { timeline_.flows.push_back({from, to}); }

  CriticalPath path(std::int64_t time, const StartUp& start_up = {}) {
    timeline_.iteration_times = {{time}};
    return critical_path(timeline_, start_up);
  }

 private:
  Timeline timeline_;
  std::array<std::uint32_t, 3> next_{};
};

void expect(const CriticalPath& path, const std::array<std::int64_t, 6>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(path.in_order()[i].value, expected[i]) << kCriticalPathNames[i];
  }
}

TEST(CriticalPath, OneCopyIsAllOfItsParts) {
  Story story;
  const auto submit = story.span(0, SpanKind::host, 10, 110);
  const auto copy = story.span(1, SpanKind::copy, 150, 350);
  const auto signal = story.span(1, SpanKind::signal, 350, 400);
  const auto wait = story.span(0, SpanKind::wait, 110, 405);
  story.flow(submit, copy);
  story.flow(signal, wait);
  // From 10 to 405: submit 100, fetch 40, copy 200, signal 50, poll 5.
  expect(story.path(395), {100, 40, 200, 0, 50, 5});
}

TEST(CriticalPath, FollowsTheQueueThatEndedLast) {
  Story story;
  const auto first = story.span(0, SpanKind::host, 0, 100);
  const auto second = story.span(0, SpanKind::host, 100, 200);
  const auto early_copy = story.span(1, SpanKind::copy, 120, 900);
  const auto early_signal = story.span(1, SpanKind::signal, 900, 910);
  const auto late_copy = story.span(2, SpanKind::copy, 220, 1000);
  const auto late_signal = story.span(2, SpanKind::signal, 1000, 1010);
  const auto early_wait = story.span(0, SpanKind::wait, 200, 911);
  const auto late_wait = story.span(0, SpanKind::wait, 911, 1011);
  story.flow(first, early_copy);
  story.flow(second, late_copy);
  story.flow(early_signal, early_wait);
  story.flow(late_signal, late_wait);
  // Both Submits (200), then only the second queue: fetch 20, copy 780, signal 10, poll 1.
  expect(story.path(1011), {200, 20, 780, 0, 10, 1});
}

TEST(CriticalPath, OverlappingCopiesOfAQueueAreCountedOnce) {
  Story story;
  const auto submit = story.span(0, SpanKind::host, 0, 100);
  const auto first = story.span(1, SpanKind::copy, 100, 600);
  story.span(1, SpanKind::copy, 200, 500);
  story.span(1, SpanKind::copy, 300, 800);
  const auto signal = story.span(1, SpanKind::signal, 800, 850);
  const auto wait = story.span(0, SpanKind::wait, 100, 850);
  story.flow(submit, first);
  story.flow(signal, wait);
  expect(story.path(850), {100, 0, 700, 0, 50, 0});
  // The third copy starts up from 300 to 450; the first, which was in progress, from 100 to 250.
  expect(story.path(850, [](const Span&) { return Nanoseconds{150}; }), {100, 300, 400, 0, 50, 0});
}

TEST(CriticalPath, WhatHappenedBeforeTheIterationBeganIsNotPartOfIt) {
  Story story;
  const auto submit = story.span(0, SpanKind::host, 0, 500);
  const auto trigger = story.span(0, SpanKind::signal, 500, 540);
  const auto hold = story.span(1, SpanKind::wait, 520, 600);
  story.span(1, SpanKind::copy, 600, 700);
  const auto signal = story.span(1, SpanKind::signal, 700, 730);
  const auto wait = story.span(0, SpanKind::wait, 540, 732);
  story.flow(submit, hold);
  story.flow(trigger, hold);
  story.flow(signal, wait);
  // The time counts from the trigger at 500: trigger 40, wake-up 60, copy 100, signal 30, poll 2.
  expect(story.path(232), {40, 0, 100, 0, 30, 62});
}

TEST(CriticalPath, IsNothingWithoutSpans) {
  expect(critical_path({}), {});
}

}  // namespace critical_path_test
}  // namespace cortado
