// cortado sweep: the same question at every point of a design space, into a database.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cortado/report.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "interrupt.hpp"
#include "pipeline/choose/fingerprint.hpp"
#include "sweep/check.hpp"
#include "sweep/crew.hpp"
#include "sweep/ranks.hpp"
#include "sweep/run.hpp"
#include "sweep/show.hpp"
#include "sweep/store.hpp"
#include "sweep_questions.hpp"
#include "table_output.hpp"
#include "target_request.hpp"

namespace cortado::cli {
namespace {

constexpr Example kSweepExamples[] = {
    {"cortado sweep ficco --dry-run", "check a sweep, count its points, and estimate time and size"},
    {"cortado sweep engines-small -o engines.db", "run it, or resume it"},
    {"cortado sweep show engines.db --best --group-by links.rate_GBps,dma.engines --html engines.html",
     "the best variant by link rate and engines, as a table and as a heat map"},
    {"cortado sweep show engines.db --where 'sizes = 1024' --csv small.csv", "some of the rows, also as CSV"},
    {"cortado sweep --status engines.db", "check its progress, from another shell"}};

constexpr std::string_view kShow = "show";
/// Rows of a table on a terminal.
constexpr std::size_t kRowsOfText = 50;

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.1f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string size_text(double bytes) {
  return bytes < 1e6 ? fmt::format("{:.0f} kB", bytes / 1e3) : fmt::format("{:.0f} MB", bytes / 1e6);
}

sweep::Version this_version() {
  return {CORTADO_VERSION, std::string(pipeline::model_fingerprint().substr(0, 16))};
}

Result<Exit> dry_run(const sweep::Spec& spec, const sweep::Question& question, std::uint64_t points,
                     std::uint32_t threads, Console& console) {
  CORTADO_ASSIGN_OR_RETURN(const sweep::Sample sample, sweep::sample_points(spec, question, points));
  const auto all = static_cast<double>(points);
  const std::size_t axes = spec.axes().size();
  console.out(fmt::format("{} of cortado {} over {} {}\n", counted(points, "point"), question.name(), axes,
                          axes == 1 ? "axis" : "axes"));
  console.out(fmt::format(
      "about {} on {} and {} of results, estimated from {} of the points{}\n", duration(all * sample.seconds / threads),
      counted(threads, "thread"), size_text(all * sample.bytes), sample.points,
      sample.failed > 0 ? fmt::format("; {} failed; {}", sample.failed, sample.first_failure) : ""));
  return Exit::ok;
}

/// Who computes the points: threads, or the other ranks.
std::unique_ptr<sweep::Crew> crew_of(const sweep::Spec& spec, const sweep::Question& question, std::uint32_t threads,
                                     sweep::Ranks* ranks) {
  if (ranks != nullptr && ranks->size() > 1) {
    return std::make_unique<sweep::RankCrew>(*ranks, question, spec.tables, spec.columns);
  }
  return std::make_unique<sweep::ThreadCrew>(question, spec.tables, spec.columns, threads);
}

/// `led`: there was a crew, which has been told that the sweep is over.
Result<Exit> lead(const Arguments& arguments, Console& console, sweep::Ranks* ranks, bool& led) {
  CORTADO_ASSIGN_OR_RETURN(const sweep::Spec spec, sweep::load_spec(arguments.text("what")));
  CORTADO_ASSIGN_OR_RETURN(const auto question, find_question(spec.question));
  CORTADO_ASSIGN_OR_RETURN(const std::uint64_t points,
                           sweep::check_spec(spec, *question, *arguments.number<std::uint64_t>("--max-points")));
  const std::uint32_t threads = threads_of(arguments);
  if (arguments.given("--dry-run")) return dry_run(spec, *question, points, threads, console);
  if (!arguments.given("--output")) {
    return fail("usage.output", "no output database given", "pass -o results.db, or --dry-run");
  }
  const std::string output = arguments.text("--output");
  CORTADO_RETURN_IF_ERROR(check_output_path(output, {arguments.text("what")}));
  CORTADO_ASSIGN_OR_RETURN(sweep::Store store, sweep::Store::open(output, spec, *question, this_version(),
                                                                  {.extend = arguments.given("--extend"),
                                                                   .retry = arguments.given("--retry")}));
  watch_for_interrupt();
  const auto show = [&](const sweep::Progress& progress) {
    console.progress(fmt::format("{} of {} points, {:.1f} per second, {} failed, {} left", progress.counts.done,
                                 progress.counts.all(), progress.points_per_second, progress.counts.failed,
                                 duration(progress.seconds_left)));
    return !interrupted();
  };
  const std::unique_ptr<sweep::Crew> crew = crew_of(spec, *question, threads, ranks);
  led = true;
  const auto all = sweep::run_sweep(store, *crew, {.progress = show});
  console.clear_progress();
  if (!all) return fail(all.error());
  const sweep::PointCounts& counts = store.counts();
  console.talk(fmt::format("{} of {} points done, {} failed; see cortado sweep show {}", counts.done, counts.all(),
                           counts.failed, output));
  if (crew->lost() > 0)
    console.talk(fmt::format("{} died; the others did {} points", counted(crew->lost(), "rank"),
                             crew->lost() == 1 ? "its" : "their"));
  if (!*all) {
    console.talk("interrupted: run the same command again to resume");
    return Exit::interrupted;
  }
  return counts.failed > 0 ? Exit::failed : Exit::ok;
}

Result<Exit> run_spec(const Arguments& arguments, Console& console) {
  std::unique_ptr<sweep::Ranks> ranks;
  if (sweep::Ranks::are_there()) {
    CORTADO_ASSIGN_OR_RETURN(ranks, sweep::Ranks::start());
  }
  if (ranks && ranks->rank() > 0) {
    watch_for_interrupt();
    CORTADO_RETURN_IF_ERROR(sweep::work_for_rank_0(*ranks, find_question, interrupted));
    return Exit::ok;
  }
  bool led = false;
  auto exit = lead(arguments, console, ranks.get(), led);
  if (ranks && !led) sweep::dismiss(*ranks);
  return exit;
}

Result<Exit> show_database(const Arguments& arguments, Console& console) {
  CORTADO_ASSIGN_OR_RETURN(const std::string path, arguments.required("database"));
  const TableOutput table(arguments);
  CORTADO_RETURN_IF_ERROR(table.check({path}));
  sweep::ShowRequest request{.best = arguments.given("--best"), .where = arguments.or_empty("--where")};
  if (arguments.given("--where") && request.where.find_first_not_of(" \t\n") == std::string::npos) {
    return fail("sweep.sql", "--where is empty",
                "pass a condition on the columns, such as 'speedup > 1.2', or drop it");
  }
  if (arguments.given("--group-by")) request.group_by = arguments.names("--group-by");
  if (arguments.given("--columns")) request.columns = arguments.names("--columns");
  const auto limit = arguments.number<std::uint64_t>("--limit");
  CORTADO_ASSIGN_OR_RETURN(report::Document document, sweep::show_results(path, request));
  CORTADO_RETURN_IF_ERROR(table.write_files(document));
  const std::size_t most = limit ? static_cast<std::size_t>(*limit) : table.json() ? SIZE_MAX : kRowsOfText;
  report::Table& rows = document.tables.front();
  if (rows.rows.size() > most) {
    document.notes.push_back(fmt::format("{} more rows: use --limit {}, --csv or --json to see them",
                                         rows.rows.size() - most, rows.rows.size()));
    rows.rows.resize(most);
  }
  console.out(table.json() ? report::to_json(document) : report::to_text(document, table.text()));
  return Exit::ok;
}

Result<Exit> run_sweep_command(const Arguments& arguments, Console& console) {
  if (const auto database = arguments.find("--status")) {
    CORTADO_RETURN_IF_ERROR(arguments.check({"watching"}));
    CORTADO_ASSIGN_OR_RETURN(const std::string line, sweep::status_line(*database));
    console.out(line + "\n");
    return Exit::ok;
  }
  if (!arguments.given("what")) {
    return fail("usage.argument", "no sweep given", "name a .toml file, or use show and a database");
  }
  const bool shows = arguments.text("what") == kShow;
  CORTADO_RETURN_IF_ERROR(arguments.check({shows ? "showing" : "sweeping"}));
  return shows ? show_database(arguments, console) : run_spec(arguments, console);
}

}  // namespace

constinit const Subcommand kSweepCommand{
    "sweep", "Run the same command at every point of a design space, and store the results in a database",
    kSweepExamples, run_sweep_command};

}  // namespace cortado::cli
