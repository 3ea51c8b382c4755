#include "device/executor/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/random.hpp"
#include "base/small_float.hpp"
#include "ir/functions.hpp"
#include "ir/visit.hpp"

namespace cortado::device {
namespace {

/// Larger factors would find no more mistakes.
constexpr std::uint32_t kMaxFactor = 8;

ElementFormat dense(DType dtype, std::uint32_t bound) {
  return {dtype, bound, bound + 1};
}

Status claim(const Program& program, std::vector<ElementFormat>& formats, const Region& region, ElementFormat wanted) {
  ElementFormat& format = formats[region.buffer.value];
  if (format.small_integers() && format.dtype != wanted.dtype) {
    return fail("device.pattern",
                fmt::format("buffer {} is used as {} and as {}: no input is exact for both",
                            program.buffer(region.buffer).name, to_string(format.dtype), to_string(wanted.dtype)),
                "use one element type per buffer");
  }
  const std::uint64_t size = size_of(wanted.dtype).value;
  if (region.offset.value % size != 0 || region.width.value % size != 0 ||
      (region.rows > 1 && region.pitch.value % size != 0)) {
    return fail("device.pattern",
                fmt::format("{} is used as {} but is not made of whole aligned elements", to_string(program, region),
                            to_string(wanted.dtype)),
                "make offset, width and pitch multiples of the element size");
  }
  // Smaller integers also satisfy those who asked for larger ones; so do fewer of them.
  const bool smaller = wanted.bound < format.bound || (wanted.bound == format.bound && wanted.period > format.period);
  if (!format.small_integers() || smaller) format = wanted;
  return {};
}

/// Inputs that steps of the formula read as f32.
std::vector<Region> formula_matrices(const Program& program) {
  std::vector<Region> matrices;
  for (const Command& step : program.contract.formula.steps) {
    const auto* call = std::get_if<Call>(&step);
    const Accesses all = accesses(step);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool integers = call != nullptr && i < call->operands.size() && info(call->function).operands[i].integers;
      if (!integers && all[i].region.buffer < first_value(program)) matrices.push_back(all[i].region);
    }
  }
  return matrices;
}

}  // namespace

ElementFormat factor_format(DType dtype, std::uint64_t k) {
  const double exact = exact_integers(dtype);
  const auto terms = static_cast<double>(k);
  const auto bound = static_cast<std::uint32_t>(std::min<double>(kMaxFactor, std::sqrt(exact / terms)));
  if (bound >= 1) return dense(dtype, bound);
  return {dtype, 1, static_cast<std::uint32_t>(std::ceil(2 * std::sqrt(terms / exact)))};
}

Result<std::vector<ElementFormat>> element_formats(const Program& program) {
  std::vector<ElementFormat> formats(program.buffers.size());
  for (const Clause& clause : program.contract.clauses) {
    if (clause.terms.size() < 2 || !is_float(clause.dtype)) continue;
    const std::uint32_t most = std::min(kMaxSum, exact_integers(clause.dtype));
    if (clause.terms.size() > most) {
      return fail("device.pattern",
                  fmt::format("{} is a sum of {} terms: {} sums of more than {} are not exact",
                              to_string(program, clause.output), clause.terms.size(), to_string(clause.dtype), most),
                  "use an element type with more bits");
    }
    const ElementFormat format = dense(clause.dtype, most / static_cast<std::uint32_t>(clause.terms.size()));
    for (const Region& term : clause.terms) CORTADO_RETURN_IF_ERROR(claim(program, formats, term, format));
  }
  for (const ProductClause& clause : program.contract.products) {
    std::uint64_t k = 0;
    for (const Product& product : clause.products) k += product.b.rows;
    const ElementFormat format = factor_format(clause.dtype, k);
    for (const Product& product : clause.products) {
      for (const Region& block : product.a) CORTADO_RETURN_IF_ERROR(claim(program, formats, block, format));
      CORTADO_RETURN_IF_ERROR(claim(program, formats, product.b, format));
    }
  }
  for (const Region& region : formula_matrices(program)) {
    CORTADO_RETURN_IF_ERROR(claim(program, formats, region, {DType::f32, kMaxSum, kMaxSum + 1, true}));
  }
  const std::vector<ElementFormat> by_contract = formats;
  const auto suggest = [&](const Region& region, const Gemm& gemm) {
    if (by_contract[region.buffer.value].small_integers()) return;
    formats[region.buffer.value] = factor_format(gemm.dtype, gemm.k);
  };
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      if (const auto* gemm = std::get_if<Gemm>(&command)) {
        suggest(gemm->a, *gemm);
        suggest(gemm->b, *gemm);
        if (gemm->accumulate) suggest(gemm->c, *gemm);
      }
    }
  }
  return formats;
}

std::uint32_t element_bits(DType dtype, float value) {
  if (dtype == DType::f16) return to_f16(value);
  if (dtype == DType::bf16) return to_bf16(value);
  if (dtype == DType::f8) return to_f8(value);
  return std::bit_cast<std::uint32_t>(value);
}

float element_value(DType dtype, const std::byte* element) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, element, size_of(dtype).value);
  if (dtype == DType::f16) return from_f16(static_cast<std::uint16_t>(bits));
  if (dtype == DType::bf16) return from_bf16(static_cast<std::uint16_t>(bits));
  if (dtype == DType::f8) return from_f8(static_cast<std::uint8_t>(bits));
  return std::bit_cast<float>(bits);
}

BufferPattern::BufferPattern(std::uint64_t seed, std::uint64_t iteration, BufferId buffer, ElementFormat format)
    : key_(Random(Random(seed).next() ^ buffer.value).next()),
      iteration_bytes_((iteration & 0xff) * 0x0101010101010101ULL),
      turn_(format.small_integers() ? static_cast<std::uint32_t>(iteration % format.period) : 0),
      format_(format) {}

void BufferPattern::bytes(std::uint64_t offset, std::span<std::byte> out) const {
  if (format_.small_integers()) {
    std::array<std::uint32_t, kMaxSum + 1> bits_of;
    for (std::uint32_t i = 0; i <= format_.bound; ++i) bits_of[i] = element_bits(format_.dtype, number(i));
    const std::uint64_t size = size_of(format_.dtype).value;
    for (std::size_t at = 0; at < out.size();) {
      const std::uint64_t within = (offset + at) % size;
      const std::uint32_t bits = bits_of[integer((offset + at) / size)] >> (8 * within);
      const std::size_t count = std::min<std::size_t>(size - within, out.size() - at);
      std::memcpy(out.data() + at, &bits, count);
      at += count;
    }
    return;
  }
  std::size_t at = 0;
  const auto partial = [&](std::size_t begin, std::size_t count) {
    const std::uint64_t value = word((offset + at) / 8) ^ iteration_bytes_;
    std::array<std::byte, 8> all;
    std::memcpy(all.data(), &value, 8);
    std::memcpy(out.data() + at, all.data() + begin, count);
    at += count;
  };
  if (const std::size_t misaligned = offset % 8; misaligned != 0 && !out.empty()) {
    partial(misaligned, std::min<std::size_t>(8 - misaligned, out.size()));
  }
  const std::size_t words = (out.size() - at) / 8;
  const std::uint64_t first = (offset + at) / 8;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t value = word(first + i) ^ iteration_bytes_;
    std::memcpy(out.data() + at + i * 8, &value, 8);
  }
  at += words * 8;
  if (at < out.size()) partial(0, out.size() - at);
}

void BufferPattern::add_integers(std::uint64_t offset, std::span<std::uint16_t> sums) const {
  const std::uint64_t first = offset / size_of(format_.dtype).value;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = static_cast<std::uint16_t>(sums[i] + integer(first + i));
  }
}

}  // namespace cortado::device
