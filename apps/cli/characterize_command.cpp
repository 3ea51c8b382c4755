// cortado characterize: what cutting a product costs, what it and a collective lose to each other, and which schedule
// is fastest where.
#include <set>

#include <fmt/format.h>

#include "cortado/base/cores.hpp"
#include "cortado/base/text.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/pipeline/characterize.hpp"
#include "cortado/plan/overlap.hpp"

#include "ficco_options.hpp"
#include "interrupt.hpp"
#include "number_option.hpp"
#include "plan_options.hpp"
#include "subcommand.hpp"
#include "table_options.hpp"

namespace cortado::cli {
namespace {

constexpr std::size_t kMostProducts = 1024;

class CharacterizeCommand : public Subcommand {
 public:
  std::string_view name() const override { return "characterize"; }
  std::string_view description() const override {
    return "Tell what cutting a product costs and what it and a collective lose to each other";
  }
  std::vector<Example> examples() const override {
    return {{"cortado characterize --gemm 131072x2048x16384 --collective all-gather",
             "pieces alone against the whole, and side by side against alone, by every published schedule"},
            {"cortado characterize --gemm 16384x2048x16384 --collective reduce-scatter --json --html ficco.html",
             "a product whose sums are scattered; rows for a script, pictures for people"},
            {"cortado characterize --map --n 1024 --m 4096:65536 --k 1024:16384",
             "which schedule is fastest, over rows and depth of the product"}};
  }

  void add_options(CLI::App& app) override {
    of_one_ = {
        app.add_option("--gemm", gemm_, "What one GPU multiplies, C = A B: rows of A x columns of B x columns of A")
            ->type_name("MxNxK")};
    app.add_option("--dtype", dtype_, "Its element type: fp32, fp16, bf16, fp8")
        ->type_name("TYPE")
        ->capture_default_str();
    app.add_option("--collective", collective_, "all-gather, all-to-all or reduce-scatter")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_flag("--gemm-first", gemm_first_,
                 "The collective consumes the GEMM's output, as a reduce-scatter always does");
    app.add_option("--machine", machine_, "Machine by name or .toml file")->type_name("NAME")->capture_default_str();
    add_number(app, "--ranks", ranks_, "GPUs that take part (default: all of the machine)", {.least = 2})
        ->type_name("N");
    app.add_flag("--map", map_, "The fastest schedule over rows and depth of a product");
    of_map_ = {
        add_number(app, "--n", n_, "--map: columns that one GPU multiplies", {.least = 1})->type_name("N"),
        app.add_option("--m", rows_, "--map: rows that one GPU multiplies, doubled from one to the other, or a list")
            ->type_name("FROM:TO")
            ->capture_default_str(),
        app.add_option("--k", depths_, "--map: depths, in the same way")->type_name("FROM:TO")->capture_default_str()};
    add_number(app, "--threads", threads_, "Simulations at the same time (default: one a core)", {.least = 1})
        ->type_name("N");
    table_.add_to(app, {.html = true});
  }

  Result<Exit> run(Console& console) override {
    CORTADO_RETURN_IF_ERROR(check_kind());
    if (ranks_ && *ranks_ == 0) {
      return fail("usage.ranks", "0 ranks asked for", "give --ranks 2 or more, or leave it out");
    }
    if (threads_ == 0U) return fail("usage.threads", "--threads 0 simulates nothing", "give 1 or more");
    CORTADO_RETURN_IF_ERROR(table_.check({machine_}));
    CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(dtype_));
    CORTADO_ASSIGN_OR_RETURN(const Machine machine, load_machine(machine_));
    pipeline::CharacterizeOptions options;
    options.threads = threads_.value_or(available_cores());
    options.progress = [&console](std::size_t done, std::size_t of) {
      console.progress(fmt::format("{} of {}", done, of));
      return !interrupted();
    };
    if (map_) {
      CORTADO_ASSIGN_OR_RETURN(const pipeline::MapRequest request, map_request(dtype));
      watch_for_interrupt();
      const auto map = pipeline::map_schedules(request, machine, options);
      if (!map) return failure(console, map.error());
      console.clear_progress();
      console.out(table_.json() ? report::to_json(report::schedule_map_document(*map))
                                : report::schedule_map_text(*map));
      CORTADO_RETURN_IF_ERROR(table_.write_html(report::schedule_map_html(*map)));
      return Exit::ok;
    }
    CORTADO_ASSIGN_OR_RETURN(const Collective collective, find_collective(collective_));
    CORTADO_ASSIGN_OR_RETURN(const GemmShape gemm, parse_shape(*gemm_, dtype));
    const OverlapProblem asked{.relation = relation(),
                               .gemms = {gemm},
                               .collectives = {{.collective = collective}},
                               .ranks = ranks_.value_or(0)};
    CORTADO_ASSIGN_OR_RETURN(const OverlapProblem problem, check_problem(asked, machine));
    const DependentRequest request = dependent_request(problem);
    watch_for_interrupt();
    const auto report = pipeline::characterize(request, machine, options);
    if (!report) return failure(console, report.error());
    console.clear_progress();
    CORTADO_RETURN_IF_ERROR(table_.show(console, report::characterization_document(*report)));
    return Exit::ok;
  }

 private:
  /// One product, or a map of many.
  Status check_kind() const {
    for (const CLI::Option* option : map_ ? of_one_ : of_map_) {
      if (option->count() == 0) continue;
      return fail("usage.option",
                  fmt::format("{} is for {}", option->get_name(), map_ ? "one product, not for --map" : "--map"),
                  map_ ? "give the columns with --n" : "add --map, or give --gemm MxNxK");
    }
    if (map_ && !n_) return fail("usage.gemm", "how many columns?", "give --n, for example --map --n 2048");
    if (!map_ && !gemm_) {
      return fail("usage.gemm", "which product?", "give --gemm MxNxK, for example --gemm 131072x2048x16384, or --map");
    }
    return {};
  }

  Relation relation() const {
    const bool gemm_first = gemm_first_ || collective_ == "reduce-scatter";
    return gemm_first ? Relation::collective_needs_gemm : Relation::gemm_needs_collective;
  }

  Result<pipeline::MapRequest> map_request(DType dtype) const {
    CORTADO_ASSIGN_OR_RETURN(const Collective collective, find_collective(collective_));
    pipeline::MapRequest request{
        .n = *n_,
        .dtype = dtype,
        .collective = collective,
        .dependence =
            dependent_request({.relation = relation(), .gemms = {{}}, .collectives = {{.collective = collective}}})
                .dependence,
        .ranks = ranks_.value_or(0)};
    CORTADO_ASSIGN_OR_RETURN(request.m, extents("--m", rows_));
    CORTADO_ASSIGN_OR_RETURN(request.k, extents("--k", depths_));
    if (request.m.size() * request.k.size() > kMostProducts) {
      return fail("usage.map", fmt::format("{} x {} products", request.m.size(), request.k.size()),
                  fmt::format("ask for at most {}", kMostProducts));
    }
    return request;
  }

  /// Ascending, each once.
  static Result<std::vector<std::uint64_t>> extents(const char* option, const std::string& text) {
    const auto sizes = parse_sizes(text);
    if (!sizes) {
      return fail("usage.map", fmt::format("{} {} is no range of sizes", option, text),
                  "give FROM:TO, which is doubled from one to the other, or numbers separated by commas");
    }
    std::set<std::uint64_t> ascending;
    for (const Bytes size : *sizes) ascending.insert(size.value);
    return std::vector<std::uint64_t>(ascending.begin(), ascending.end());
  }

  static Exit failure(Console& console, const Failure& failure) {
    console.clear_progress();
    if (!interrupted()) return console.failure(failure);
    console.talk("interrupted before all was simulated");
    return Exit::interrupted;
  }

  std::optional<std::string> gemm_;
  std::string dtype_ = "bf16";
  std::string collective_ = "all-gather";
  bool gemm_first_ = false;
  std::string machine_ = kDefaultMachine;
  std::optional<std::uint32_t> ranks_;
  bool map_ = false;
  std::optional<std::uint64_t> n_;
  std::string rows_ = "1024:1048576";
  std::string depths_ = "512:131072";
  std::vector<const CLI::Option*> of_one_;
  std::vector<const CLI::Option*> of_map_;
  std::optional<std::uint32_t> threads_;
  TableOptions table_;
};

}  // namespace

std::unique_ptr<Subcommand> make_characterize() {
  return std::make_unique<CharacterizeCommand>();
}

}  // namespace cortado::cli
