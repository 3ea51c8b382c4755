#include "device/executor/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "cortado/base/check.hpp"
#include "cortado/base/random.hpp"
#include "cortado/ir/text.hpp"
#include "cortado/ir/visit.hpp"

namespace cortado::device {
namespace {

/// Elements of a buffer that only commands name: products of a few of these stay exact, too.
constexpr std::uint32_t kBoundWithoutContract = 8;

bool has_small_integers(DType dtype) {
  return ElementFormat{dtype, 0}.small_integers();
}

Status claim(const Program& program, std::vector<ElementFormat>& formats, const Region& region, ElementFormat wanted) {
  ElementFormat& format = formats[region.buffer.value];
  if (format.small_integers() && format.dtype != wanted.dtype) {
    return fail("device.pattern",
                fmt::format("buffer {} is summed as {} and as {}: no input is exact for both",
                            program.buffer(region.buffer).name, to_string(format.dtype), to_string(wanted.dtype)),
                "use one element type a buffer");
  }
  const std::uint64_t size = size_of(wanted.dtype).value;
  if (region.offset.value % size != 0 || region.width.value % size != 0 ||
      (region.rows > 1 && region.pitch.value % size != 0)) {
    return fail("device.pattern",
                fmt::format("{} is summed as {} but is not made of whole aligned elements", to_string(program, region),
                            to_string(wanted.dtype)),
                "make offset, width and pitch multiples of the element size");
  }
  if (!format.small_integers()) {
    format = wanted;
  } else {
    format.bound = std::min(format.bound, wanted.bound);
  }
  return {};
}

}  // namespace

Result<std::vector<ElementFormat>> element_formats(const Program& program) {
  std::vector<ElementFormat> formats(program.buffers.size());
  for (const Clause& clause : program.contract.clauses) {
    if (clause.terms.size() < 2 || !has_small_integers(clause.dtype)) continue;
    const auto terms = static_cast<std::uint32_t>(clause.terms.size());
    const ElementFormat format{clause.dtype, std::max(kMaxSum / terms, 1U)};
    for (const Region& term : clause.terms) CORTADO_RETURN_IF_ERROR(claim(program, formats, term, format));
  }
  const std::vector<ElementFormat> by_contract = formats;
  const auto suggest = [&](const Region& region, DType dtype) {
    if (!has_small_integers(dtype) || by_contract[region.buffer.value].small_integers()) return;
    formats[region.buffer.value] = {dtype, kBoundWithoutContract};
  };
  for (const Queue& queue : program.queues) {
    for (const Command& command : queue.commands) {
      if (const auto* gemm = std::get_if<Gemm>(&command)) {
        suggest(gemm->a, gemm->dtype);
        suggest(gemm->b, gemm->dtype);
        if (gemm->accumulate) suggest(gemm->c, gemm->dtype);
      }
    }
  }
  return formats;
}

std::uint32_t small_integer_bits(DType dtype, std::uint32_t value) {
  const auto f32 = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (dtype == DType::f32) return f32;
  if (dtype == DType::bf16) return f32 >> 16;  // at most 8 significant bits: nothing is lost
  // f16 has 5 exponent bits with bias 15 and 10 fraction bits; f32 has bias 127 and 23 fraction bits.
  if (value == 0) return 0;
  const std::uint32_t exponent = (f32 >> 23) - 127 + 15;
  return (exponent << 10) | ((f32 >> 13) & 0x3ff);
}

BufferPattern::BufferPattern(std::uint64_t seed, std::uint64_t iteration, BufferId buffer, ElementFormat format)
    : key_(Random(Random(seed).next() ^ buffer.value).next()),
      iteration_bytes_((iteration & 0xff) * 0x0101010101010101ULL),
      turn_(format.small_integers() ? static_cast<std::uint32_t>(iteration % (format.bound + 1)) : 0),
      format_(format) {}

void BufferPattern::bytes(std::uint64_t offset, std::span<std::byte> out) const {
  if (format_.small_integers()) {
    const std::uint64_t size = size_of(format_.dtype).value;
    CORTADO_CHECK(offset % size == 0 && out.size() % size == 0, "whole elements");
    for (std::size_t at = 0; at < out.size(); at += size) {
      const std::uint32_t bits = small_integer_bits(format_.dtype, integer((offset + at) / size));
      std::memcpy(out.data() + at, &bits, size);
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
