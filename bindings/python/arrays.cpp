#include "arrays.hpp"

#include <cstdint>
#include <utility>

#include "cortado/result.hpp"

#include "module.hpp"

namespace py = pybind11;

namespace cortado::python {
namespace {

/// What an object that supports DLPack says about itself: the first member of DLManagedTensor, as laid out in version 0
/// of that interface.
struct DlTensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device;
  std::int32_t dimensions;
  std::uint8_t type;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: contiguous
  std::uint64_t byte_offset;
};

enum DlType : std::uint8_t { integer_type = 0, unsigned_type = 1, float_type = 2, bfloat_type = 4, bool_type = 6 };
constexpr std::int32_t kProcessor = 1;  // device types
constexpr std::int32_t kPinnedMemory = 3;

/// The capsule owns nothing that we keep: it is dropped unused, and the object's own memory stays.
class Tensor {
 public:
  explicit Tensor(const py::handle& object) : capsule_(object.attr("__dlpack__")()) {
    void* const pointer = PyCapsule_GetPointer(capsule_.ptr(), "dltensor");
    if (pointer == nullptr) throw py::error_already_set();
    tensor_ = static_cast<const DlTensor*>(pointer);
  }
  const DlTensor* operator->() const { return tensor_; }

  std::size_t elements() const {
    std::size_t count = 1;
    for (std::int32_t i = 0; i < tensor_->dimensions; ++i) count *= static_cast<std::size_t>(tensor_->shape[i]);
    return count;
  }
  bool contiguous() const {
    if (tensor_->strides == nullptr || elements() == 0) return true;
    std::int64_t stride = 1;
    for (std::int32_t i = tensor_->dimensions; i-- > 0;) {
      if (tensor_->shape[i] != 1 && tensor_->strides[i] != stride) return false;
      stride *= tensor_->shape[i];
    }
    return true;
  }

 private:
  py::object capsule_;
  const DlTensor* tensor_;
};

bool is_tensor(const py::handle& object) {
  return PyObject_CheckBuffer(object.ptr()) == 0 && py::hasattr(object, "__dlpack__");
}

Memory memory_of_tensor(const py::handle& object) {
  const Tensor tensor(object);
  if (tensor->device_type != kProcessor && tensor->device_type != kPinnedMemory) {
    raise({"runtime.arguments", "the tensor is not in CPU memory", "copy it there first: tensor.cpu()"});
  }
  if (!tensor.contiguous()) {
    raise({"runtime.arguments", "the tensor is not contiguous", "pass tensor.contiguous()"});
  }
  return {static_cast<std::byte*>(tensor->data) + tensor->byte_offset,
          tensor.elements() * tensor->bits * tensor->lanes / 8};
}

}  // namespace

Memory memory_of(const py::handle& object, bool writable) {
  if (object.is_none()) return {};
  if (py::isinstance<py::tuple>(object)) {
    const auto pair = py::cast<std::pair<std::uintptr_t, std::size_t>>(object);
    return {reinterpret_cast<std::byte*>(pair.first), pair.second};
  }
  if (is_tensor(object)) return memory_of_tensor(object);
  Py_buffer view{};
  const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &view, flags) != 0) throw py::error_already_set();
  const Memory memory{static_cast<std::byte*>(view.buf), static_cast<std::size_t>(view.len)};
  PyBuffer_Release(&view);
  return memory;
}

std::string element_of(const py::handle& object) {
  if (!is_tensor(object)) {
    const auto format =
        py::cast<std::string>(py::module_::import("builtins").attr("memoryview")(object).attr("format"));
    const auto last = format.empty() ? 'B' : format.back();
    const std::pair<char, const char*> names[] = {{'B', "u8"},  {'?', "u8"},  {'b', "i8"},  {'i', "i32"}, {'l', "i64"},
                                                  {'q', "i64"}, {'e', "f16"}, {'f', "f32"}, {'d', "f64"}};
    for (const auto& [letter, name] : names) {
      if (letter == last && format.find_first_of(">!") == std::string::npos) return name;
    }
    return "";
  }
  const Tensor tensor(object);
  if (tensor->lanes != 1) return "";
  const std::string bits = std::to_string(tensor->bits);
  switch (tensor->type) {
    case integer_type:
      return bits == "16" ? "" : "i" + bits;
    case unsigned_type:
    case bool_type:
      return bits == "8" ? "u8" : "";
    case float_type:
      return "f" + bits;
    case bfloat_type:
      return "bf" + bits;
    default:
      return "";
  }
}

}  // namespace cortado::python
