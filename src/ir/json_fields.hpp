// The JSON form of every part of a program, defined once: writer and reader are archives that walk these fields.
//
// archive.field(key, value) is a key that is always present; with a third argument it is omitted if the value equals
// that default; an optional value is omitted if it is empty. Regions and commands have forms of their own, defined in
// the archives.
#pragma once

#include <concepts>
#include <type_traits>

#include "cortado/program.hpp"

#include "ir/visit.hpp"

namespace cortado::json {

/// The writer walks constant parts, the reader mutable ones.
template <class T, class Part>
concept Is = std::same_as<std::remove_const_t<T>, Part>;

template <class Archive, Is<Copy> T>
void describe(Archive& archive, T& copy) {
  archive.field("src", copy.src);
  archive.field("dst", copy.dst);
  archive.field("op", copy.op, Copy{}.op);
  archive.field("dtype", copy.dtype, Copy{}.dtype);
}

template <class Archive, Is<Broadcast> T>
void describe(Archive& archive, T& broadcast) {
  archive.field("src", broadcast.src);
  archive.field("dst1", broadcast.dst1);
  archive.field("dst2", broadcast.dst2);
}

template <class Archive, Is<Swap> T>
void describe(Archive& archive, T& swap) {
  archive.field("a", swap.a);
  archive.field("b", swap.b);
}

template <class Archive, Is<Wait> T>
void describe(Archive& archive, T& wait) {
  archive.field("signal", wait.signal);
  archive.field("value", wait.value);
  archive.field("compare", wait.compare, Wait{}.compare);
}

template <class Archive, Is<Signal> T>
void describe(Archive& archive, T& signal) {
  archive.field("signal", signal.signal);
  archive.field("value", signal.value);
  archive.field("op", signal.op, Signal{}.op);
}

template <class Archive, Is<TileSignal> T>
void describe(Archive& archive, T& raise) {
  archive.field("tiles", raise.tiles);
  archive.field("signal", raise.signal);
  archive.field("value", raise.value);
}

template <class Archive, Is<TileWait> T>
void describe(Archive& archive, T& wait) {
  archive.field("tiles", wait.tiles);
  archive.field("signal", wait.signal);
  archive.field("value", wait.value);
}

template <class Archive, Is<OutputBlock> T>
void describe(Archive& archive, T& block) {
  archive.field("row", block.row);
  archive.field("column", block.column);
  archive.field("rows", block.rows);
  archive.field("columns", block.columns);
  archive.field("to", block.to);
  archive.field("op", block.op, OutputBlock{}.op);
}

template <class Archive, Is<Gemm> T>
void describe(Archive& archive, T& gemm) {
  archive.field("a", gemm.a);
  archive.field("b", gemm.b);
  archive.field("c", gemm.c, Region{});
  archive.field("m", gemm.m);
  archive.field("n", gemm.n);
  archive.field("k", gemm.k);
  archive.field("dtype", gemm.dtype);
  archive.field("accumulate", gemm.accumulate, Gemm{}.accumulate);
  archive.field("tile_m", gemm.tile_m);
  archive.field("tile_n", gemm.tile_n);
  archive.field("raises", gemm.raises, {});
  archive.field("split_k", gemm.split_k, Gemm{}.split_k);
  archive.field("outputs", gemm.outputs, {});
  archive.field("waits", gemm.waits, {});
}

template <class Archive, Is<Kernel> T>
void describe(Archive& archive, T& kernel) {
  archive.field("op", kernel.op);
  archive.field("sources", kernel.sources);
  archive.field("dst", kernel.dst);
  archive.field("dtype", kernel.dtype, Kernel{}.dtype);
  archive.field("rows", kernel.rows, {});
  archive.field("also", kernel.also, {});
}

template <class Archive, Is<Call> T>
void describe(Archive& archive, T& call) {
  archive.field("function", call.function);
  archive.field("operands", call.operands);
  archive.field("result", call.result);
  archive.field("parameters", call.parameters, {});
}

template <class Archive, Is<Submit> T>
void describe(Archive& archive, T& submit) {
  archive.field("queue", submit.queue);
}

template <class Archive, Is<Trigger> T>
void describe(Archive& archive, T& trigger) {
  archive.field("signal", trigger.signal);
  archive.field("value", trigger.value);
}

template <class Archive, Is<Timestamp> T>
void describe(Archive& archive, T& timestamp) {
  archive.field("label", timestamp.label);
}

template <class Archive, Is<Buffer> T>
void describe(Archive& archive, T& buffer) {
  archive.field("name", buffer.name);
  archive.field("rank", buffer.rank);
  archive.field("size", buffer.size);
  archive.field("role", buffer.role);
  archive.field("host", buffer.host);
}

template <class Archive, Is<SignalInfo> T>
void describe(Archive& archive, T& signal) {
  archive.field("name", signal.name);
  archive.field("home", signal.home);
}

template <class Archive, Is<Tracker> T>
void describe(Archive& archive, T& tracker) {
  archive.field("name", tracker.name);
  archive.field("region", tracker.region);
  archive.field("updates", tracker.updates);
  archive.field("signal", tracker.signal);
  archive.field("value", tracker.value, Tracker{}.value);
}

template <class Archive, Is<Queue> T>
void describe(Archive& archive, T& queue) {
  archive.field("name", queue.name);
  archive.field("kind", queue.kind);
  archive.field("rank", queue.rank);
  archive.field("engine", queue.engine);
  archive.field("priority", queue.priority, 0);
  archive.field("compute_units", queue.compute_units);
  archive.field("kernel", queue.kernel, {});
  archive.field("calls", queue.calls, 0U);
  archive.field("protocol", queue.protocol, Queue{}.protocol);
  archive.field("chunk", queue.chunk, Queue{}.chunk);
  archive.field("submission", queue.submission, Queue{}.submission);
  archive.field("packing", queue.packing, Queue{}.packing);
  archive.field("commands", queue.commands);
  archive.field("role", queue.role, usual_role(queue));
}

template <class Archive, Is<Clause> T>
void describe(Archive& archive, T& clause) {
  archive.field("output", clause.output);
  archive.field("terms", clause.terms);
  archive.field("dtype", clause.dtype, Clause{}.dtype);
}

template <class Archive, Is<Product> T>
void describe(Archive& archive, T& product) {
  archive.field("a", product.a);
  archive.field("b", product.b);
}

template <class Archive, Is<ProductClause> T>
void describe(Archive& archive, T& clause) {
  archive.field("output", clause.output);
  archive.field("products", clause.products);
  archive.field("dtype", clause.dtype);
}

template <class Archive, Is<FormulaValue> T>
void describe(Archive& archive, T& value) {
  archive.field("name", value.name);
  archive.field("size", value.size);
}

template <class Archive, Is<FormulaClause> T>
void describe(Archive& archive, T& clause) {
  archive.field("output", clause.output);
  archive.field("value", clause.value);
}

template <class Archive, Is<Formula> T>
void describe(Archive& archive, T& formula) {
  archive.field("values", formula.values);
  archive.field("steps", formula.steps);
  archive.field("outputs", formula.outputs);
}

template <class Archive, Is<Contract> T>
void describe(Archive& archive, T& contract) {
  archive.field("name", contract.name);
  archive.field("clauses", contract.clauses);
  archive.field("products", contract.products, {});
  archive.field("formula", contract.formula, {});
}

template <class Archive, Is<Program> T>
void describe(Archive& archive, T& program) {
  archive.field("name", program.name);
  archive.field("machine", program.machine);
  archive.field("ranks", program.ranks);
  archive.field("buffers", program.buffers);
  archive.field("signals", program.signals);
  archive.field("trackers", program.trackers, {});
  archive.field("queues", program.queues);
  archive.field("contract", program.contract);
}

/// Keys of the document besides those of the program.
inline constexpr const char* kSchemaName = "cortado.program";

/// The key that holds a command's name, as in the command table.
inline constexpr const char* kCommandKey = "command";

}  // namespace cortado::json
