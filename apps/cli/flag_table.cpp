#include <algorithm>

#include "base/check.hpp"
#include "flags.hpp"

namespace cortado::cli {
namespace {

constexpr Mode kModes[] = {
    {"alone", "a collective alone", "name a collective"},
    {"overlap", "a GEMM and a collective together", "ask for both, as in cortado plan overlap all-gather --gemm MxNxK"},
    {"dependent", "dependent problems", "leave --independent out"},
    {"independent", "--independent", "give --independent"},
    {"ficco", "FiCCO schedules", "name one with --strategy, such as hetero-fused-1d"},
    {"t3", "T3", "give --strategy t3"},
    {"c3", "C3 and ConCCL", "give --strategy c3-rp or conccl"},
    {"gemm", "one GEMM", "leave --map out"},
    {"now", "existing machines", "leave --with and --map out"},
    {"map", "--map", "give --map"},
    {"with", "--with", "give --with"},
    {"auto", "what auto chooses", "give --variant auto or --strategy auto"},
    {"explain", "--explain", "give --explain"},
    {"sim", "the simulator", "give --on sim"},
    {"device", "devices", "give --on soft or --on kfd"},
    {"both", "two targets", "give --on soft,sim"},
    {"single", "one target", "name one target with --on"},
    {"phases", "cortado bench copy", "bench copy"},
    {"gemms", "cortado bench gemm", "bench gemm"},
    {"decode", "--decode", "give --decode"},
    {"encode", "programs, not for --decode", "leave --decode out"},
    {"train", "training", "give --phase train"},
    {"prompt", "training and prefill", "give --phase train or --phase prefill"},
    {"inference", "inference", "give --phase prefill, decode or generate"},
    {"cached", "prefill and decode", "give --phase prefill or --phase decode"},
    {"generate", "whole generations", "give --phase generate"},
    {"managed", "--power-policy", "give --power-policy"},
    {"pipeline", "pipelines", "give --pp 2 or more"},
    {"interleaved", "interleaved pipelines", "give --schedule interleaved and --pp 2 or more"},
    {"sharded", "weights that are gathered", "give --phase train and --fsdp 2 or more"},
};

constexpr Flag kFlags[] = {
    // --- Arguments ---------------------------------------------------------------------------------------------------
    {"list", "what", "[WHAT]", "@lists", "", "",
     "machines, models, collectives, variants, strategies, power-policies, maps, features, targets, publications or "
     "rules; "
     "json: fields of --json; without it these lists"},
    {"show", "what", "WHAT", "machine|model|program", "", "", "machine, model or program"},
    {"show", "name", "NAME", "@machines", "", "",
     "Name or file of a machine; name or config.json of a model; file of a program, or - for standard input"},
    {"plan", "what", "WHAT", "@planned", "", "",
     "A collective (cortado list collectives), or overlap: a GEMM and a collective together"},
    {"run", "what", "WHAT", "@planned", "", "",
     "Program file (- for standard input), a collective, or overlap: a GEMM and a collective together"},
    {"plan run", "collective", "[COLLECTIVE]", "@collectives", "", "overlap", "The collective of overlap"},
    {"bench", "what", "WHAT", "@swept", "", "",
     "A collective (cortado list collectives), copy: see --phases, or gemm: see --shapes"},
    {"overlap", "collective", "COLLECTIVE", "@collectives", "", "",
     "Which one (cortado list collectives); --independent: or several, separated by commas, one after another"},
    {"power", "collective", "[COLLECTIVE]", "@collectives", "", "", "Which one (cortado list collectives), if any"},
    {"verify", "file", "FILE", "file", "", "", "Program file, or - for standard input"},
    {"packets", "file", "FILE", "file", "", "",
     "Program file, or - for standard input. --decode: hexadecimal words separated by white space, # comments"},
    {"reproduce", "publication", "PUBLICATION", "@publications", "", "",
     "Which one (cortado list publications), or all"},
    {"model", "name", "MODEL", "@models", "", "", "Name of a model (cortado list models), or path of a config.json"},
    {"node", "command", "COMMAND...", "", "", "", "What to run, after --: a program and its arguments"},
    {"completion", "shell", "SHELL", "bash|zsh", "", "", "bash or zsh"},

    // --- The machine -------------------------------------------------------------------------------------------------
    {"demo plan bench overlap power model node", "--machine", "NAME", "@machines", kDefaultMachine, "",
     "Machine by name or .toml file"},
    {"run", "--machine", "NAME", "@machines", "", "",
     "Machine by name or .toml file (default: the program's own, or mi300x-8; with two targets this computer, which is "
     "calibrated first)"},
    {"verify", "--machine", "NAME", "@machines", "", "", "Machine instead of the program's own"},
    {"packets", "--machine", "NAME", "@machines", "", "encode", "Machine instead of the program's own"},
    {"calibrate", "--machine", "NAME", "@machines", kDefaultMachine, "",
     "Shape and limits of the node: a machine by name or .toml file"},
    {"reproduce", "--machine", "NAME", "@machines", "", "",
     "Machine by name or .toml file (default: the one it was measured on)"},
    {"bench", "--ranks", "N", "number 2", "", "alone", "GPUs that take part (default: all of the machine)"},
    {"plan run", "--ranks", "N", "number 2", "", "alone|overlap", "GPUs that take part (default: all of the machine)"},
    {"overlap", "--ranks", "N", "number 2", "", "", "GPUs that take part (default: all of the machine)"},
    {"power", "--ranks", "N", "number 1", "", "", "GPUs that take part (default: all of the machine)"},

    // --- A model -----------------------------------------------------------------------------------------------------
    {"model", "--phase", "PHASE", "train|prefill|decode|generate", "prefill", "",
     "What is done: train, prefill, decode (one token of every sequence) or generate (prefill, then all tokens)"},
    {"model", "--batch", "N", "number64 0", "1", "", "Sequences of a replica; train: of a micro-batch"},
    {"model", "--tokens", "N", "number64 0", "8192", "prompt", "New tokens of a sequence"},
    {"model", "--context", "N", "number64 0", "0", "cached", "Tokens of a sequence that are in the KV cache"},
    {"model", "--input", "N", "number64 0", "1024", "generate", "Tokens of a prompt"},
    {"model", "--output", "N", "number64 0", "128", "generate", "Tokens of an answer"},
    {"model", "--tp", "N", "number 0", "1", "", "Tensor parallel: GPUs that share each layer"},
    {"model", "--sp", "", "", "", "", "Sequence parallel: tokens are divided between the GEMMs of --tp"},
    {"model", "--ep", "N", "number 0", "1", "", "Expert parallel: GPUs that the experts are divided among"},
    {"model", "--fsdp", "N", "number 0", "1", "train", "Replicas that keep a share of weights and optimizer each"},
    {"model", "--dp", "N", "number 0", "1", "", "Replicas that keep everything"},
    {"model", "--pp", "N", "number 0", "1", "", "Pipeline stages"},
    {"model", "--schedule", "NAME", "1f1b|interleaved", "1f1b", "pipeline", "Order of micro-batches in a pipeline"},
    {"model", "--stages", "N", "number 1", "2", "interleaved", "interleaved: stages of a GPU"},
    {"model", "--micro-batches", "N", "number 0", "", "", "Of a replica and step (default: as many as stages)"},
    {"model", "--prefetch", "N", "number 0", "1", "sharded",
     "--fsdp: layers whose weights are gathered ahead; 0: none"},
    {"model", "--recompute", "WHAT", "none|selective|ops|full", "none", "train",
     "What of the forward pass is done again: none, selective (norms and activations), ops (and every second GEMM) or "
     "full"},
    {"model", "--skew", "S", "", "", "",
     "Experts: the one of rank r gets tokens in proportion to r^-S (default: even)"},
    {"model", "--unfused-attention", "", "", "", "", "Attention whose scores go through memory"},
    {"model", "--dtype", "TYPE", "bf16|f16|f8|fp8", "", "",
     "Of GEMMs (default: as the weights are stored, bf16 in training)"},
    {"model", "--kv-dtype", "TYPE", "bf16|f16|f8|fp8", "bf16", "inference", "Of the KV cache"},
    {"model", "--system", "NAMES", "@systems", "", "",
     "Systems separated by commas: serial, framework, c3, conccl, async-tp, ficco, tiles, t3, t3-mca, auto, ideal or "
     "all "
     "(default: all "
     "that the "
     "machine has the hardware for); serial comes first always: the others are compared with it"},
    {"model", "--by-operator", "", "", "", "", "A table of all operators"},

    // --- A GEMM and a collective -------------------------------------------------------------------------------------
    {"plan run", "--gemm", "MxNxK", "", "", "overlap",
     "What one GPU multiplies, C = A B: rows of A x columns of B x columns of A"},
    {"overlap", "--gemm", "MxNxK", "", "", "gemm",
     "What one GPU multiplies, C = A B: rows of A x columns of B x columns of A; --independent: or several, separated "
     "by "
     "commas, one after another"},
    {"power", "--gemm", "MxNxK", "", "", "",
     "What one GPU multiplies, C = A B: rows of A x columns of B x columns of A"},
    {"bench", "--dtype", "TYPE", "@dtypes", "", "alone|gemms",
     "Element type (default: f32 of reductions, bf16 of GEMMs)"},
    {"bench", "--shapes", "MxNxK,...|FILE", "file", "", "gemms",
     "Which GEMMs; M may be the rows of each group of a grouped GEMM, 128+64+300. Or a CSV with columns m, n and k, "
     "and "
     "dtype, out_dtype, batch, scale_block where rows have their own"},
    {"bench", "--out-dtype", "TYPE", "@dtypes", "", "gemms",
     "Element type of C (default: bf16 of f8, i32 of i8, else as --dtype)"},
    {"bench", "--batch", "N", "number 1", "1", "gemms", "So many GEMMs of each shape in one kernel"},
    {"bench", "--scale-block", "N", "number 1", "", "gemms",
     "f8 and i8: elements along k, of B also along n, that share a scale in f32, such as 128 (default: no scales)"},
    {"bench", "--clock", "MODE", "by-power|fixed", "by-power", "gemms",
     "Of CUs that multiply: by-power (the highest at which the board keeps to its cap) or fixed (that of the machine "
     "file)"},
    {"overlap run", "--clock", "MODE", "by-power|fixed", "by-power", "sim",
     "Of CUs that multiply: by-power (the highest at which the board keeps to its cap) or fixed (that of the machine "
     "file)"},
    {"plan", "--clock", "MODE", "by-power|fixed", "by-power", "overlap",
     "Of CUs that multiply, where times decide: by-power (the highest at which the board keeps to its cap) or fixed "
     "(that of the machine file)"},
    {"model", "--clock", "MODE", "by-power|fixed", "by-power", "",
     "Of CUs that multiply: by-power (the highest at which the board keeps to its cap) or fixed (that of the machine "
     "file)"},
    {"plan run", "--dtype", "TYPE", "@dtypes", "", "alone|overlap",
     "Element type (default: bf16 of a GEMM and its collective, f32 of a collective alone)"},
    {"overlap power", "--dtype", "TYPE", "@dtypes", "bf16", "", "Element type of the GEMM and its collective"},
    {"plan run power", "--strategy", "NAME", "@strategies", "auto", "overlap",
     "How (cortado list strategies): NAME, a FiCCO schedule with its number of chunks (hetero-fused-1d/8), a strategy "
     "with a variant of the collective (conccl/bcst-prelaunch) or CUs for it (c3-sp/32); auto for the fastest by "
     "search"},
    {"overlap", "--strategy", "NAMES", "@strategies", "", "gemm",
     "Strategies separated by commas (cortado list strategies): NAME, a FiCCO schedule with its number of chunks "
     "(hetero-fused-1d/8), a strategy with a variant of the collective (conccl/bcst-prelaunch) or CUs for it "
     "(c3-sp/32); auto for the fastest by search, all for every one (default: those that are usually compared)"},
    {"plan run", "--planner", "FILE", "file", "", "alone|overlap",
     "Executable that plans it: it reads a request and prints a program (docs/planners.md)"},
    {"bench", "--planner", "FILE", "file", "", "alone",
     "One variant more: an executable that reads a request and prints a program (docs/planners.md)"},
    {"overlap", "--planner", "FILE", "file", "", "gemm",
     "One strategy more: an executable that reads a request and prints a program (docs/planners.md)"},
    {"plan run power", "--independent", "", "", "", "overlap",
     "Neither needs the other (default: one needs the other's output)"},
    {"overlap", "--independent", "", "", "", "gemm", "Neither needs the other (default: one needs the other's output)"},
    {"overlap", "--gemm-first", "", "", "", "map|dependent",
     "The collective consumes the GEMM's output, as reduce-scatter and all-reduce always do"},
    {"plan run power", "--gemm-first", "", "", "", "overlap dependent",
     "The collective consumes the GEMM's output, as reduce-scatter and all-reduce always do"},
    {"plan run overlap power", "--tokens", "FILE|SHARES", "file", "", "overlap dependent",
     "all-to-all: rows from rank to rank, as a CSV file with one line per sender and one number per receiver, or as "
     "shares of the receivers, 3:1:1:1 (default: even)"},
    {"plan run overlap power", "--chunks", "N", "number 1", "", "overlap dependent ficco",
     "Steps of a schedule (default: as many as GPUs)"},
    {"plan run overlap power", "--exchange", "NAME", "auto|pcpy|bcst|b2b", "auto", "overlap dependent ficco",
     "How DMA engines carry a step: auto, pcpy, bcst or b2b"},
    {"plan run overlap power", "--on-cores", "", "", "", "overlap dependent ficco",
     "Compute units move the bytes, not DMA engines"},
    {"plan run overlap power", "--pieces", "N", "number64 1", "", "overlap dependent t3",
     "Pieces of a chunk, each of which travels when it is complete (default: a row of tiles each)"},
    {"plan run overlap power", "--algorithm", "NAME", "@algorithms", "auto", "overlap dependent t3",
     "How stores travel (cortado list maps), or auto: what is predicted to be fastest"},
    {"plan run overlap power", "--axis", "AXIS", "auto|rows|columns", "auto", "overlap dependent t3",
     "The GEMM is cut by rows or columns, or auto: what is predicted to be faster"},
    {"plan run overlap power", "--split-k", "N", "number64 1", "", "overlap dependent t3",
     "Workgroups that share the k of a tile (default: as libraries choose)"},
    {"plan run overlap power", "--cus-gemm", "N", "number 1", "", "overlap independent c3",
     "CUs of the GEMM in every strategy but serial"},
    {"plan run overlap power", "--cus-comm", "N", "number 1", "", "overlap independent c3",
     "CUs of a collective that runs on them, in every strategy but serial"},

    // --- A collective ------------------------------------------------------------------------------------------------
    {"plan", "--variant", "NAME", "@variants", "pcpy", "alone",
     "How: pcpy, bcst, b2b, swap, library, ... (cortado list variants), or auto, which --explain implies"},
    {"run", "--variant", "NAMES", "@variants", "", "alone",
     "How: pcpy, bcst, b2b, swap, ... (cortado list variants), or auto (default: pcpy); with two targets several names "
     "separated by commas, or all (default: all)"},
    {"bench", "--variant", "NAMES", "@variants", "all", "alone", "Names separated by commas, auto, or all"},
    {"power", "--variant", "NAME", "@variants", "cores", "alone|overlap",
     "How: pcpy, bcst, cores-simple, ... (cortado list variants), or cores: on compute units as a library does it"},
    {"plan power", "--bytes", "SIZE", "", "", "alone|independent",
     "Size of the collective's whole buffer, as nccl-tests count it: 4096, 64KiB, 1MiB"},
    {"run", "--bytes", "SIZE", "", "", "alone|independent",
     "Size of the collective's whole buffer, as nccl-tests count it: 4096, 64KiB, 1MiB; with two targets FIRST:LAST "
     "(doubling) or sizes separated by commas (default: 64KiB:1MiB)"},
    {"overlap", "--bytes", "SIZE", "", "", "independent",
     "Size of the collective's whole buffer, as nccl-tests count it: 64KiB, 896MiB; of several one for all or one "
     "each"},
    {"bench", "--sizes,--bytes", "SIZES", "", "", "alone|phases",
     "Whole buffer: FIRST:LAST (doubling), or sizes separated by commas (default: 1KiB:1MiB; copy: 1KiB:64MiB)"},
    {"plan", "--sizes", "SIZES", "", "1KiB:1GiB", "alone explain",
     "Where to look for changes of the choice: FIRST:LAST (doubling), or sizes"},
    {"plan", "--prelaunch", "", "", "", "alone", "Queues are submitted first and start on a trigger"},
    {"power", "--prelaunch", "", "", "", "alone|independent", "Queues are submitted first and start on a trigger"},
    {"run", "--prelaunch", "", "", "", "alone",
     "Queues are submitted first and start on a trigger (two targets: only so)"},
    {"bench", "--prelaunch", "", "", "", "alone",
     "Only queues that are submitted first and start on a trigger (default: both)"},
    {"bench", "--no-prelaunch", "", "", "", "alone", "Only queues that are submitted when they start (default: both)"},
    {"run", "--no-prelaunch", "", "", "", "alone both",
     "Only queues that are submitted when they start (default: both)"},
    {"plan run bench", "--trigger-words", "WORDS", "shared|per-queue", "shared", "alone",
     "Words that start prelaunched queues: shared or per-queue"},
    {"plan run bench", "--in-place", "", "", "", "alone",
     "Output replaces the input (default: what suits the variant)"},
    {"plan run bench", "--out-of-place", "", "", "", "alone", "Output in buffers of its own"},
    {"plan run bench", "--root", "RANK", "number 0", "0", "alone",
     "Root of broadcast, gather, scatter; source of point-to-point"},
    {"plan run bench", "--peer", "RANK", "number 0", "1", "alone", "Destination of point-to-point"},
    {"plan run bench", "--ways", "N", "number 0", "0", "alone",
     "b2b: copies per engine at most; 0 = all on one engine"},
    {"plan run", "--cus", "N", "number 1", "", "alone",
     "CUs of a GPU that a collective on them may use (default: those of the machine's library)"},
    {"bench", "--cus", "N", "number 1", "", "alone|gemms",
     "CUs of a GPU that a collective on them may use (default: those of the machine's library), or a GEMM (default: "
     "all)"},
    {"overlap", "--leave-own-block", "", "", "", "independent",
     "all-to-all: a rank's block for itself stays where it is"},
    {"bench", "--leave-own-block", "", "", "", "alone", "all-to-all: a rank's block for itself stays where it is"},
    {"plan run power", "--leave-own-block", "", "", "", "alone|independent",
     "all-to-all: a rank's block for itself stays where it is"},
    {"plan run bench", "--hosts", "HOSTS", "single|per-rank", "single", "alone",
     "Who drives the engines: single (one thread) or per-rank"},
    {"plan run bench", "--runtime", "MODE", "raw|runtime|library|device", "raw", "alone",
     "What stands before the engines: raw (nothing), runtime, library or device"},
    {"overlap", "--runtime", "MODE", "raw|runtime|library|device", "raw", "dependent",
     "What stands before the engines: raw (nothing), runtime, library or device"},
    {"plan run bench", "--among", "NAMES", "@among", "", "alone auto",
     "Choose among these, separated by commas: names, dma, cores (default: all)"},
    {"plan run bench", "--no-cache", "", "", "", "alone auto", "Neither use nor keep simulated times on disk"},

    // --- Questions ---------------------------------------------------------------------------------------------------
    {"plan", "--explain", "", "", "", "",
     "Say why: what auto takes and what it leaves, instead of writing the program to standard output"},
    {"bench", "--explain", "", "", "", "alone", "Say what auto takes at every size, and why, instead of the sweep"},
    {"overlap", "--explain", "", "", "", "now", "Say what every strategy decided, and how auto chooses"},
    {"bench", "--phases", "", "", "", "phases", "Where the time of one copy from GPU 0 to GPU 1 goes"},
    {"overlap", "--why", "", "", "", "now dependent sim",
     "Say what decomposition (DIL) and contention (CIL) cost, by every FiCCO schedule, DMA engines against CUs"},
    {"overlap", "--with", "NAMES", "@features", "", "gemm sim",
     "The same table with hardware features that the machine lacks (cortado list features), separated by commas"},
    {"overlap", "--as", "NAME", "@machines", "mi300x-8+t3", "with",
     "Machine whose features they are: entries, costs, thresholds"},
    {"overlap", "--map", "", "", "", "sim", "The fastest FiCCO schedule over rows and depth of a GEMM"},
    {"overlap", "--n", "N", "number64 1", "", "map", "Columns that one GPU multiplies"},
    {"overlap", "--m", "FROM:TO", "", "1024:1048576", "map",
     "Rows that one GPU multiplies, doubled from one to the other, or a list"},
    {"overlap", "--k", "FROM:TO", "", "512:131072", "map", "Depths, in the same way"},
    {"overlap", "--objective", "NAME", "time|energy|edp", "time", "gemm",
     "What the strategy to use is chosen by: time, energy, or edp (their product); what a strategy leaves open is "
     "still "
     "searched by time"},
    {"power", "--policy", "NAMES", "@power-policies", "all", "",
     "Power policies separated by commas (cortado list power-policies), or all; none comes first always: the others "
     "are "
     "compared with it"},
    {"model", "--power-policy", "NAMES", "@power-policies", "", "",
     "Clocks of the fastest system follow power: policies separated by commas (cortado list power-policies), or all"},
    {"model", "--cap", "W", "", "", "", "Watts that a board may draw (default: the machine's)"},
    {"model", "--limit", "W", "", "", "managed", "uniform-cap: watts that a GPU may draw (default: 80 % of the cap)"},
    {"power", "--cap", "W", "", "", "",
     "Watts that a board may draw (default: the machine's), or none: clocks are not managed"},
    {"power", "--limit", "W", "", "", "", "uniform-cap: watts that a GPU may draw (default: 80 % of the cap)"},
    {"power", "--components", "NAMES", "@components", "", "",
     "component-cap, component-shift: whose clocks may be moved, of xcd, iod and hbm, separated by commas (default: "
     "xcd "
     "for component-cap, as software can today; all for component-shift)"},
    {"verify", "--skip-rule", "CODE...", "@rules", "", "", "Leave out a rule (cortado list rules); may be repeated"},
    {"packets", "--decode", "", "", "", "", "The other way: from dwords to readable packets"},
    {"packets", "--rank", "RANK", "number 0", "", "encode", "Only the queues of this rank"},
    {"packets", "--queue", "NAME", "", "", "encode", "Only this queue, by name"},
    {"packets", "--binary", "", "", "", "decode", "The file holds raw little-endian dwords"},

    // --- Where and how often -----------------------------------------------------------------------------------------
    {"run", "--on", "TARGETS", "@targets", "soft", "",
     "Where: sim, soft or kfd (cortado list targets); a device and sim, separated by a comma: both, side by side"},
    {"bench", "--on", "TARGET", "@targets", "soft", "", "Where: sim, soft or kfd (cortado list targets)"},
    {"overlap", "--on", "TARGET", "@targets", "sim", "", "Where: sim, soft or kfd (cortado list targets)"},
    {"run", "--iters", "N", "number 1", "", "",
     "Iterations in a row, with no barrier between (default: 1; two targets: 20)"},
    {"bench", "--iters", "N", "number 1", "", "alone|gemms sim|device",
     "Iterations of each point (default: 20; sim: 1)"},
    {"overlap", "--iters", "N", "number 1", "10", "device", "Iterations of each program, in three rounds"},
    {"run", "--warmup", "N", "number 0", "5", "both", "Iterations before those that count"},
    {"bench", "--warmup", "N", "number 0", "5", "alone|gemms device", "Iterations before those that count"},
    {"run bench overlap", "--seed", "N", "number64 0", "1", "device",
     "Seed of the input bytes, and of the order with --adversarial"},
    {"run bench overlap", "--adversarial", "", "", "", "device",
     "soft: reorder and delay everything the semantics leaves open"},
    {"node", "--seed", "N", "number64 0", "1", "", "Seed of the order with --adversarial"},
    {"node", "--adversarial", "", "", "", "", "Reorder and delay everything that engines may do in any order"},
    {"run bench overlap", "--timeout", "MS", "number 1", "10000", "device", "Give up after so long without progress"},
    {"run bench overlap", "--workers", "N", "number 0", "", "device",
     "soft: threads beside the caller's (default: cores - 1)"},
    {"calibrate", "--workers", "N", "number 0", "", "", "Threads beside the caller's (default: cores - 1)"},
    {"run bench overlap", "--inject", "FAULT...", "", "", "device",
     "soft: a fault on purpose: stall:GPU.ENGINE[:AFTER], drop-doorbell:GPU.ENGINE[:NTH], "
     "lose-signal:GPU.ENGINE[:NTH], "
     "delay-signal:GPU.ENGINE:NTH:NS; may be repeated"},
    {"node", "--races", "", "", "", "",
     "Report packets of different engines that touch the same bytes and do not wait for each other"},
    {"node", "--inject", "FAULT...", "", "", "",
     "A fault on purpose: stall:GPU.ENGINE[:AFTER], drop-doorbell:GPU.ENGINE[:NTH], lose-signal:GPU.ENGINE[:NTH], "
     "delay-signal:GPU.ENGINE:NTH:NS; may be repeated"},
    {"run", "--check", "WHEN", "every|last|none", "every", "device",
     "Check outputs of every iteration, of the last, or of none"},
    {"run", "--sharing", "MODE", "exact|local", "exact", "sim",
     "How rates are shared: exact, or local (approximate, for large programs)"},
    {"run", "--unproved", "", "", "", "sim", "Do not prove first that it ends, has no races and keeps its contract"},
    {"plan run", "--threads", "N", "number 1", "", "auto", "Simulations at the same time (default: one a core)"},
    {"bench", "--threads", "N", "number 1", "", "sim|explain", "Simulations at the same time (default: one a core)"},
    {"overlap", "--threads", "N", "number 1", "", "sim", "Simulations at the same time (default: one a core)"},
    {"power reproduce model", "--threads", "N", "number 1", "", "",
     "Simulations at the same time (default: one a core)"},
    {"calibrate", "--rounds", "N", "number 1", "5", "", "Times that everything is measured; medians count"},
    {"calibrate", "--largest", "SIZE", "", "256MiB", "",
     "Most bytes that one measurement touches, up to 4GiB; less is quicker"},

    // --- Outputs -----------------------------------------------------------------------------------------------------
    {"demo", "--trace", "FILE", "file", "cortado-trace.json", "", "Where to write the trace"},
    {"run", "--trace", "FILE", "file", "", "",
     "Write a Perfetto trace; on devices, timestamps around each command slow it down; with two targets both timelines "
     "of the last row"},
    {"node", "--trace", "FILE", "file", "", "", "Write a Perfetto trace: one track an engine"},
    {"node", "--packets", "FILE", "file", "", "", "Write all packets that the engines executed, by queue"},
    {"model", "--trace", "FILE", "file", "", "", "Write a Perfetto trace of a layer by the fastest system"},
    {"overlap", "--trace", "FILE", "file", "", "now", "Write a Perfetto trace of the strategy to use"},
    {"run", "--picture", "FILE", "file", "", "single", "Write a picture of all queues over time, as SVG"},
    {"plan", "-o,--output", "FILE", "file", "-", "", "File to write the program to; - is standard output"},
    {"overlap", "-o,--output", "FILE", "file", "", "now", "Write the program of the strategy to use"},
    {"calibrate", "-o,--output", "FILE", "file", "", "", "Write the file here instead of to standard output"},
    {"bench model", "--csv", "FILE", "file", "", "", "Write the rows as CSV, too"},
    {"overlap", "--csv", "FILE", "file", "", "gemm", "Write the rows as CSV, too"},
    {"reproduce", "--markdown", "FILE", "file", "", "", "Write the tables as Markdown, too"},
    {"bench overlap power reproduce model", "--html", "FILE", "file", "", "", "Write a page with pictures, too"},
    {"plan", "--html", "FILE", "file", "", "explain", "Write a page with pictures, too"},
    {"list bench overlap power reproduce model", "--wide", "", "", "", "",
     "All columns, however long the lines become"},
    {"plan", "--wide", "", "", "", "explain", "All columns, however long the lines become"},
    {"run", "--wide", "", "", "", "both", "All columns, however long the lines become"},
    {"list show verify run bench overlap power reproduce model", "--json", "", "", "", "", "JSON instead of text"},
    {"plan", "--json", "", "", "", "explain", "JSON instead of text"},
    {"packets", "--json", "", "", "", "decode", "JSON instead of text"},
};

}  // namespace

std::span<const Flag> all_flags() {
  return kFlags;
}

const Mode& mode_of(std::string_view name) {
  const auto* found = std::ranges::find(kModes, name, &Mode::name);
  CORTADO_CHECK(found != std::end(kModes), "the mode is in the table");
  return *found;
}

}  // namespace cortado::cli
