// Names and construction of operations.
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "cortado/communicator.hpp"

namespace cortado {

Bytes size_of(Element element) {
  switch (element) {
    case Element::u8:
    case Element::i8:
    case Element::f8:
      return {1};
    case Element::f16:
    case Element::bf16:
      return {2};
    case Element::i32:
    case Element::f32:
      return {4};
    case Element::i64:
    case Element::f64:
      return {8};
  }
  return {1};
}

std::string_view name_of(Element element) {
  constexpr std::array<std::string_view, 9> kNames{"u8", "i8", "i32", "i64", "f16", "bf16", "f32", "f64", "f8"};
  return kNames.at(static_cast<std::size_t>(element));
}

std::string_view name_of(Reduction reduction) {
  constexpr std::array<std::string_view, 3> kNames{"sum", "min", "max"};
  return kNames.at(static_cast<std::size_t>(reduction));
}

std::string_view name_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::barrier:
      return "barrier";
    case OperationKind::all_gather:
      return "all-gather";
    case OperationKind::all_to_all:
      return "all-to-all";
    case OperationKind::reduce_scatter:
      return "reduce-scatter";
    case OperationKind::all_reduce:
      return "all-reduce";
    case OperationKind::broadcast:
      return "broadcast";
    case OperationKind::gather:
      return "gather";
    case OperationKind::scatter:
      return "scatter";
    case OperationKind::send:
      return "send";
    case OperationKind::recv:
      return "recv";
  }
  return "";
}

namespace {

Operation of_kind(OperationKind kind, Sent send, Received recv, std::uint32_t root = 0) {
  Operation operation;
  operation.kind = kind;
  operation.send = send;
  operation.recv = recv;
  operation.root = root;
  return operation;
}

Operation reducing(OperationKind kind, Element element, Sent send, Received recv, Reduction reduction) {
  Operation operation = of_kind(kind, send, recv);
  operation.element = element;
  operation.reduction = reduction;
  return operation;
}

}  // namespace

Operation barrier() {
  return of_kind(OperationKind::barrier, {}, {});
}
Operation all_gather(Sent send, Received recv) {
  return of_kind(OperationKind::all_gather, send, recv);
}
Operation all_gather_v(Sent send, Received recv, std::vector<std::uint64_t> recv_bytes) {
  Operation operation = of_kind(OperationKind::all_gather, send, recv);
  operation.recv_bytes = std::move(recv_bytes);
  return operation;
}
Operation all_to_all(Sent send, Received recv) {
  return of_kind(OperationKind::all_to_all, send, recv);
}
Operation all_to_all_v(Sent send, std::vector<std::uint64_t> send_bytes, Received recv,
                       std::vector<std::uint64_t> recv_bytes) {
  Operation operation = of_kind(OperationKind::all_to_all, send, recv);
  operation.send_bytes = std::move(send_bytes);
  operation.recv_bytes = std::move(recv_bytes);
  return operation;
}
Operation reduce_scatter(Element element, Sent send, Received recv, Reduction reduction) {
  return reducing(OperationKind::reduce_scatter, element, send, recv, reduction);
}
Operation all_reduce(Element element, Sent send, Received recv, Reduction reduction) {
  return reducing(OperationKind::all_reduce, element, send, recv, reduction);
}
Operation broadcast(Received buffer, std::uint32_t root) {
  return of_kind(OperationKind::broadcast, {}, buffer, root);
}
Operation gather(Sent send, Received recv, std::uint32_t root) {
  return of_kind(OperationKind::gather, send, recv, root);
}
Operation scatter(Sent send, Received recv, std::uint32_t root) {
  return of_kind(OperationKind::scatter, send, recv, root);
}
Operation send(Sent data, std::uint32_t to) {
  return of_kind(OperationKind::send, data, {}, to);
}
Operation recv(Received data, std::uint32_t from) {
  return of_kind(OperationKind::recv, {}, data, from);
}

}  // namespace cortado
