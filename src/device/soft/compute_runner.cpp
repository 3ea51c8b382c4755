#include "device/soft/compute_runner.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include <fmt/format.h>

#include "device/soft/cpu_kernels.hpp"
#include "device/soft/memory_word.hpp"
#include "device/soft/node_clock.hpp"
#include "ir/functions.hpp"

namespace cortado::device::soft {
namespace {

// Size of one piece: a fraction of a millisecond of one core.
constexpr std::uint64_t kKernelPieceBytes = 1 << 19;
constexpr std::uint64_t kPieceFlops = 20'000'000;
constexpr int kPiecesPerStep = 32;  // for short operations

std::uint64_t total_bytes(const Span2D& span) {
  return span.width * span.rows;
}

/// Whether the rows of a span are rows of such a matrix.
bool is_matrix(const Span2D& span, std::uint64_t rows, std::uint64_t columns, std::uint64_t element) {
  return span.rows == rows && span.width == columns * element &&
         (rows == 1 || (span.pitch >= span.width && span.pitch / element <= INT_MAX));
}

PacketFault wrong_shape(std::string message) {
  return {FaultKind::unsupported, 0, std::move(message)};
}

}  // namespace

ComputeRunner::ComputeRunner(const MemoryMap& memory, TrackerUnit& trackers, const Features& features, FaultLog& faults,
                             RankId gpu, std::uint32_t id)
    : handle_{{gpu, id}, this},
      memory_(memory),
      trackers_(trackers),
      adds_(features.near_memory_compute),
      rings_(features.device_initiated.has_value()),
      faults_(faults) {}

void ComputeRunner::submit(std::span<const ComputeOp> operations) {
  const std::lock_guard lock(incoming_mutex_);
  incoming_.insert(incoming_.end(), operations.begin(), operations.end());
}

bool ComputeRunner::next_operation() {
  if (operations_.empty()) {
    const std::lock_guard lock(incoming_mutex_);
    for (ComputeOp& op : incoming_) operations_.push_back(std::move(op));
    incoming_.clear();
  }
  return !operations_.empty();
}

StepResult ComputeRunner::step() {
  bool progressed = false;
  for (int piece = 0; piece < kPiecesPerStep; ++piece) {
    if (stopped_ || !next_operation()) return {Next::idle, progressed};
    const bool short_operation = std::holds_alternative<WaitOp>(operations_.front()) ||
                                 std::holds_alternative<SignalWriteOp>(operations_.front());
    switch (advance({kKernelPieceBytes, kPieceFlops})) {
      case Outcome::hold:
        return {Next::look_again, progressed};
      case Outcome::fault:
        return {Next::idle, true};
      case Outcome::more:
        return {Next::again, true, true};
      case Outcome::done:
        progressed = true;
        if (!short_operation) return {Next::again, true, true};
        break;
    }
  }
  return {Next::again, progressed};
}

StepResult ComputeRunner::random_step(Random& random) {
  if (stopped_ || !next_operation()) return {Next::idle, false};
  if (random.chance(3)) return {Next::again, false};
  const std::uint64_t bytes = random.chance(2) ? kKernelPieceBytes : 1 + random.below(4096);
  const Outcome outcome = advance({bytes, 1, &random});
  return {outcome == Outcome::fault ? Next::idle : Next::again, outcome != Outcome::hold};
}

ComputeRunner::Outcome ComputeRunner::advance(Quota quota) {
  const Outcome outcome = std::visit([&](const auto& op) { return run(op, quota); }, operations_.front());
  if (outcome == Outcome::done) {
    mapped_.reset();
    operations_.pop_front();
    progress_ = 0;
    raised_ = 0;
    ++finished_;
  }
  return outcome;
}

// --- Operations ------------------------------------------------------------------------------------------------------

ComputeRunner::Outcome ComputeRunner::run(const WaitOp& op, Quota) {
  if (auto fault = check_word(op.word)) return stop(std::move(*fault));
  const std::uint64_t value = load_word(address_of(op.word));
  const bool released = op.compare == Compare::ge ? value >= op.value : value == op.value;
  return released ? Outcome::done : Outcome::hold;
}

ComputeRunner::Outcome ComputeRunner::run(const SignalWriteOp& op, Quota) {
  if (auto fault = check_word(op.word)) return stop(std::move(*fault));
  if (op.op == SignalOp::add) {
    add_to_word(address_of(op.word), op.value);
  } else {
    store_word(address_of(op.word), op.value);
  }
  return Outcome::done;
}

ComputeRunner::Outcome ComputeRunner::run(const TimestampOp& op, Quota) {
  if (auto fault = check_word(op.slot)) return stop(std::move(*fault));
  store_word(address_of(op.slot), steady_nanoseconds());
  return Outcome::done;
}

ComputeRunner::Outcome ComputeRunner::run(const SubmitOp& op, Quota) {
  if (!rings_ || op.writer == nullptr) {
    return stop({FaultKind::unsupported, 0, "kernels of this machine cannot ring doorbells"});
  }
  return op.writer->write_packets(op.iteration, op.slot_offset) ? Outcome::done : Outcome::hold;
}

ComputeRunner::Outcome ComputeRunner::run(const CopyKernelOp& op, Quota quota) {
  if (op.op == CopyOp::add) {
    const std::array<Span2D, 2> terms{op.dst, op.src};
    return sum(op.dtype, op.dst, terms, quota);
  }
  if (auto fault = check_span(op.src, "source")) return stop(std::move(*fault));
  if (auto fault = check_destination(op.dst, "destination")) return stop(std::move(*fault));
  if (total_bytes(op.src) != total_bytes(op.dst)) {
    return stop(wrong_shape(fmt::format("copy of {} bytes to {}", total_bytes(op.src), total_bytes(op.dst))));
  }
  const std::uint64_t piece = std::min(quota.bytes, total_bytes(op.dst) - progress_);
  copy_span(op.dst, op.src, progress_, piece);
  progress_ += piece;
  return progress_ == total_bytes(op.dst) ? Outcome::done : Outcome::more;
}

ComputeRunner::Outcome ComputeRunner::run(const KernelLaunchOp& op, Quota quota) {
  if (op.op != KernelOp::reduce) return move_rows(op, quota);
  for (const Span2D& also : op.also) {
    if (auto fault = check_sum(op.dtype, also, op.sources)) return stop(std::move(*fault));
  }
  const std::uint64_t first = progress_;
  const Outcome outcome = sum(op.dtype, op.dst, op.sources, quota);
  if (outcome != Outcome::done && outcome != Outcome::more) return outcome;
  const std::array sources{op.dst};
  for (const Span2D& also : op.also) sum_spans(DType::u8, also, sources, first, progress_ - first);
  return outcome;
}

/// All at once: it takes far less time than the GEMMs beside it.
ComputeRunner::Outcome ComputeRunner::run(const CallLaunchOp& op, Quota) {
  if (auto fault = check_call(op)) return stop(std::move(*fault));
  run_function(op);
  return Outcome::done;
}

ComputeRunner::Outcome ComputeRunner::sum(DType dtype, const Span2D& dst, std::span<const Span2D> sources,
                                          Quota quota) {
  if (auto fault = check_sum(dtype, dst, sources)) return stop(std::move(*fault));
  const std::uint64_t element = size_of(dtype).value;
  const std::uint64_t whole_elements = std::max(quota.bytes / element, std::uint64_t{1}) * element;
  const std::uint64_t piece = std::min(whole_elements, total_bytes(dst) - progress_);
  sum_spans(dtype, dst, sources, progress_, piece);
  progress_ += piece;
  return progress_ == total_bytes(dst) ? Outcome::done : Outcome::more;
}

ComputeRunner::Outcome ComputeRunner::move_rows(const KernelLaunchOp& op, Quota quota) {
  const bool gather = op.op == KernelOp::gather_rows;
  if (op.sources.size() != 1) return stop(wrong_shape("gather and scatter take exactly one source"));
  const Span2D& src = op.sources.front();
  if (auto fault = check_span(src, "source")) return stop(std::move(*fault));
  if (auto fault = check_destination(op.dst, "destination")) return stop(std::move(*fault));
  const Span2D& listed = gather ? op.dst : src;   // row i is the i-th of the list
  const Span2D& indexed = gather ? src : op.dst;  // row rows[i]
  if (src.width != op.dst.width || op.rows.size() != listed.rows) {
    return stop(wrong_shape(fmt::format("rows of {} bytes to rows of {}, {} row numbers for {} rows", src.width,
                                        op.dst.width, op.rows.size(), listed.rows)));
  }
  const std::uint64_t rows = op.rows.size();
  const std::uint64_t quota_rows = std::max(quota.bytes / std::max(src.width, std::uint64_t{1}), std::uint64_t{1});
  const std::uint64_t piece = std::min(quota_rows, rows - progress_);
  for (std::uint64_t i = progress_; i < progress_ + piece; ++i) {
    if (op.rows[i] < indexed.rows) continue;
    return stop({FaultKind::bad_address, address_of(indexed.data),
                 fmt::format("row {} of a span of {} rows", op.rows[i], indexed.rows)});
  }
  if (gather) {
    gather_rows(op.dst, src, op.rows, progress_, piece);
  } else {
    scatter_rows(op.dst, src, op.rows, progress_, piece);
  }
  progress_ += piece;
  return progress_ == rows ? Outcome::done : Outcome::more;
}

ComputeRunner::Outcome ComputeRunner::run(const GemmLaunchOp& op, Quota quota) {
  if (mapped_) return run_mapped(op, quota);  // already checked when it began
  if (auto fault = check_gemm(op)) return stop(std::move(*fault));
  if (!op.outputs.empty()) return run_mapped(op, quota);
  const std::uint64_t tiles = gemm_tiles(op);
  const std::uint64_t tiles_across = (op.n + op.tile_n - 1) / op.tile_n;
  if (progress_ < tiles) {
    // As many tiles at once as the quota, the row of tiles and the next raise allow.
    const std::uint64_t flops_per_tile =
        2 * std::min(op.tile_m, op.m) * std::min(op.tile_n, op.n) * std::max(op.k, std::uint64_t{1});
    std::uint64_t piece = std::max(quota.flops / flops_per_tile, std::uint64_t{1});
    piece = std::min(piece, tiles_across - progress_ % tiles_across);
    if (raised_ < op.raises.size() && op.raises[raised_].tiles > progress_) {
      piece = std::min(piece, op.raises[raised_].tiles - progress_);
    }
    run_gemm_tiles(op, progress_, piece);
    progress_ += piece;
  }
  raise_tiles(op, progress_);
  return progress_ == tiles ? Outcome::done : Outcome::more;
}

ComputeRunner::Outcome ComputeRunner::run_mapped(const GemmLaunchOp& op, Quota quota) {
  if (!mapped_) mapped_.emplace(op);
  auto fault =
      quota.random != nullptr ? mapped_->run_random(*quota.random, trackers_) : mapped_->run(quota.flops, trackers_);
  if (fault) return stop(std::move(*fault));
  const bool waits = mapped_->stores() == std::exchange(progress_, mapped_->stores());
  raise_tiles(op, mapped_->tiles_done());
  if (mapped_->finished()) return Outcome::done;
  return waits ? Outcome::hold : Outcome::more;
}

void ComputeRunner::raise_tiles(const GemmLaunchOp& op, std::uint64_t tiles) {
  while (raised_ < op.raises.size() && op.raises[raised_].tiles <= tiles) {
    add_to_word(address_of(op.raises[raised_].word), op.raises[raised_].value);
    ++raised_;
  }
}

// --- Checks ----------------------------------------------------------------------------------------------------------

std::optional<PacketFault> ComputeRunner::check_span(const Span2D& span, const char* what) {
  if (total_bytes(span) == 0) return std::nullopt;
  const bool overflows = span.rows > 1 && span.pitch > (UINT64_MAX - span.width) / (span.rows - 1);
  const std::uint64_t extent = span.rows > 1 ? span.pitch * (span.rows - 1) + span.width : span.width;
  if (!overflows && ranges_.covers(memory_, address_of(span.data), extent)) return std::nullopt;
  return PacketFault{FaultKind::bad_address, address_of(span.data),
                     fmt::format("{} {:#x} .. +{} is not inside one allocation", what, address_of(span.data), extent)};
}

std::optional<PacketFault> ComputeRunner::check_destination(const Span2D& span, const char* what) {
  if (auto fault = check_span(span, what)) return fault;
  return trackers_.check_plain_write(span);
}

std::optional<PacketFault> ComputeRunner::check_word(const std::uint64_t* word) {
  const std::uint64_t address = address_of(word);
  if (address % sizeof(std::uint64_t) != 0) {
    return PacketFault{FaultKind::misaligned, address, fmt::format("word {:#x} is not 8-byte aligned", address)};
  }
  if (ranges_.covers(memory_, address, sizeof(std::uint64_t))) return std::nullopt;
  return PacketFault{FaultKind::bad_address, address, fmt::format("word {:#x} is not inside an allocation", address)};
}

std::optional<PacketFault> ComputeRunner::check_sum(DType dtype, const Span2D& dst, std::span<const Span2D> sources) {
  if (sources.empty()) return wrong_shape("a sum of no sources");
  if (auto fault = check_destination(dst, "destination")) return fault;
  const std::uint64_t element = size_of(dtype).value;
  for (const Span2D& source : sources) {
    if (auto fault = check_span(source, "source")) return fault;
    if (total_bytes(source) != total_bytes(dst) || source.width % element != 0 || dst.width % element != 0) {
      return wrong_shape(fmt::format("sum of {} rows of {} bytes into {} rows of {}, elements of {}", source.rows,
                                     source.width, dst.rows, dst.width, element));
    }
  }
  return std::nullopt;
}

std::optional<PacketFault> ComputeRunner::check_gemm(const GemmLaunchOp& op) {
  if (!is_float(op.dtype)) return wrong_shape("GEMMs are for f32, f16, bf16 and f8");
  const std::uint64_t element = size_of(op.dtype).value;
  for (const std::uint64_t size : {op.m, op.n, op.k, op.tile_m, op.tile_n}) {
    if (size == 0 || size > INT_MAX) return wrong_shape(fmt::format("matrix or tile size {}", size));
  }
  if (!is_matrix(op.a, op.m, op.k, element) || !is_matrix(op.b, op.k, op.n, element) ||
      (op.outputs.empty() && !is_matrix(op.c, op.m, op.n, element))) {
    return wrong_shape(fmt::format("operands do not have the shapes of a {} x {} x {} product", op.m, op.n, op.k));
  }
  for (const TileRaise& raise : op.raises) {
    if (auto fault = check_word(raise.word)) return fault;
  }
  for (const TileHold& hold : op.holds) {
    if (auto fault = check_word(hold.word)) return fault;
  }
  if (!op.holds.empty() && op.outputs.empty()) return wrong_shape("tiles can only wait in GEMMs with an output map");
  if (auto fault = check_span(op.a, "matrix A")) return fault;
  if (auto fault = check_span(op.b, "matrix B")) return fault;
  return op.outputs.empty() ? check_destination(op.c, "matrix C") : check_outputs(op);
}

std::optional<PacketFault> ComputeRunner::check_outputs(const GemmLaunchOp& op) {
  if (op.accumulate || op.split_k == 0) return wrong_shape("a product with an output map cannot accumulate");
  for (const OutputSpan& block : op.outputs) {
    const bool inside = block.rows > 0 && block.columns > 0 && block.row <= op.m && block.rows <= op.m - block.row &&
                        block.column <= op.n && block.columns <= op.n - block.column;
    if (!inside || !is_matrix(block.to, block.rows, block.columns, size_of(op.dtype).value)) {
      return wrong_shape(fmt::format("output block of {} x {} at {}, {} is not part of a {} x {} matrix", block.rows,
                                     block.columns, block.row, block.column, op.m, op.n));
    }
    if (block.op == CopyOp::add && !adds_) return wrong_shape("this machine's memory does not add");
    if (auto fault = check_span(block.to, "output block")) return fault;
  }
  return std::nullopt;
}

std::optional<PacketFault> ComputeRunner::check_call(const CallLaunchOp& op) {
  const FunctionInfo& function = info(op.function);
  if (op.operands.size() != function.operand_count() || op.parameters.size() != function.parameter_count()) {
    return wrong_shape(fmt::format("{} of {} operands", function.name, op.operands.size()));
  }
  for (const Span2D& operand : op.operands) {
    if (auto fault = check_span(operand, "operand")) return fault;
  }
  return check_destination(op.result, "result");
}

ComputeRunner::Outcome ComputeRunner::stop(PacketFault fault) {
  stopped_ = true;
  faults_.add({fault.kind, handle_.gpu, EngineId{0}, handle_.id, finished_, 0, fault.address,
               "compute queue: " + fault.message});
  fault_message_ = std::move(fault.message);
  return Outcome::fault;
}

std::string ComputeRunner::state() const {
  static constexpr auto kNames =
      std::to_array<const char*>({"wait", "signal", "copy", "kernel", "gemm", "call", "timestamp", "submit"});
  static_assert(kNames.size() == std::variant_size_v<ComputeOp>);
  if (stopped_) return "stopped by a fault: " + fault_message_;
  if (operations_.empty()) {
    const std::lock_guard lock(incoming_mutex_);
    return incoming_.empty() ? "idle" : "about to start";
  }
  const ComputeOp& op = operations_.front();
  const auto* wait = std::get_if<WaitOp>(&op);
  // For a long GEMM, shows that it is making progress.
  if (wait == nullptr) return fmt::format("at operation {} ({}, {} done)", finished_, kNames[op.index()], progress_);
  const std::uint64_t address = address_of(wait->word);
  const bool readable = memory_.find(address, sizeof(std::uint64_t)).has_value();
  return fmt::format("at operation {}, polling {:#x} {} {}, reads {}", finished_, address,
                     wait->compare == Compare::ge ? ">=" : "==", wait->value,
                     readable ? std::to_string(load_word(address)) : "nothing: not mapped");
}

}  // namespace cortado::device::soft
