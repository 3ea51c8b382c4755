#include "device/executor/compute_stream.hpp"

#include "base/check.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace {

std::uint64_t* word_at(std::uint64_t address) {
  return reinterpret_cast<std::uint64_t*>(address);
}

class Resolver {
 public:
  explicit Resolver(const AddressMap& addresses) : addresses_(addresses) {}

  Span2D span(const Region& region) const { return addresses_.span(region); }
  std::uint64_t* word(SignalId signal) const { return word_at(addresses_.signals[signal.value]); }

  ComputeOp operator()(const Copy& copy) const {
    return CopyKernelOp{span(copy.src), span(copy.dst), copy.op, copy.dtype};
  }
  ComputeOp operator()(const Wait& wait) const { return WaitOp{word(wait.signal), wait.value, wait.compare}; }
  ComputeOp operator()(const Signal& signal) const {
    return SignalWriteOp{word(signal.signal), signal.value, signal.op};
  }
  ComputeOp operator()(const Gemm& gemm) const {
    const bool mapped = !gemm.outputs.empty();
    GemmLaunchOp launch{span(gemm.a),
                        span(gemm.b),
                        mapped ? Span2D{} : span(gemm.c),
                        gemm.m,
                        gemm.n,
                        gemm.k,
                        gemm.dtype,
                        gemm.accumulate,
                        gemm.tile_m,
                        gemm.tile_n,
                        {}};
    for (const TileSignal& raise : gemm.raises) launch.raises.push_back({raise.tiles, word(raise.signal), raise.value});
    for (const TileWait& wait : gemm.waits) launch.holds.push_back({wait.tiles, word(wait.signal), wait.value});
    launch.split_k = gemm.split_k;
    for (const OutputBlock& block : gemm.outputs) {
      launch.outputs.push_back({block.row, block.column, block.rows, block.columns, span(block.to), block.op});
    }
    return launch;
  }
  ComputeOp operator()(const Kernel& kernel) const {
    KernelLaunchOp launch{kernel.op, {}, span(kernel.dst), kernel.dtype, kernel.rows};
    for (const Region& source : kernel.sources) launch.sources.push_back(span(source));
    for (const Region& also : kernel.also) launch.also.push_back(span(also));
    return launch;
  }
  ComputeOp operator()(const Call& call) const {
    CallLaunchOp launch{call.function, {}, span(call.result), call.parameters};
    for (const Region& operand : call.operands) launch.operands.push_back(span(operand));
    return launch;
  }
  ComputeOp operator()(const Submit& submit) const { return SubmitOp{submit.queue.value}; }
  template <class Other>
  ComputeOp operator()(const Other&) const {
    CORTADO_CHECK(false, "verified programs have no such command on a compute queue");
  }

 private:
  const AddressMap& addresses_;
};

}  // namespace

ComputeStream::ComputeStream(const Program& program, QueueId id, const AddressMap& addresses,
                             const std::vector<std::uint64_t>& advances, bool trace)
    : id_(id) {
  const Resolver resolve(addresses);
  const std::vector<Command>& commands = program.queue(id).commands;
  std::uint64_t slot = addresses.slots[id.value];
  for (const Command& command : commands) {
    const bool is_stamp = std::holds_alternative<Timestamp>(command);
    if (trace || is_stamp) stamp(slot);
    slot += kSlotBytes;
    if (is_stamp) continue;
    if (const auto* wait = std::get_if<Wait>(&command)) {
      values_.push_back({operations_.size(), wait->value, advances[wait->signal.value]});
    } else if (const auto* signal = std::get_if<Signal>(&command); signal != nullptr && signal->op == SignalOp::set) {
      values_.push_back({operations_.size(), signal->value, advances[signal->signal.value]});
    } else if (const auto* gemm = std::get_if<Gemm>(&command)) {
      for (std::size_t i = 0; i < gemm->waits.size(); ++i) {
        values_.push_back({operations_.size(), gemm->waits[i].value, advances[gemm->waits[i].signal.value], i});
      }
    }
    if (std::holds_alternative<Submit>(command)) submits_.push_back(operations_.size());
    operations_.push_back(std::visit(resolve, command));
  }
  if (trace) stamp(slot);
}

void ComputeStream::connect(const std::vector<PacketWriter*>& writers) {
  for (const std::size_t operation : submits_) {
    auto& submit = std::get<SubmitOp>(operations_[operation]);
    submit.writer = writers[submit.queue];
  }
}

void ComputeStream::resolve_again(const Program& program, const AddressMap& addresses) {
  const Resolver resolve(addresses);
  std::size_t operation = 0;
  for (const Command& command : program.queue(id_).commands) {
    const bool has_addresses = !std::holds_alternative<Timestamp>(command) && !std::holds_alternative<Submit>(command);
    if (has_addresses) operations_[operation] = std::visit(resolve, command);
    ++operation;
  }
}

void ComputeStream::stamp(std::uint64_t address) {
  slots_.push_back({operations_.size(), address});
  operations_.push_back(TimestampOp{word_at(address)});
}

void ComputeStream::submit(std::uint64_t iteration, std::uint64_t slot_offset) {
  for (const ValuePlace& place : values_) {
    const std::uint64_t value = place.value + iteration * place.advance;
    ComputeOp& operation = operations_[place.operation];
    if (auto* wait = std::get_if<WaitOp>(&operation)) {
      wait->value = value;
    } else if (auto* gemm = std::get_if<GemmLaunchOp>(&operation)) {
      gemm->holds[place.hold].value = value;
    } else {
      std::get<SignalWriteOp>(operation).value = value;
    }
  }
  for (const SlotPlace& place : slots_) {
    std::get<TimestampOp>(operations_[place.operation]).slot = word_at(place.address + slot_offset);
  }
  for (const std::size_t operation : submits_) {
    auto& submit = std::get<SubmitOp>(operations_[operation]);
    submit.iteration = iteration;
    submit.slot_offset = slot_offset;
  }
  driver_->submit(*queue_, operations_);
}

void ComputeStream::submit_drain(std::uint64_t* word) {
  const ComputeOp operation = SignalWriteOp{word, 1, SignalOp::add};
  driver_->submit(*queue_, {&operation, 1});
}

}  // namespace cortado::device
