// Ranks that die: what they had in hand the others do. A module in memory stands for MPI.
#include "sweep/ranks.hpp"

#include <deque>
#include <map>
#include <optional>

#include <gmock/gmock.h>

#include "sweep/mpi/module.hpp"
#include "sweep/run.hpp"
#include "sweep/testing.hpp"
#include "sweep/worker.hpp"

namespace cortado::sweep::ranks_test {
namespace {

using testing::dump;
using testing::FakeQuestion;
using testing::Folder;
using ::testing::HasSubstr;
using testing::spec_of;

const Version kVersion{"0.0", "test"};
constexpr int kSize = 4;

/// Ranks 1 to 3. Each does its batches whenever rank 0 listens, and dies with the one that it is told to die with.
struct Others {
  explicit Others(std::map<int, int> deaths) : die_with(std::move(deaths)) {
    for (int rank = 1; rank < kSize; ++rank) workers.emplace(rank, Worker(question, {}, {}));
  }

  void take(int rank, std::string_view bytes) {
    if (bytes.front() != 't' || dead(rank)) return;
    if (const auto last = die_with.find(rank); last != die_with.end() && --last->second == 0) {
      // What it has finished is on its way when its death is told.
      messages.push_back({rank, std::nullopt});
      if (finished.contains(rank)) messages.push_back({rank, finished.at(rank)});
      return;
    }
    finished[rank] = to_bytes(workers.at(rank).work(tasks_of(bytes.substr(1)).value(), [] { return false; }));
    messages.push_back({rank, finished.at(rank)});
  }
  bool dead(int rank) const { return die_with.contains(rank) && die_with.at(rank) <= 0; }

  FakeQuestion question;
  std::map<int, int> die_with;  // rank: the batch, 1 is its first
  std::map<int, Worker> workers{};
  std::map<int, std::string> finished{};                              // by rank: the last
  std::deque<std::pair<int, std::optional<std::string>>> messages{};  // none: gone
  std::string at_hand{};
};
Others* others = nullptr;

const char* start(int*, int*) {
  return nullptr;
}
const char* send(int to, const void* bytes, std::size_t size) {
  others->take(to, {static_cast<const char*>(bytes), size});
  return nullptr;
}
const char* receive(int* from, const void** bytes, std::size_t* size, long) {
  *from = -1;
  *bytes = nullptr;
  if (others->messages.empty()) return nullptr;
  const auto [rank, message] = others->messages.front();
  others->messages.pop_front();
  *from = rank;
  if (!message) return nullptr;
  others->at_hand = *message;
  *bytes = others->at_hand.data();
  *size = others->at_hand.size();
  return nullptr;
}
void stop() {}
constexpr CortadoMpi kModule{start, send, receive, stop};

struct Swept {
  Result<bool> all;
  std::size_t lost;
};

Swept sweep_over(const std::string& path, std::map<int, int> die_with) {
  Others those(std::move(die_with));
  others = &those;
  const Spec spec = spec_of("question = \"fake\"\n[axes]\na = { from = 1, to = 10, step = 1 }\nb = [1, 2, 3]\n");
  const FakeQuestion question;
  auto store = Store::open(path, spec, question, kVersion, {});
  EXPECT_TRUE(store) << to_string(store.error());
  Ranks ranks(kModule, 0, kSize);
  RankCrew crew(ranks, question, spec.tables, spec.columns);
  const auto all = run_sweep(*store, crew);
  return {all, crew.lost()};
}

TEST(Ranks, DeadOnesAreReplacedByTheOthers) {
  const Folder folder;
  const Swept whole = sweep_over(folder / "whole.db", {});
  ASSERT_TRUE(whole.all) << to_string(whole.all.error());
  EXPECT_TRUE(*whole.all);
  EXPECT_EQ(whole.lost, 0U);
  const std::string expected = dump(folder / "whole.db");
  // The first batch, the second of two in hand, one late; one rank, and two of three.
  for (const std::map<int, int>& deaths :
       {std::map<int, int>{{1, 1}}, {{2, 2}}, {{3, 4}}, {{1, 1}, {3, 1}}, {{2, 2}, {3, 3}}}) {
    const std::string path = folder / fmt::format("{}-{}.db", deaths.begin()->first, deaths.size());
    const Swept swept = sweep_over(path, deaths);
    ASSERT_TRUE(swept.all) << to_string(swept.all.error());
    EXPECT_TRUE(*swept.all);
    EXPECT_EQ(swept.lost, deaths.size());
    EXPECT_EQ(dump(path), expected);
  }
}

TEST(Ranks, WhenAllHaveDiedTheSweepEndsAndIsResumed) {
  const Folder folder;
  const Swept swept = sweep_over(folder / "all.db", {{1, 1}, {2, 2}, {3, 4}});
  ASSERT_FALSE(swept.all);
  EXPECT_EQ(swept.all.error().code, "sweep.mpi");
  EXPECT_THAT(swept.all.error().message, HasSubstr("all ranks but 0 have died"));
  EXPECT_THAT(swept.all.error().hint, HasSubstr("to resume"));
  EXPECT_TRUE(sweep_over(folder / "all.db", {}).all.value());
  EXPECT_TRUE(sweep_over(folder / "whole.db", {}).all.value());
  EXPECT_EQ(dump(folder / "all.db"), dump(folder / "whole.db"));
}

}  // namespace
}  // namespace cortado::sweep::ranks_test
