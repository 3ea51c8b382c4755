// docs/json.md: what every --json and the file of a program hold. Documents that are tables describe themselves; the
// others are described here. tests/scenarios/check_json.py looks for keys that are missing.
#include "json_reference.hpp"

#include <fmt/format.h>

#include "cortado/ir/command_table.hpp"
#include "cortado/pipeline/breakdown.hpp"
#include "cortado/pipeline/compare.hpp"
#include "cortado/pipeline/explain.hpp"
#include "cortado/report/bench_rows.hpp"
#include "cortado/report/characterization.hpp"
#include "cortado/report/energy.hpp"
#include "cortado/report/power.hpp"
#include "cortado/report/reproduction.hpp"
#include "cortado/report/schedule_map.hpp"

namespace cortado::cli {
namespace {

using report::Document;
using report::Fact;
using report::Table;

constexpr const char* kIntroduction = R"(# JSON for scripts

Written by `cortado list json`; a test keeps it up to date.

Times are in microseconds (`_us`), sizes in bytes, energies in joules (`_J`), powers in watts (`_W`), rates in decimal GB/s (`_GBps`), shares of 1
unless `_pct`. Every document begins with `schema` and `version`. New fields may be added; what stands here keeps name and meaning as long
as `version` stays. A point in a field's name nests: `a.b` is `b` of the object `a`; the object is null where nothing of it is known.
With `--csv` rows have the same names, but for joules by component: `xcd_J`, `iod_J`, `hbm_J`, `rest_J`; nothing stands for null.

## Energy

Wherever a program stands with its simulated time, `energy_J`, `power_W` and `energy_by_component` stand beside it. Clocks are those of the
machine file, whatever that draws: above the cap of a board `power_W` is more than the board would allow, and `cortado power` says what
its firmware makes of it.

All three are null where nobody counts: in measured runs, on machines without `[power]`, and for ideals, which have no program. What is
done one after the other as several programs has the sum of theirs. Times that `--variant auto` keeps on disk have no energy, so the other
`candidates` of `explain` have none.

Traces (`--trace`) have them for the whole run in `otherData`, and watts by component over time as counters of every GPU.
)";

constexpr const char* kProgram = R"(
## The file of a program: `cortado.program`

What `plan` writes, and `verify`, `run`, `simulate`, `encode` and `show program` read. [program.hpp](../include/cortado/ir/program.hpp) says what
a program means. Buffers, signals and queues are named by their place in their list, from 0; GPUs are ranks 0 to `ranks` - 1. Fields that
say "default" may be left out.

| field | meaning |
|---|---|
| `schema`, `version` | `cortado.program`, 1 |
| `name` | for people |
| `machine` | that it was planned for |
| `ranks` | GPUs |
| `buffers` | list: `name`, `rank`, `size` in bytes, `role`: `input`, `output`, `inout` or `scratch`, what the caller does with it |
| `signals` | list of 64-bit counters: `name`, `home` (rank whose memory holds it; left out: host memory) |
| `trackers` | list, default none: `name`, `region`, `updates` (of every byte in an iteration), `signal`, `value` (default 1) that is added to it then |
| `queues` | list, see below |
| `contract` | what every output byte must be, see below |

A region of a buffer is `buffer`, `offset` and `bytes`; or `buffer`, `offset`, `width`, `rows` and `pitch`: `rows` runs of `width` bytes whose starts are
`pitch` bytes apart.

| field of a queue | meaning |
|---|---|
| `name` | for people and error messages |
| `kind` | `dma`, `compute` or `host` |
| `rank` | whose; of a host queue the rank that it speaks for (left out: all) |
| `engine` | `dma` only: number of the DMA engine |
| `priority` | `compute`: higher runs first; default 0 |
| `compute_units` | `compute`: at most so many; left out: all |
| `kernel` | `compute`: queues of a rank with the same name are workgroups of one kernel; default: a stream of its own |
| `calls` | `compute`: library calls of the host that cost time and mean nothing else; default 0 |
| `commands` | list, in order; `command` is the kind |

| `command` | queues | meaning | fields |
|---|---|---|---|
)";

/// In the order of kCommandTable.
constexpr std::array<std::string_view, kCommandTable.size()> kCommandFields{
    "`src`, `dst` (regions), `op` `store` (default) or `add`, `dtype` of what is added",
    "`src`, `dst1`, `dst2`",
    "`a`, `b`",
    "`signal`, `value` (relative to the iteration), `compare` `ge` (default) or `eq`",
    "`signal`, `value`, `op` `add` (default) or `set`",
    "`a`, `b`, `c` (regions, one row per matrix row; no `c` with `outputs`), `m`, `n`, `k`, `dtype`, `accumulate` "
    "(default false), `tile_m`, "
    "`tile_n`, `raises`: list of `tiles`, `signal`, `value`, `split_k` (default 1), `outputs`: list of blocks `row`, "
    "`column`, `rows`, "
    "`columns`, `to` (region), `op`",
    "`op` `reduce`, `gather_rows` or `scatter_rows`, `sources`, `dst`, `dtype`, `rows` (numbers)",
    "`queue`",
    "`signal`, `value`",
    "`label`; `begin` and `end` of a host queue bracket what is reported as time",
};

constexpr const char* kContract = R"(
Element types (`dtype`) are `u8`, `i32`, `f16`, `bf16`, `f32` and `f8`.

| field of the contract | meaning |
|---|---|
| `name` | "all-gather", ... |
| `clauses` | list: every byte of `output` (region) is the sum of `terms` (regions), of one term that term; `dtype` of sums |
| `products` | list, default none: `output` is the sum of `products`, each `a` (list of regions below each other) times `b`; `dtype` |
)";

std::string program_reference() {
  std::string text = kProgram;
  for (std::size_t i = 0; i < kCommandTable.size(); ++i) {
    const CommandInfo& command = kCommandTable[i];
    std::vector<std::string> queues;
    if (command.on_dma) queues.emplace_back("dma");
    if (command.on_compute) queues.emplace_back("compute");
    if (command.on_host) queues.emplace_back("host");
    text += fmt::format("| `{}` | {} | {} | {} |\n", command.name, fmt::join(queues, ", "), command.meaning,
                        kCommandFields[i]);
  }
  return text + kContract;
}

/// What `run` and `simulate` have in common.
std::vector<Fact> run_facts() {
  return {{"ok",
           {},
           "false: it was refused or failed; then there are only `errors`: list of `code`, `message` and, where they "
           "are known, "
           "`hint`, `file`, `line`, `key`, `rank`, `queue`, `command`"},
          {"program", {}, "name"},
          {"machine", {}, "that it was planned for"},
          {"ranks", {}, "GPUs"},
          {"in_place", {}, "of a collective: input and output share a buffer; null of a file"},
          {"simulated", {}, "predicted, not measured"},
          {"bytes", {}, "whole buffer, as nccl-tests count it"},
          {"iterations", {}, "that were asked for"},
          {"time_us", {}, "median of the iterations"},
          {"times_us", {}, "list: each of them"},
          {"algbw_GBps", {}, "`bytes` / time; null where that means nothing"},
          {"busbw_GBps", {}, "`algbw_GBps` times the factor of the collective in nccl-tests"},
          {"commands", {}, "copies, broadcasts and swaps, of all ranks together, as the next five"},
          {"signals", {}, "raised by engines"},
          {"doorbells", {}, "rung"},
          {"triggers", {}, "written"},
          {"waits", {}, "of engines and kernels"},
          {"kernels", {}, "launched"},
          {"trace", {}, "file; only with `--trace`"}};
}

Document run_document() {
  Document document{.schema = kRunSchema, .facts = run_facts()};
  document.facts.insert(document.facts.end(),
                        {{"node", {}, "where it ran"},
                         {"checked_bytes", {}, "output bytes that were compared with the contract"},
                         {"wrong", {}, "of them, that differ"},
                         {"first_wrong", {}, "only if some do: `code`, `message`, ... of the first"}});
  return document;
}

Document simulate_document() {
  Document document{.schema = kSimulateSchema, .facts = run_facts()};
  document.facts.insert(
      document.facts.end(),
      {{"sharing", {}, "how bandwidth was shared: `exact` or `local`"},
       {"bytes_moved", {}, "over links and memories"},
       {"events", {}, "of the simulation"},
       {"critical_path_us", {}, "time on the critical path by what it was spent on; null where no spans were kept"},
       {"picture", {}, "file; only with `--picture`"}});
  for (Fact& fact : report::energy_facts({})) document.facts.push_back(std::move(fact));
  return document;
}

Document verify_document() {
  return {.schema = kVerifySchema,
          .facts = {{"verified", {}, "proved by all rules that were not skipped"},
                    {"program", {}, "name"},
                    {"machine", {}, "for which it was proved"},
                    {"ranks", {}, "GPUs"},
                    {"queues", {}, "of the program"},
                    {"commands", {}, "of the program"},
                    {"iterations", {}, "in a row that were checked together"},
                    {"covered_bytes", {}, "output bytes of which the contract speaks; null if not verified"},
                    {"output_bytes", {}, "of all output and inout buffers"},
                    {"proved_rules", {}, "list of codes"},
                    {"skipped_rules", {}, "list of codes"},
                    {"errors",
                     {},
                     "list, empty if verified: `code`, `message` and, where they are known, `hint`, `rank`, `queue`, "
                     "`command`"}}};
}

Document machine_document() {
  return {
      .schema = kMachineSchema,
      .facts = {{"name", {}, "of the machine"},
                {"title", {}, "one line"},
                {"file", {}, "where it comes from"},
                {"gpus", {}, "how many"},
                {"gpu", {}, "what kind"},
                {"affinity", {}, "lists by source and destination GPU: the best engine; null if any will do"},
                {"power.cap_W", {}, "of a board; `power` is null where nothing is known"},
                {"power.idle_W", {}, "of a GPU on which nothing runs"}},
      .tables = {
          {.key = "engines",
           .meaning = "DMA engines of a GPU",
           .columns = {{.key = "id", .meaning = "number"},
                       {.key = "class", .meaning = "`peer` or `host`: what it is for"},
                       {.key = "present", .meaning = "false: the machine has none with that number"}}},
          {.key = "values",
           .meaning = "everything that the file says",
           .columns = {{.key = "key", .meaning = "in the file"},
                       {.key = "value", .meaning = "as text"},
                       {.key = "confidence", .meaning = "A vendor, B measured and published, C third party, D derived"},
                       {.key = "source", .meaning = "where it comes from"}}}}};
}

Document decode_document() {
  return {
      .schema = kDecodeSchema,
      .tables = {
          {.key = "streams",
           .meaning = "one per queue",
           .columns = {{.key = "queue", .meaning = "name; null if the input has none"},
                       {.key = "packets", .meaning = "list: `offset` in bytes, `dwords` (how many), `packet` as text"},
                       {.key = "error", .meaning = "only where decoding stopped: `code`, `message`, `hint`"}}}}};
}

Document map_document() {
  report::ScheduleMap map;
  map.schedules = {"SCHEDULE"};
  return report::schedule_map_document(map);
}

struct Section {
  const char* heading;
  Document document;
};

constexpr const char* kOverlap = R"(
## `cortado.overlap`, and what all kinds of `cortado overlap` have

| field | meaning |
|---|---|
| `schema`, `version` | `cortado.overlap` (`--independent`) or `cortado.dependent` (`--dependent`), 1 |
| `gemm` | the product of one GPU, `MxNxK type`; of uneven tokens that with most rows |
| `collective`, `bytes`, `ranks`, `machine` | what was asked; `bytes` of the whole buffer, dependent: of all that the collective moves or adds up |
| `where`, `simulated` | the simulated machine, or the device that it was measured on; then also `iterations` |
| `gemm_alone_us` | the product alone |
| `comm_alone_us` | the collective alone; dependent: its part of `serial_us`, see below |
| `serial_us` | one after the other |
| `ideal_us` | the longer of the two alone: what perfect overlap would take. Sums behind a product, and copies of own rows, count for the product, as they run on the same units. A collective that is cut may be faster than in one, and pieces of a product than the whole (DIL below 1): rows may then come a little below |
| `class` | `G-long`, `C-long` or `GC-equal`: which of the two is longer alone, by more than 15 % |
| `memory_bound` | the product is bound by memory, not by arithmetic |
| `objective` | what the choice is made by: `time`, `energy` or `edp`, the product of both |
| `choice`, `reason` | name of the row to use, and why |
| `note` | how to read it; may be empty |
| `rows` | one a policy or schedule |
| `skipped` | what cannot be done: `policy` or `schedule`, `code`, `message`, `hint` |

Rows of both kinds:

| field | meaning |
|---|---|
| `time_us` | of both together |
| `speedup` | `serial_us` / `time_us` |
| `share_of_ideal` | (speed-up - 1) / (ideal speed-up - 1); 0 where less than 1 % can be gained |
| `gemm_us`, `comm_us` | until the product was made, until the collective was done, counted from the begin of both |
| `hbm_bytes` | read and written in the memories of all GPUs; null if measured |
| `wrong` | output bytes that differ from the contract; null if simulated |
| `energy_J`, `power_W`, `energy_by_component` | see above |

Rows of `cortado.overlap` besides: `policy`, `variant`, `gemm_slowdown`, `comm_slowdown` (over each alone), `gemm_units`, `comm_units`
(compute units; 0: DMA engines), `why`.

## `cortado.dependent`

| field | meaning |
|---|---|
| `dependence` | `collective-first` (all-gather or all-to-all, then the product) or `product-first` (the product, then reduce-scatter or all-to-all) |
| `moved_by` | `dma`, or `cores` with `--on-cores` |

One after the other is the schedule `serial`, so the collective alone is its part of it: until the last piece has come; or, behind a product,
from the end of the last product until the last piece has come and has been added up. If `serial` does not fit the memory of a GPU,
it is in `skipped`, `serial_us` is what it would take on such GPUs with more memory, and `note` says so.

Rows besides:

| field | meaning |
|---|---|
| `schedule` | as it was asked for: `hetero-fused-1d`, `hetero-fused-1d/16` |
| `chunks` | exchanges one after another |
| `exposed_comm_us` | `time_us` - `gemm_alone_us`, not below 0: what of the communication and of its costs is not hidden |
| `dil` | decomposition loss: the pieces of the product one after the other, each alone, over the product in one; by the model, without launches |
| `cil_gemm`, `cil_comm` | contention loss: products and copies in the overlapped run over the same ones with the other kind left out; 1 = none, null if measured |
| `footprint_bytes` | memory of the GPU that needs most |
| `staging_bytes` | part of it that is neither operand nor product |
| `chosen`, `chosen_by` | of the row `auto`: the schedule with its number of chunks, `hetero-fused-1d/16`, and how it was chosen, `heuristic` or `search`; null elsewhere |

## `cortado.fused`

`cortado overlap --dependent` with `--schedule t3`, `t3-mca`, `sequential`, `ideal`, `ideal-rs+nmc`, `ficco`, `c3` or `systems`: a product and what takes it away, by
several systems. One after the other is `sequential`: the product, then the collective on all compute units. `bytes` are those of one
GPU's product. Rows have what rows of both kinds have, but for `comm_us`, and `schedule`, `exposed_comm_us` as above. `gemm_us` and `exposed_comm_us` are null for bounds.

| field | meaning |
|---|---|
| `how` | what was planned, in a few words; may be empty |
| `bound` | true: an ideal, the product and the collective as they are alone and nobody slowed down; it has no program. T3 may beat it: its product reads less from memory, its collective may go another way |
| `dram_reads`, `dram_writes` | in the memories of all GPUs; what caches serve does not count, an update by adding memory is one write. null for bounds and if measured |
| `dram_producer_reads`, `dram_producer_writes` | by products |
| `dram_collective_reads`, `dram_collective_writes` | by everything else |
| `tracker_entries_peak` | in use at a time, of the GPU that needed most; null without trackers |
| `tracker_wait_us` | that writers waited for an entry, over all GPUs; null without trackers |

`cortado what-if --json` is `cortado.what-if`: `features`, `gain` (the best of today over the best of tomorrow), and two documents as above, `today` and `tomorrow`.
)";

constexpr const char* kScheduleTree = R"(
## `cortado explain schedule`

`schema` `cortado.schedule_tree`, `version` 1, `nodes` of the tree: tests with `feature`, `threshold`, `below` and `above` (nodes to go to), leaves with `schedule`, `training_shapes`,
`share_fastest` and `mean_loss`. With `--gemm` also `features` by name (null: a schedule that cannot be cut so far takes forever), `path` (nodes), `guess`,
and `auto`: `schedule` with its number of chunks, `by` (`heuristic` or `search`), `time_us`, how many of the `candidates` were `estimated` and
`simulated`, and `next`, the second best with its `time_us`.
)";

}  // namespace

std::string json_reference(const std::vector<report::Table>& lists) {
  const std::vector<Section> sections{
      {"`cortado run --json`", run_document()},
      {"`cortado simulate --json`", simulate_document()},
      {"`cortado verify --json`", verify_document()},
      {"`cortado bench --json`", report::bench_document({})},
      {"`cortado breakdown --json`", pipeline::breakdown_document({})},
      {"`cortado compare --json`", pipeline::compare_document({})},
      {"`cortado explain --json`", pipeline::explain_document({}, {})},
      {"`cortado power --json`", report::power_document({})},
      {"`cortado characterize --json`", report::characterization_document({})},
      {"`cortado characterize --map --json`", map_document()},
      {"`cortado show machine --json`", machine_document()},
      {"`cortado decode --json`", decode_document()},
      {"`cortado list --json`: one of these lists", {.schema = "cortado.list", .tables = lists}}};
  std::string text = kIntroduction + program_reference();
  for (const Section& section : sections) {
    text += fmt::format("\n## {}\n\n{}", section.heading, report::json_reference(section.document));
  }
  text += "\n## `cortado reproduce --json`\n\n`schema` `cortado.reproduction`, `version` 1, `reproductions`: a list of\n\n" +
          report::json_reference(report::reproduction_document({})) +
          "\nand `own`, tables of ours beside which nothing was published: a list of `name`, `title` and `rows`, whose "
          "keys are the heads of the "
          "columns.\n";
  return text + kScheduleTree + kOverlap;
}

}  // namespace cortado::cli
