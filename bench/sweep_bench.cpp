// Sweeps: overlap studies a second, what database and hand-out cost, a million points, threads and ranks.
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "measure.hpp"
#include "spent.hpp"
#include "sweep/crew.hpp"
#include "sweep/run.hpp"
#include "sweep/spec.hpp"
#include "sweep/store.hpp"

namespace cortado::bench {
namespace {

using sweep::Parameter;

/// Answers with three rows of six columns after this much processor time.
class TimedQuestion : public sweep::Question {
 public:
  explicit TimedQuestion(double seconds) : seconds_(seconds) {}

  std::string_view name() const override { return "timed"; }
  std::vector<std::string> parameters() const override { return {"machine", "x", "y"}; }
  const sweep::Ranking& ranking() const override { return ranking_; }
  report::Document answer() const override { return TimedAsker::answer(""); }
  Status check(const std::vector<Parameter>&, const Machine&) const override { return {}; }
  std::unique_ptr<sweep::Asker> asker(const Machine&) const override { return std::make_unique<TimedAsker>(seconds_); }

 private:
  class TimedAsker : public sweep::Asker {
   public:
    explicit TimedAsker(double seconds) : seconds_(seconds) {}

    static report::Document answer(const std::string& x) {
      report::Document document;
      document.facts = {{"x", x, ""}};
      document.tables.emplace_back().columns = {{.key = "way"}, {.key = "time_us"}, {.key = "speedup"},
                                                {.key = "p"},   {.key = "q"},       {.key = "r"}};
      return document;
    }

    Outcome<report::Document> ask(const std::vector<Parameter>& parameters) override {
      const double until = now() + seconds_;
      report::Document document = answer(parameters.front().text);
      for (const char* way : {"a", "b", "c"}) document.tables[0].add({way, 1.5, 2.5, 3.5, 4.5, 5.5});
      while (now() < until) {
      }
      return document;
    }

   private:
    static double now() {
      timespec at{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
      return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
    }

    double seconds_;
  };

  double seconds_;
  sweep::Ranking ranking_{.label = "way", .column = "time_us", .score = "speedup"};
};

double process_seconds() {
  timespec at{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

/// Points of x times y on one thread.
void do_points(const std::string& path, std::uint64_t x, std::uint64_t y, double seconds) {
  const TimedQuestion question(seconds);
  const sweep::Spec spec =
      sweep::parse_spec(fmt::format("question = \"timed\"\n[axes]\nx = {{ from = 1, to = {}, step = 1 }}\n"
                                    "y = {{ from = 1, to = {}, step = 1 }}\n",
                                    x, y),
                        "bench.toml")
          .value();
  sweep::Store store = sweep::Store::open(path, spec, question, {"bench", "bench"}, {}).value();
  sweep::ThreadCrew crew(question, {}, {}, 1);
  sweep::run_sweep(store, crew).value();
}

class SweepBench {
 public:
  SweepBench() {
    std::string name = (std::filesystem::temp_directory_path() / "cortado-bench-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    const std::string here = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
    cortado_ = here + "/../apps/cli/cortado";
  }
  SweepBench(const SweepBench&) = delete;
  SweepBench& operator=(const SweepBench&) = delete;
  ~SweepBench() { std::filesystem::remove_all(folder_); }

  std::vector<Row> rows() {
    overlap_rates();
    overhead();
    million();
    speedups();
    return std::move(rows_);
  }

 private:
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  std::optional<Spent> sweep(const std::string& spec, const std::string& threads,
                             std::vector<std::string> before = {}) {
    std::ofstream(file("s.toml")) << spec;
    std::filesystem::remove(file("s.db"));
    std::vector<std::string> words = std::move(before);
    for (const std::string& word : {cortado_, std::string("sweep"), file("s.toml"), std::string("-o"), file("s.db"),
                                    std::string("--threads"), threads}) {
      words.push_back(word);
    }
    return spent(words);
  }

  /// Studies of a dependent all-gather by all strategies, in processor time, with the start of the process.
  void overlap_rates() {
    const auto rate = [&](const char* what, const std::string& axes, double points, double target) {
      const auto used = sweep("question = \"overlap\"\n" + axes, "1");
      if (used) rows_.push_back({what, points / used->processor, "/s", target, Better::higher});
    };
    rate("sweep, overlap studies where costs repeat: 8 GEMMs of 400 layers",
         "labels = [\"layer\"]\n[fixed]\ncollective = \"all-gather\"\n[axes]\n"
         "layer = { from = 1, to = 400, step = 1 }\ngemm = [\"16384x3584x8192\", \"16384x1280x8192\", "
         "\"8192x3584x8192\", "
         "\"8192x1280x8192\", \"4096x3584x8192\", \"4096x1280x8192\", \"2048x3584x8192\", \"2048x1280x8192\"]\n",
         3200, 1000);
    rate("sweep, overlap studies where nothing repeats",
         "[fixed]\ncollective = \"all-gather\"\ngemm = \"{m}x3584x{k}\"\n[axes]\n"
         "m = { from = 4096, to = 32768, step = 4096 }\nk = { from = 2048, to = 16384, step = 2048 }\n",
         64, 60);
  }

  void overhead() {
    constexpr std::uint64_t kPoints = 2000;
    const double begin = process_seconds();
    do_points(file("overhead.db"), kPoints, 1, 1e-3);
    const double used = process_seconds() - begin;
    rows_.push_back({"sweep, database and hand-out over points of 1 ms", 100 * (used / (1e-3 * kPoints) - 1), "%", 3});
  }

  void million() {
    const double most = peak_mib([&] { do_points(file("million.db"), 1000, 1000, 0); });
    rows_.push_back({"sweep, 10^6 points: most memory of the process", most, "MiB", 500});
    const double resumed = time_ns([&] { do_points(file("million.db"), 1000, 1000, 0); });
    rows_.push_back({"  resume of the finished database", 1e-9 * resumed, "s", 2});
  }

  /// Wall time: needs otherwise idle cores.
  void speedups() {
    const auto spec = [](std::uint32_t step) {
      return fmt::format(
          "question = \"overlap\"\n[fixed]\ncollective = \"all-gather\"\ngemm = \"{{m}}x3584x{{k}}\"\n[axes]\n"
          "m = {{ from = 2048, to = 32768, step = {} }}\nk = {{ from = 2048, to = 16384, step = 2048 }}\n",
          step);
    };
    speedup(
        "sweep, two threads over one", 7, [&] { return sweep(spec(2048), "1"); },
        [&] { return sweep(spec(2048), "2"); });
    // Sixteen times as many points: mpirun takes a third of a second to start, whatever the number of ranks.
    const auto ranks = [&](const char* count) {
      return sweep(spec(128), "1", {"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", count});
    };
    speedup(
        "sweep, two ranks beside the writer over one", 3, [&] { return ranks("2"); }, [&] { return ranks("3"); });
  }

  /// The median of pairs of runs, one right after the other.
  template <class One, class Two>
  void speedup(const char* what, std::uint32_t pairs, One&& one, Two&& two) {
    std::vector<double> ratios;
    for (std::uint32_t i = 0; i < pairs; ++i) {
      const std::optional<Spent> slow = one();
      const std::optional<Spent> fast = two();
      if (!slow || !fast) return;
      ratios.push_back(slow->wall / fast->wall);
    }
    rows_.push_back({what, median(std::move(ratios)), "x", 1.9, Better::higher});
  }

  std::string folder_;
  std::string cortado_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> sweep_rows() {
  return SweepBench().rows();
}

}  // namespace cortado::bench
