// schedule_tables FOLDER [training] [unseen]: writes the tables of simulated times, FOLDER/training.csv and
// FOLDER/unseen.csv.
//
// Rows are simulated on all cores; what is written does not depend on how many there are. Every finished row is kept in
// FOLDER/NAME.csv.part at once: who stops this and starts it again goes on where it was. Parts that other sources or
// another machine file made are thrown away.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "cortado/base/file.hpp"
#include "cortado/pipeline/choose_schedule.hpp"

#include "pipeline/parallel.hpp"
#include "schedules/shapes.hpp"
#include "schedules/table.hpp"
#include "table_fingerprint.hpp"

namespace cortado::schedules {
namespace {

constexpr const char* kMachine = "mi300x-8";

/// Lines of finished rows by their place in the table, and the file that keeps them.
class Part {
 public:
  explicit Part(std::string path) : path_(std::move(path)) {
    const std::string first = fmt::format("{}\n", kTableFingerprint);
    const auto text = read_file(path_);
    std::string kept = first;
    if (text && text->rfind(first, 0) == 0) {
      for (std::size_t at = first.size(), end = 0; (end = text->find('\n', at)) != std::string::npos; at = end + 1) {
        std::size_t place = 0;
        const auto [rest, error] = std::from_chars(text->data() + at, text->data() + end, place);
        if (error == std::errc() && rest != text->data() + end)
          lines_.emplace(place, std::string(rest + 1, text->data() + end));
        kept += text->substr(at, end + 1 - at);
      }
    }
    file_.open(path_, std::ios::trunc);
    file_ << kept << std::flush;
  }

  const std::map<std::size_t, std::string>& lines() const { return lines_; }

  void add(std::size_t place, const std::string& line) {
    lines_.emplace(place, line);
    file_ << place << ' ' << line << std::endl;
  }

  void remove() {
    file_.close();
    std::filesystem::remove(path_);
  }

 private:
  std::string path_;
  std::map<std::size_t, std::string> lines_;
  std::ofstream file_;
};

Result<std::string> timed_line(const std::vector<FiccoSchedule>& schedules, const DependentRequest& request,
                               const ScheduleCost& cost) {
  TimedShape row{request, {}};
  for (const FiccoSchedule& candidate : schedules) {
    CORTADO_ASSIGN_OR_RETURN(row.times.emplace_back(), simulated_time(request, candidate, cost));
  }
  return csv_line(row);
}

Status write_table(ShapeSet set, const std::string& folder, const Machine& machine) {
  const std::vector<DependentRequest> all = shapes(set);
  const std::vector<FiccoSchedule> schedules = candidates(set, machine);
  const auto cost = pipeline::simulated_schedule_cost(machine);
  const std::string path = fmt::format("{}/{}.csv", folder, name_of(set));
  Part part(path + ".part");
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (part.lines().count(i) == 0) open.push_back(i);
  }
  std::mutex lock;
  Status status;
  const bool done = pipeline::for_each_in_parallel(
      open.size(), std::max(1U, std::thread::hardware_concurrency()),
      [&](std::size_t i) {
        const Result<std::string> line = timed_line(schedules, all[open[i]], *cost);
        const std::scoped_lock guard(lock);
        if (line) part.add(open[i], *line);
        if (!line && status) status = tl::unexpected(line.error());
      },
      [&](std::size_t) {
        const std::scoped_lock guard(lock);
        if (isatty(STDERR_FILENO) == 1)
          fmt::print(stderr, "\r{}: {} of {}", name_of(set), part.lines().size(), all.size());
        return status.has_value();
      });
  if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\n");
  if (!done) return status;
  std::vector<std::string> names;
  for (const FiccoSchedule& candidate : schedules) names.push_back(column_name(candidate));
  std::string text = fmt::format("# Nanoseconds on {}, simulated; README.md says how this is made.\n{}\n", machine.name,
                                 csv_header(names));
  for (const auto& [place, line] : part.lines()) text += line + "\n";
  CORTADO_RETURN_IF_ERROR(write_file(path, text));
  part.remove();
  return {};
}

Status run(const std::vector<std::string>& words) {
  const char* usage = "schedule_tables FOLDER [training] [unseen]";
  if (words.empty()) return fail("usage.folder", "where to?", usage);
  CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(kMachine));
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] != "training" && words[i] != "unseen") {
      return fail("usage.set", fmt::format("no set of shapes is called {}", words[i]), usage);
    }
  }
  for (const ShapeSet set : {ShapeSet::training, ShapeSet::unseen}) {
    const bool wanted = words.size() == 1 || std::find(words.begin() + 1, words.end(), name_of(set)) != words.end();
    if (wanted) CORTADO_RETURN_IF_ERROR(write_table(set, words[0], machine));
  }
  return {};
}

}  // namespace
}  // namespace cortado::schedules

int main(int argc, char** argv) {
  const cortado::Status status = cortado::schedules::run({argv + 1, argv + argc});
  if (!status) fmt::print(stderr, "schedule_tables: {}\n", cortado::to_string(status.error()));
  return status ? 0 : 2;
}
