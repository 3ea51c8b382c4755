// The Python module: communicators. The Python code in cortado/__init__.py defines its interface.
#include "module.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cortado/communicator.hpp"

#include "arrays.hpp"

namespace py = pybind11;

namespace cortado::python {

void raise(const Diagnostic& diagnostic) {
  const py::object type = py::module_::import("cortado._errors").attr("Error");
  const py::object error = type(diagnostic.code, diagnostic.message, diagnostic.hint, to_string(diagnostic));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw py::error_already_set();
}

namespace {

struct Request {
  int kind;
  py::object send;
  py::object recv;
  int element;
  int reduction;
  std::uint32_t root;
  std::vector<std::uint64_t> send_bytes;
  std::vector<std::uint64_t> recv_bytes;
};

Operation operation_of(const Request& request) {
  const Memory send = memory_of(request.send, false);
  const Memory recv = memory_of(request.recv, true);
  Operation operation;
  operation.kind = static_cast<OperationKind>(request.kind);
  operation.send = {send.data, send.bytes};
  operation.recv = {recv.data, recv.bytes};
  operation.element = static_cast<Element>(request.element);
  operation.reduction = static_cast<Reduction>(request.reduction);
  operation.root = request.root;
  operation.send_bytes = request.send_bytes;
  operation.recv_bytes = request.recv_bytes;
  return operation;
}

CommunicatorOptions options_of(std::string name, std::uint32_t rank, std::uint32_t ranks, double timeout,
                               std::uint64_t window, std::string variant) {
  CommunicatorOptions options;
  options.name = std::move(name);
  options.rank = rank;
  options.ranks = ranks;
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout * 1e3));
  options.window = {window};
  options.variant = std::move(variant);
  return options;
}

/// Operations wait without holding the interpreter lock.
Status without_lock(const std::function<Status()>& work) {
  const py::gil_scoped_release release;
  return work();
}

/// A persistent operation, which keeps its communicator and its arrays alive.
struct Prepared {
  std::shared_ptr<Communicator> communicator;
  Communicator::Persistent operation;
  py::object send;
  py::object recv;
};

void add_communicator(py::module_& module) {
  py::class_<Prepared>(module, "Prepared")
      .def("run", [](Prepared& self) { check(without_lock([&] { return self.operation.run(); })); })
      .def("start", [](Prepared& self) { return self.operation.start(); });
  py::class_<Work>(module, "Work").def("test", &Work::test).def("wait", [](const Work& work) {
    check(without_lock([&] { return work.wait(); }));
  });

  // Shared, because memory of its window may outlive the Python variable of the communicator.
  py::class_<Communicator, std::shared_ptr<Communicator>>(module, "Communicator")
      .def_static("join",
                  [](std::string name, std::uint32_t rank, std::uint32_t ranks, double timeout, std::uint64_t window,
                     std::string variant) {
                    const CommunicatorOptions options =
                        options_of(std::move(name), rank, ranks, timeout, window, std::move(variant));
                    auto joined = [&] {
                      const py::gil_scoped_release release;
                      return Communicator::join(options);
                    }();
                    return std::make_shared<Communicator>(value_of(std::move(joined)));
                  })
      .def_static("threads",
                  [](std::uint32_t ranks, double timeout, std::uint64_t window, std::string variant) {
                    auto made = value_of(
                        Communicator::threads(ranks, options_of("", 0, ranks, timeout, window, std::move(variant))));
                    std::vector<std::shared_ptr<Communicator>> all;
                    for (Communicator& one : made) all.push_back(std::make_shared<Communicator>(std::move(one)));
                    return all;
                  })
      .def("run",
           [](Communicator& self, int kind, py::object send, py::object recv, int element, int reduction,
              std::uint32_t root, std::vector<std::uint64_t> send_bytes, std::vector<std::uint64_t> recv_bytes) {
             const Operation operation = operation_of({kind, std::move(send), std::move(recv), element, reduction, root,
                                                       std::move(send_bytes), std::move(recv_bytes)});
             check(without_lock([&] { return self.run(operation); }));
           })
      .def("start",
           [](Communicator& self, int kind, py::object send, py::object recv, int element, int reduction,
              std::uint32_t root, std::vector<std::uint64_t> send_bytes, std::vector<std::uint64_t> recv_bytes) {
             return self.start(operation_of({kind, std::move(send), std::move(recv), element, reduction, root,
                                             std::move(send_bytes), std::move(recv_bytes)}));
           })
      .def("prepare",
           [](const std::shared_ptr<Communicator>& self, int kind, py::object send, py::object recv, int element,
              int reduction, std::uint32_t root, std::vector<std::uint64_t> send_bytes,
              std::vector<std::uint64_t> recv_bytes) {
             const Operation operation = operation_of(
                 {kind, send, recv, element, reduction, root, std::move(send_bytes), std::move(recv_bytes)});
             return Prepared{self, value_of(self->prepare(operation)), std::move(send), std::move(recv)};
           })
      .def("abort", &Communicator::abort)
      .def("explain", &Communicator::explain)
      .def("allocate",
           [](const std::shared_ptr<Communicator>& self, std::uint64_t bytes) {
             const std::span<std::byte> part = value_of(self->allocate({bytes}));
             auto* const owner = new std::pair(self, part);
             const py::capsule life(owner, [](void* pointer) {
               auto* const held = static_cast<std::pair<std::shared_ptr<Communicator>, std::span<std::byte>>*>(pointer);
               held->first->release(held->second);
               delete held;
             });
             return py::make_tuple(reinterpret_cast<std::uintptr_t>(part.data()), life);
           })
      .def_property_readonly("rank", &Communicator::rank)
      .def_property_readonly("ranks", &Communicator::ranks);

  module.def("element_of", &element_of);
  module.def("options_from_environment", [] {
    const CommunicatorOptions options = value_of(options_from_environment());
    return py::make_tuple(options.name, options.rank, options.ranks);
  });
}

}  // namespace
}  // namespace cortado::python

PYBIND11_MODULE(_cortado, module) {
  cortado::python::add_communicator(module);
  cortado::python::add_planning(module);
}
