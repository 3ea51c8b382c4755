#include "sweep/store.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "base/random.hpp"
#include "sweep/crew.hpp"
#include "sweep/run.hpp"
#include "sweep/show.hpp"
#include "sweep/testing.hpp"
#include "sweep/worker.hpp"

namespace cortado::sweep::store_test {
namespace {

using testing::dump;
using testing::FakeQuestion;
using testing::Folder;
using ::testing::HasSubstr;
using testing::spec_of;

const Version kVersion{"0.0", "test"};
constexpr const char* kSpec = R"(
question = "fake"
[axes]
a = { from = 1, to = 40, step = 1 }
b = { from = 1, to = 15, step = 1 }
machine = ["mi300x-8", "h100-8"]
)";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Does the sweep, or `most` progress reports of it.
Result<bool> sweep_into(const std::string& path, const Spec& spec, std::size_t threads, StoreOptions options = {},
                        int most = 1 << 30) {
  const FakeQuestion question;
  CORTADO_ASSIGN_OR_RETURN(Store store, Store::open(path, spec, question, kVersion, options));
  ThreadCrew crew(question, spec.tables, spec.columns, threads);
  return run_sweep(store, crew, {.progress = [&](const Progress&) { return --most > 0; }});
}

TEST(Store, ThreadsDoNotChangeResults) {
  const Folder folder;
  const Spec spec = spec_of(kSpec);
  ASSERT_TRUE(sweep_into(folder / "one.db", spec, 1).value());
  ASSERT_TRUE(sweep_into(folder / "two.db", spec, 2).value());
  const std::string one = dump(folder / "one.db");
  EXPECT_EQ(one, dump(folder / "two.db"));
  EXPECT_EQ(std::ranges::count(one, '\n'), 1200 + 2 * 1120 + 1120 + 80 + 2 + 1);  // b = 13 fails: 40 x 2 points
  EXPECT_FALSE(std::filesystem::exists(folder / "one.db-owner"));
  EXPECT_FALSE(std::filesystem::exists(folder / "one.db-wal"));
}

/// Takes points, adds some of them, commits some of these, and goes: what a killed process leaves behind.
void abandon(const std::string& path, const Spec& spec, Random& random) {
  const FakeQuestion question;
  auto store = Store::open(path, spec, question, kVersion, {});
  ASSERT_TRUE(store) << to_string(store.error());
  Worker worker(question, {}, {});
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto tasks = store->take(1 + random.below(40));
    ASSERT_TRUE(tasks);
    ASSERT_TRUE(store->add(worker.work(*tasks, [] { return false; })));
    if (i < 2) {
      ASSERT_TRUE(store->commit());
    }
  }
}

TEST(Store, AbandonedTenTimesItEndsTheSame) {
  const Folder folder;
  const Spec spec = spec_of(kSpec);
  ASSERT_TRUE(sweep_into(folder / "whole.db", spec, 1).value());
  Random random(21);
  for (int i = 0; i < 10; ++i) abandon(folder / "parts.db", spec, random);
  ASSERT_TRUE(sweep_into(folder / "parts.db", spec, 2).value());
  EXPECT_EQ(dump(folder / "whole.db"), dump(folder / "parts.db"));
}

TEST(Store, FailuresAreRecordedOnceAndRetriedOnRequest) {
  const Folder folder;
  const Spec spec = spec_of("question = \"fake\"\n[axes]\na = [1, 2]\nb = [12, 13]\n");
  ASSERT_TRUE(sweep_into(folder / "f.db", spec, 1).value());
  EXPECT_THAT(dump(folder / "f.db"), HasSubstr("fake.thirteen|thirteen is refused|take another|"));
  const FakeQuestion question;
  {
    const auto again = Store::open(folder / "f.db", spec, question, kVersion, {});
    EXPECT_EQ(again->counts().failed, 2);
    EXPECT_EQ(again->counts().waiting, 0);
  }
  const auto retried = Store::open(folder / "f.db", spec, question, kVersion, {.retry = true});
  EXPECT_EQ(retried->counts().waiting, 2);
}

TEST(Store, ChangesAreToldAndLeaveItUntouched) {
  const Folder folder;
  const Spec spec = spec_of("question = \"fake\"\n[axes]\na = [1, 2]\nb = [1]\n");
  ASSERT_TRUE(sweep_into(folder / "c.db", spec, 1).value());
  const std::string before = bytes_of(folder / "c.db");
  const FakeQuestion question;
  const Spec more = spec_of("question = \"fake\"\n[axes]\na = [1, 2, 3]\nb = [1]\n");
  const Spec other = spec_of("question = \"fake\"\n[axes]\na = [1, 2]\nb = [1]\ntext = [\"x\"]\n");
  EXPECT_EQ(Store::open(folder / "c.db", more, question, kVersion, {}).error().code, "sweep.changed");
  EXPECT_EQ(Store::open(folder / "c.db", other, question, kVersion, {.extend = true}).error().code, "sweep.changed");
  EXPECT_EQ(Store::open(folder / "c.db", spec, question, {"0.1", "test"}, {}).error().code, "sweep.changed");
  EXPECT_EQ(bytes_of(folder / "c.db"), before);
  ASSERT_TRUE(sweep_into(folder / "c.db", more, 1, {.extend = true}).value());
  ASSERT_TRUE(sweep_into(folder / "fresh.db", more, 1).value());
  EXPECT_EQ(dump(folder / "c.db"), dump(folder / "fresh.db"));
}

TEST(Store, HasOneOwner) {
  const Folder folder;
  const Spec spec = spec_of("question = \"fake\"\n[axes]\na = [1]\nb = [1]\n");
  const FakeQuestion question;
  const auto first = Store::open(folder / "o.db", spec, question, kVersion, {});
  ASSERT_TRUE(first);
  const auto second = Store::open(folder / "o.db", spec, question, kVersion, {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, "sweep.owner");
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("process {} on host", ::getpid())));
  EXPECT_THAT(*status_line(folder / "o.db"), HasSubstr("0 of 1 points done, 0 failed; process"));
}

TEST(Store, ForeignFilesAreRefusedAndStay) {
  const Folder folder;
  const Spec spec = spec_of("question = \"fake\"\n[axes]\na = [1]\nb = [1]\n");
  const FakeQuestion question;
  std::ofstream(folder / "text.db") << "this is no database, but long enough to be looked at as one, is it not?\n";
  ASSERT_TRUE(Database::open(folder / "other.db", Database::Access::create)->run("CREATE TABLE t(x)"));
  for (const char* name : {"text.db", "other.db"}) {
    const std::string before = bytes_of(folder / name);
    const auto store = Store::open(folder / name, spec, question, kVersion, {});
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error().code, ::testing::AnyOf("sweep.foreign", "sweep.database"));
    EXPECT_EQ(bytes_of(folder / name), before);
    EXPECT_FALSE(show_results(folder / name, {}));
    EXPECT_FALSE(std::filesystem::exists(folder / (std::string(name) + "-owner")));
  }
  EXPECT_EQ(Store::open(folder / "no/such/folder.db", spec, question, kVersion, {}).error().code, "sweep.database");
}

/// A database as a process leaves it that is killed while it writes: some pages are written, and the journal beside it
/// has what they held.
void leave_half_written(const Folder& folder, const std::string& name) {
  auto database = Database::open(folder / "live.db", Database::Access::create).value();
  ASSERT_TRUE(
      database.run("PRAGMA journal_mode = DELETE; CREATE TABLE t(x); INSERT INTO t VALUES (1);"
                   "PRAGMA cache_size = 1; BEGIN; UPDATE t SET x = 2;"
                   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
                   "INSERT INTO t SELECT zeroblob(4000) FROM n"));
  std::filesystem::copy_file(folder / "live.db", folder / name);
  std::filesystem::copy_file(folder / "live.db-journal", folder / (name + "-journal"));
}

TEST(Store, WhatAKilledWriterBeganIsTakenBack) {
  const Folder folder;
  leave_half_written(folder, "half.db");
  const auto reader = Database::open(folder / "half.db", Database::Access::read);
  ASSERT_TRUE(reader) << reader.error().message;
  auto again = Database::open(folder / "half.db", Database::Access::read).value();
  EXPECT_EQ(again.count("SELECT sum(x) FROM t").value(), 1);
}

TEST(Store, RowsThatSomebodyChangedAreRefused) {
  const Folder folder;
  const Spec spec = spec_of("question = \"fake\"\n[axes]\na = [1, 2]\nb = [1]\n");
  ASSERT_TRUE(sweep_into(folder / "r.db", spec, 1).value());
  const auto change = [&](const char* sql) {
    return Database::open(folder / "r.db", Database::Access::write)->run(sql).has_value();
  };
  ASSERT_TRUE(change("UPDATE points SET state = 'perhaps' WHERE point = 1"));
  EXPECT_EQ(sweep_into(folder / "r.db", spec, 1).error().code, "sweep.row");
  ASSERT_TRUE(change("UPDATE points SET state = 'waiting', a = NULL WHERE point = 1"));
  EXPECT_EQ(sweep_into(folder / "r.db", spec, 1).error().code, "sweep.row");
  ASSERT_TRUE(change("PRAGMA user_version = 99"));
  EXPECT_EQ(show_results(folder / "r.db", {}).error().code, "sweep.foreign");
}

TEST(Show, BestGroupsAndConditions) {
  const Folder folder;
  ASSERT_TRUE(
      sweep_into(folder / "s.db", spec_of("question = \"fake\"\n[axes]\na = [1, 2]\nb = [1, 2, 13]\n"), 1).value());
  const auto rows = [&](const ShowRequest& request) { return show_results(folder / "s.db", request)->tables[0]; };
  EXPECT_EQ(rows({}).rows.size(), 8U);  // two rows of four points; two points fail
  const report::Table best = rows({.best = true});
  ASSERT_EQ(best.rows.size(), 4U);
  EXPECT_EQ(std::get<std::string>(best.at(0, "way").value()), "fast");
  const report::Table grouped = rows({.group_by = {"a"}});
  ASSERT_EQ(grouped.rows.size(), 4U);                                    // two values of a, two ways
  EXPECT_EQ(std::get<double>(grouped.at(1, "mean_regret").value()), 1);  // slow takes twice as long
  ASSERT_EQ(grouped.charts.size(), 1U);
  EXPECT_EQ(grouped.charts[0].kind, report::Chart::Kind::lines);
  EXPECT_THAT(grouped.charts[0].series, ::testing::ElementsAre("way"));
  const report::Table map = rows({.best = true, .group_by = {"a", "b"}});
  EXPECT_EQ(map.rows.size(), 4U);
  EXPECT_EQ(std::get<std::string>(map.at(0, "way").value()), "fast");
  ASSERT_EQ(map.charts.size(), 1U);
  EXPECT_EQ(map.charts[0].kind, report::Chart::Kind::map);
  EXPECT_THAT(map.charts[0].labels, ::testing::ElementsAre("a", "b"));
  EXPECT_EQ(rows({.where = "a = 2 AND way = 'slow'"}).rows.size(), 2U);
  EXPECT_EQ(show_results(folder / "s.db", {.group_by = {"wey"}}).error().code, "sweep.column");
  EXPECT_EQ(rows({.where = "(a = 1) OR (a = 2)"}).rows.size(), 4U + 4U);
  for (const char* where : {"a >", "a = 1) OR (a = 2", "a = 1 LIMIT 1", "a = 1;", "1) UNION SELECT (1"}) {
    EXPECT_EQ(show_results(folder / "s.db", {.where = where}).error().code, "sweep.sql") << where;
  }
}

TEST(Show, ColumnsOfGroupsHaveNamesOfTheirOwn) {
  const Folder folder;
  const Spec spec = spec_of(
      "question = \"fake\"\nlabels = [\"wins\", \"mean\", \"by\"]\n[axes]\na = [1, 2]\nb = [1]\nwins = [7]\nmean = "
      "[\"x\"]\nby = [5]\n");
  ASSERT_TRUE(sweep_into(folder / "g.db", spec, 1).value());
  const auto keys = [&](bool best, const std::vector<std::string>& group_by) {
    const report::Document document = *show_results(folder / "g.db", {.best = best, .group_by = group_by});
    EXPECT_NE(report::to_json(document), "");
    std::string all;
    for (const report::Column& column : document.tables[0].columns) all += column.key + " ";
    return all;
  };
  const std::string scores = "mean least most ";
  EXPECT_EQ(keys(false, {"a", "a"}), "a way points wins " + scores + "mean_regret ");
  EXPECT_EQ(keys(false, {"way"}), "way points wins " + scores + "mean_regret ");
  EXPECT_EQ(keys(true, {"a", "way"}), "a way points wins " + scores);
  EXPECT_EQ(keys(false, {"wins"}), "by.wins way points wins " + scores + "mean_regret ");
  EXPECT_EQ(keys(true, {"mean", "by"}), "by.mean by points way wins " + scores);
  const report::Table by_way = show_results(folder / "g.db", {.best = true, .group_by = {"way"}})->tables[0];
  ASSERT_EQ(by_way.rows.size(), 1U);  // "slow" is never the best
  EXPECT_EQ(std::get<std::string>(by_way.at(0, "way").value()), "fast");
  EXPECT_EQ(std::get<std::int64_t>(by_way.at(0, "points").value()), 2);
}

TEST(Show, AnAxisThatIsAColumnOfRowsIsShownAsAsked) {
  const Folder folder;
  const Spec spec =
      spec_of("question = \"fake\"\nlabels = [\"Way\"]\n[axes]\na = [1]\nb = [1]\nWay = [\"x\", \"y\"]\n");
  ASSERT_TRUE(sweep_into(folder / "a.db", spec, 1).value());
  const report::Table best = show_results(folder / "a.db", {.best = true})->tables[0];
  ASSERT_EQ(best.rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(best.at(1, "asked.Way").value()), "y");
  EXPECT_EQ(std::get<std::string>(best.at(1, "way").value()), "fast");
}

TEST(Show, TheBestIsChosenAmongWhatTheConditionLeaves) {
  const Folder folder;
  const Spec spec = spec_of("question = \"fake\"\n[axes]\na = [1, 2]\nb = [1, 2]\n");
  ASSERT_TRUE(sweep_into(folder / "w.db", spec, 1).value());
  const auto shown = [&](const ShowRequest& request) { return *show_results(folder / "w.db", request); };
  const report::Table slow = shown({.best = true, .where = "way = 'slow'"}).tables[0];
  ASSERT_EQ(slow.rows.size(), 4U);
  EXPECT_EQ(std::get<std::string>(slow.at(0, "way").value()), "slow");
  const report::Table groups = shown({.group_by = {"a"}, .where = "way = 'slow'"}).tables[0];
  ASSERT_EQ(groups.rows.size(), 2U);
  EXPECT_EQ(std::get<std::int64_t>(groups.at(0, "wins").value()), 2);
  EXPECT_EQ(std::get<double>(groups.at(0, "mean_regret").value()), 0);
  const report::Document none = shown({.best = true, .where = "way = 'none'"});
  EXPECT_TRUE(none.tables[0].rows.empty());
  EXPECT_THAT(none.notes, ::testing::ElementsAre("no row is left by --where that can be the best (sum > 0)"));
}

TEST(Show, RowsCompeteWithinTheirKind) {
  const Folder folder;
  // Of a kind there are a "slow" and a "fast" row: each is the only one of its way.
  const Spec within = spec_of(
      "question = \"fake\"\n[axes]\na = [1, 2]\nb = [1]\n[rank]\nlabel = \"way\"\ncolumn = \"time_us\"\nwithin = "
      "\"way\"\n");
  ASSERT_TRUE(sweep_into(folder / "k.db", within, 1).value());
  EXPECT_EQ(show_results(folder / "k.db", {.best = true})->tables[0].rows.size(), 4U);
  const report::Table groups = show_results(folder / "k.db", {.group_by = {"a"}})->tables[0];
  EXPECT_EQ(std::get<double>(groups.at(1, "mean_regret").value()), 0);
  const Spec condition = spec_of(
      "question = \"fake\"\n[axes]\na = [1, 2]\nb = [1]\n[rank]\nlabel = \"way\"\ncolumn = \"time_us\"\ncondition = "
      "\"speedup < 2\"\n");
  ASSERT_TRUE(sweep_into(folder / "c.db", condition, 1).value());
  const report::Table best = show_results(folder / "c.db", {.best = true})->tables[0];
  ASSERT_EQ(best.rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(best.at(0, "way").value()), "slow");
}

TEST(Store, AnEmptyFileIsNoDatabaseOfAnotherProgram) {
  const Folder folder;
  std::ofstream(folder / "empty.db").flush();
  const auto shown = show_results(folder / "empty.db", {});
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, "sweep.database");
  EXPECT_EQ(shown.error().message, "the file is empty");
}

TEST(Show, KeepsWhatTheSpecKeeps) {
  const Folder folder;
  const Spec spec =
      spec_of("question = \"fake\"\n[axes]\na = [1]\nb = [1]\n[keep]\ncolumns = [\"way\", \"time_us\"]\n");
  ASSERT_TRUE(sweep_into(folder / "k.db", spec, 1).value());
  EXPECT_EQ(show_results(folder / "k.db", {})->tables[0].columns.size(), 4U);  // a, b, way, time_us
}

TEST(Bytes, TasksAndBatchesComeBack) {
  const FakeQuestion question;
  Worker worker(question, {}, {});
  const std::vector<Task> tasks{{7, {{"a", "1"}, {"b", "2"}}}, {8, {{"a", "1"}, {"b", "13"}}}};
  const auto same = tasks_of(to_bytes(tasks));
  ASSERT_TRUE(same);
  EXPECT_EQ((*same)[0].parameters, tasks[0].parameters);
  const Batch batch = worker.work(tasks, [] { return false; });
  const std::string bytes = to_bytes(batch);
  const auto back = batch_of(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(to_bytes(*back), bytes);
  EXPECT_EQ(back->points[1].answer->failure->code, "fake.thirteen");
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(batch_of(bytes.substr(0, size)));
}

TEST(Handful, IsWhatIsExpectedToTakeAWhile) {
  EXPECT_EQ(handful(0.05, 0, 1000, 2), 1U);  // nothing is known
  EXPECT_EQ(handful(0.05, 0.001, 1'000'000, 2), 50U);
  EXPECT_EQ(handful(0.05, 1, 1'000'000, 2), 1U);
  EXPECT_EQ(handful(0.05, 0.001, 80, 2), 10U);  // so that no worker has all of the rest
}

}  // namespace
}  // namespace cortado::sweep::store_test
