// Memory of Python's arrays and tensors, without a copy.
#pragma once

#include <cstddef>
#include <pybind11/pybind11.h>
#include <string>

namespace cortado::python {

struct Memory {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// Of an object with the buffer protocol (NumPy arrays, bytearrays), of one that speaks DLPack (tensors of PyTorch), or
/// of (address, bytes); none of None. All its elements stand one behind another, in memory of the processor. Who calls
/// keeps the object.
Memory memory_of(const pybind11::handle& object, bool writable);

/// "f32", "bf16", ... as communicator.hpp names elements; empty if it has no such name.
std::string element_of(const pybind11::handle& object);

}  // namespace cortado::python
