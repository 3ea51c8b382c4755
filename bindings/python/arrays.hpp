// Memory of Python arrays and tensors, without a copy.
#pragma once

#include <cstddef>
#include <pybind11/pybind11.h>
#include <string>

namespace cortado::python {

struct Memory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// The memory of an object with the buffer protocol (NumPy arrays, bytearrays), of one that supports DLPack (PyTorch
/// tensors), or of (address, bytes); none for None. All its elements must be contiguous and in host memory. The caller
/// keeps the object alive.
Memory memory_of(const pybind11::handle& object, bool writable);

/// "f32", "bf16", ...: names of elements as in communicator.hpp; empty if it has no such name.
std::string element_of(const pybind11::handle& object);

}  // namespace cortado::python
