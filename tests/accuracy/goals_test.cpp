// Every goal of published/*.toml, and docs/accuracy.md.
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/text.hpp"
#include "reproduce/machines.hpp"
#include "reproduce/published/published.hpp"
#include "reproduce/reproduce.hpp"
#include "reproduce/reproduction.hpp"
#include "reproduced.hpp"
#include "tests/support/source_dir.hpp"

namespace cortado {
namespace goals_test {

/// Goals that are missed; docs/models.md, "Where whole models are wrong" and "Host memory", gives the reasons.
const std::set<std::string> kMissed{
    "train 8b fp8 mi300x batch 2", "train 8b fp8 mi300x batch 4",   "train 70b proxy f8 batch 2",
    "train 70b proxy f8 batch 10", "train 70b proxy bf16 batch 12", "throughput 405b 128/2048",
    "throughput 405b 500/2000",    "throughput 405b 2048/2048",     "batch 24KiB 10000"};

/// How many tables and figures of a publication have a goal: none disappears from the data unnoticed.
const std::map<std::string, std::size_t> kGoals{
    {"comppow", 11},  {"conccl", 12}, {"dma-latte", 14}, {"ficco", 3}, {"gemm", 19}, {"kraken", 23},
    {"kv-fetch", 40}, {"models", 46}, {"nccl", 9},       {"rccl", 5},  {"t3", 22},
};

class Goals : public testing::TestWithParam<std::string> {};

TEST_P(Goals, AreReached) {
  const report::Reproduction& ours = reproduced(GetParam());
  std::size_t goals = 0;
  for (const report::ReproducedTable& table : ours.tables) {
    if (table.goal() != report::Goal::none) ++goals;
    EXPECT_NE(table.goal(), report::Goal::missed)
        << table.published.title << ": mean error " << table.mean_error() << ", worst " << table.worst_error();
  }
  for (const report::ReproducedFigure& figure : ours.figures) {
    if (figure.goal() != report::Goal::none) ++goals;
    const bool missed = figure.goal() == report::Goal::missed;
    EXPECT_EQ(missed, kMissed.contains(figure.published.name))
        << figure.published.title << ": ours " << figure.ours << ", published " << figure.published.published;
  }
  ASSERT_TRUE(kGoals.contains(GetParam()));
  EXPECT_EQ(goals, kGoals.at(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Publications, Goals, testing::ValuesIn(published::publication_names()),
                         [](const auto& publication) {
                           std::string name = publication.param;
                           std::erase(name, '-');  // names of tests have no hyphens
                           return name;
                         });

/// Of publications whose scenarios are simulated in parallel; `reproduced` uses two threads.
class Threads : public testing::TestWithParam<std::string> {};

TEST_P(Threads, DoNotChangeResults) {
  const auto one = pipeline::reproduce(GetParam(), {}, {.threads = 1});
  ASSERT_TRUE(one);
  EXPECT_TRUE(report::reproduction_json({*one}) == report::reproduction_json({reproduced(GetParam())}));
}

INSTANTIATE_TEST_SUITE_P(Publications, Threads, testing::Values("comppow", "conccl", "ficco"));

std::vector<report::Reproduction> all_publications() {
  std::vector<report::Reproduction> all;
  for (const std::string& name : published::publication_names()) all.push_back(reproduced(name));
  return all;
}

TEST(Document, AccuracyIsWhatReproduceAllWrites) {
  const auto document = read_file(std::string(source_dir()) + "/docs/accuracy.md");
  ASSERT_TRUE(document);
  EXPECT_TRUE(*document == report::reproduction_markdown(all_publications()) + pipeline::machines_markdown().value())
      << "docs/accuracy.md is out of date: run 'cortado reproduce all --markdown docs/accuracy.md'";
}

TEST(Document, TextFitsATerminal) {
  const report::TextOptions options;
  for (const std::string& line : split(report::reproduction_text(all_publications(), options), '\n')) {
    EXPECT_LE(line.size(), options.width) << line;
  }
}

/// Turning rows into objects checks that no two columns of a table have the same name.
TEST(Document, JsonOfAllPublicationsIsComplete) {
  const std::string json = report::reproduction_json(all_publications());
  for (const std::string& name : published::publication_names()) {
    EXPECT_NE(json.find('"' + name + '"'), std::string::npos) << name;
  }
}

}  // namespace goals_test
}  // namespace cortado
