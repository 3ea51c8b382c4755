// A question that takes no time: rows of numbers made of the parameters.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "sweep/question.hpp"
#include "sweep/spec.hpp"
#include "sweep/sqlite.hpp"

namespace cortado::sweep::testing {

inline std::string parameter(const std::vector<Parameter>& parameters, const std::string& name) {
  for (const Parameter& one : parameters) {
    if (one.name == name) return one.text;
  }
  return "";
}

/// Two rows a point: "slow" takes a * 10 + b us, "fast" half of it. It fails where b is 13.
class FakeAsker : public Asker {
 public:
  explicit FakeAsker(const Machine& machine) : machine_(machine) {}

  static report::Document answer(double sum, const std::string& rate) {
    report::Document document{.schema = "cortado.fake"};
    document.facts = {{"sum", sum, "of both"}, {"rate", rate, "of the machine"}};
    document.tables.emplace_back().columns = {
        {.key = "way", .meaning = "name"}, {.key = "time_us", .meaning = "of it"}, {.key = "speedup"}};
    return document;
  }

  Outcome<report::Document> ask(const std::vector<Parameter>& parameters) override {
    const auto a = parse_number<double>(parameter(parameters, "a"));
    const auto b = parse_number<double>(parameter(parameters, "b"));
    if (!a || !b || *b == 13) return fail_at(Stage::plan, {"fake.thirteen", "thirteen is refused", "take another"});
    report::Document document = answer(*a + *b, machine_.name);
    document.tables[0].add({"slow", 10 * *a + *b, 1.0});
    document.tables[0].add({"fast", (10 * *a + *b) / 2, 2.0});
    return document;
  }

 private:
  const Machine& machine_;
};

class FakeQuestion : public Question {
 public:
  std::string_view name() const override { return "fake"; }
  std::vector<std::string> parameters() const override { return {"machine", "a", "b", "text"}; }
  const Ranking& ranking() const override { return ranking_; }
  report::Document answer() const override { return FakeAsker::answer(0, ""); }
  Status check(const std::vector<Parameter>& parameters, const Machine&) const override {
    if (parse_number<double>(parameter(parameters, "a"))) return {};
    return fail("fake.number", "a is not a number", "give one");
  }
  std::unique_ptr<Asker> asker(const Machine& machine) const override { return std::make_unique<FakeAsker>(machine); }

 private:
  Ranking ranking_{.label = "way", .column = "time_us", .condition = "sum > 0", .score = "speedup"};
};

/// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cortado-sweep-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (std::filesystem::path(path_) / name).string(); }

 private:
  std::string path_;
};

inline Spec spec_of(const std::string& text) {
  auto spec = parse_spec(text, "test.toml");
  EXPECT_TRUE(spec) << to_string(spec.error());
  return spec ? *std::move(spec) : Spec{};
}

/// Everything that a sweep found, in order.
inline std::string dump(const std::string& path) {
  auto database = Database::open(path, Database::Access::read);
  if (!database) return to_string(database.error());
  std::string text;
  for (const char* sql : {"SELECT * FROM points ORDER BY point", "SELECT * FROM \"rows\" ORDER BY point, row",
                          "SELECT * FROM facts ORDER BY point", "SELECT * FROM failures ORDER BY point",
                          "SELECT hash, name FROM machines ORDER BY hash", "SELECT * FROM versions"}) {
    auto rows = database->prepare(sql);
    if (!rows) return to_string(rows.error());
    while (rows->step().value()) {
      for (int i = 0; i < rows->columns(); ++i) text += rows->text(i) + "|";
      text += "\n";
    }
  }
  return text;
}

}  // namespace cortado::sweep::testing
