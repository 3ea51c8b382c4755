// What verify.bounds requires of the regions of one command or clause.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "ir/visit.hpp"
#include "verify/naming.hpp"
#include "verify/regions.hpp"
#include "verify/rule.hpp"

namespace cortado::verifier {

/// Larger offsets are rejected, so that the sum of two offsets never wraps.
inline constexpr std::uint64_t kMaxOffset = 1ULL << 62;

/// Checks one command or clause; `place` is where errors point.
class FitCheck {
 public:
  FitCheck(const Program& program, Findings& findings, const Spot& place)
      : program_(program), findings_(findings), place_(place) {}

  /// True if the region is valid by itself, so that it can be compared with others.
  bool inside(const Region& region) {
    const Buffer& buffer = program_.buffer(region.buffer);
    if (region.width.value == 0 || region.rows == 0) {
      return error(text(region) + " is empty", "drop commands that move nothing");
    }
    if (region.rows > 1 && region.pitch < region.width) {
      return error(fmt::format("rows of {} overlap: pitch {} is less than width {}", text(region), region.pitch.value,
                               region.width.value),
                   "pitch is the distance between the starts of two rows");
    }
    const auto end = end_of(region);
    if (!end || *end > buffer.size.value || *end > kMaxOffset) {
      return error(fmt::format("{} ends {} but buffer {} has {} bytes", text(region),
                               end ? fmt::format("at byte {}", *end) : std::string("beyond 2^64"), buffer.name,
                               buffer.size.value),
                   "make the region smaller or the buffer larger");
    }
    return true;
  }

  bool all_inside(const Command& command) {
    bool good = true;
    for_each_access(command, [&](const Region& region, AccessKind) { good = inside(region) && good; });
    return good;
  }

  void same_shape(const Region& a, const Region& b) {
    if (a.width == b.width && a.rows == b.rows) return;
    error(fmt::format("{} and {} have different shapes", text(a), text(b)),
          "source and destination must have equal width and rows");
  }

  void one_row(const Region& region) {
    if (region.rows != 1) error(text(region) + " has several rows, but this command takes plain ranges", "use copies");
  }

  void apart(const Region& a, const Region& b) {
    if (overlap(a, b)) error(fmt::format("{} and {} overlap", text(a), text(b)), "move one of them");
  }

  void whole_elements(const Region& region, DType dtype) {
    const std::uint64_t size = size_of(dtype).value;
    const bool pitch_fits = region.rows == 1 || region.pitch.value % size == 0;
    if (region.width.value % size == 0 && region.offset.value % size == 0 && pitch_fits) return;
    error(fmt::format("{} does not consist of whole {} elements", text(region), to_string(dtype)),
          fmt::format("offset, width and pitch must be multiples of {}", size));
  }

  /// `name`: of the matrix, or a function that makes the name.
  template <class Name>
  void matrix(const Region& region, const Name& name, std::uint64_t rows, std::uint64_t columns, DType dtype) {
    std::uint64_t width = 0;
    const bool fits = !__builtin_mul_overflow(columns, size_of(dtype).value, &width);
    if (!fits || region.rows != rows || region.width.value != width) {
      std::string what;
      if constexpr (std::is_invocable_v<Name>) {
        what = name();
      } else {
        what = name;
      }
      error(fmt::format("{} is {} but must have {} rows of {} {} elements", what, text(region), rows, columns,
                        to_string(dtype)),
            "a matrix needs one region row per matrix row");
    }
    whole_elements(region, dtype);
  }

  void multiplied(DType dtype) {
    if (is_float(dtype)) return;
    error(fmt::format("a GEMM of {} elements", to_string(dtype)), "GEMMs are of f32, f16, bf16 or f8");
  }

  void row_numbers(const Kernel& kernel, const Region& listed, const Region& other) {
    if (kernel.rows.size() != other.rows) {
      error(fmt::format("{} row numbers for the {} rows of {}", kernel.rows.size(), other.rows, text(other)),
            "use one row number per row");
    }
    for (const std::uint64_t row : kernel.rows) {
      if (row < listed.rows) continue;
      error(fmt::format("row {} of {}, which has {} rows", row, text(listed), listed.rows), "rows count from 0");
      return;
    }
  }

  bool error(std::string message, std::string hint) {
    findings_.add(place_, std::move(message), std::move(hint));
    return false;
  }

 private:
  std::string text(const Region& region) const { return to_string(program_, region); }

  const Program& program_;
  Findings& findings_;
  const Spot& place_;
};

/// Checks that operands, result and parameters are what the function takes.
void check_call(FitCheck& fit, const Call& call);

}  // namespace cortado::verifier
