#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/text.hpp"
#include "ir/functions.hpp"

namespace cortado {
namespace {

constexpr std::array<DType, 7> kDTypes{DType::u8,   DType::i8,  DType::i32, DType::f16,
                                       DType::bf16, DType::f32, DType::f8};

/// Other names that people use.
struct Alias {
  std::string_view name;
  DType dtype;
};
constexpr std::array<Alias, 4> kAliases{
    {{"fp32", DType::f32}, {"fp16", DType::f16}, {"fp8", DType::f8}, {"int8", DType::i8}}};

}  // namespace

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::i32:
      return "i32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::f8:
      return "f8";
  }
  return "?";
}

std::string_view to_string(QueueKind kind) {
  switch (kind) {
    case QueueKind::dma:
      return "dma";
    case QueueKind::compute:
      return "compute";
    case QueueKind::host:
      return "host";
  }
  return "?";
}

std::string_view to_string(QueueRole role) {
  switch (role) {
    case QueueRole::collective:
      return "collective";
    case QueueRole::gemm:
      return "gemm";
    case QueueRole::control:
      return "control";
  }
  return "?";
}

std::string_view to_string(BufferRole role) {
  switch (role) {
    case BufferRole::input:
      return "input";
    case BufferRole::output:
      return "output";
    case BufferRole::inout:
      return "inout";
    case BufferRole::scratch:
      return "scratch";
  }
  return "?";
}

std::string_view to_string(CopyOp op) {
  return op == CopyOp::store ? "store" : "add";
}
std::string_view to_string(Compare compare) {
  return compare == Compare::ge ? "ge" : "eq";
}
std::string_view to_string(SignalOp op) {
  return op == SignalOp::add ? "add" : "set";
}

std::string_view to_string(KernelOp op) {
  switch (op) {
    case KernelOp::reduce:
      return "reduce";
    case KernelOp::gather_rows:
      return "gather_rows";
    case KernelOp::scatter_rows:
      return "scatter_rows";
  }
  return "?";
}

std::string_view to_string(Function function) {
  return info(function).name;
}

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::none:
      return "none";
    case Protocol::ll:
      return "ll";
    case Protocol::ll128:
      return "ll128";
    case Protocol::simple:
      return "simple";
    case Protocol::sends:
      return "sends";
    case Protocol::multicast:
      return "multicast";
  }
  return "?";
}

std::string_view to_string(Submission submission) {
  switch (submission) {
    case Submission::ring:
      return "ring";
    case Submission::calls:
      return "calls";
    case Submission::batch:
      return "batch";
  }
  return "?";
}

std::string_view to_string(Packing packing) {
  switch (packing) {
    case Packing::each:
      return "each";
    case Packing::multicast:
      return "multicast";
    case Packing::fused:
      return "fused";
    case Packing::indirect:
      return "indirect";
  }
  return "?";
}

Result<DType> parse_dtype(std::string_view name) {
  std::vector<std::string> known;
  for (const DType dtype : kDTypes) {
    if (to_string(dtype) == name) return dtype;
    known.emplace_back(to_string(dtype));
  }
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return alias.dtype;
  }
  return fail("usage.dtype", fmt::format("unknown element type '{}'", name), "known: " + join(known));
}

Result<Collective> find_collective(std::string_view name) {
  const auto* found = std::ranges::find(kCollectives, name, &Collective::name);
  if (found != kCollectives.end()) return *found;
  return fail("plan.unknown_collective", fmt::format("unknown collective '{}'", name),
              suggestion(name, {Collective::kNames.begin(), Collective::kNames.end()}));
}

}  // namespace cortado
