// What the formula of a contract yields for given inputs: its steps one after another in plain loops, with sums in
// double precision and results rounded to f32. Shares no code with the kernels of any device.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "cortado/program.hpp"

namespace cortado::device {

class FormulaValues {
 public:
  using Fill = std::function<void(BufferId, std::span<std::byte>)>;

  /// `fill` supplies the buffers that steps read. The program must have been verified and must outlive this.
  FormulaValues(const Program& program, const Fill& fill);

  const std::byte* row(const Region& region, std::uint64_t row) const {
    return memory_[region.buffer.value].data() + region.row_offset(row).value;
  }

 private:
  void run(const Copy& copy);
  void run(const Gemm& gemm);
  void run(const Kernel& kernel);
  void run(const Call& call);
  template <class Other>
  void run(const Other&) {}

  float number(const Region& region, std::uint64_t row, std::uint64_t column) const;
  std::uint32_t integer(const Region& region, std::uint64_t row) const;
  std::uint64_t columns(const Region& region) const { return region.width.value / sizeof(float); }
  void set(const Region& region, std::uint64_t row, std::uint64_t column, double value);
  void set_integer(const Region& region, std::uint64_t row, std::uint32_t value);
  void copy_row(const Region& from, std::uint64_t from_row, const Region& to, std::uint64_t to_row);

  void rms_norm(const Call& call);
  void rope(const Call& call);
  void append(const Call& call);
  void attention(const Call& call);
  void route(const Call& call);

  std::vector<std::vector<std::byte>> memory_;  // by BufferId, then values
};

}  // namespace cortado::device
