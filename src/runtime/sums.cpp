#include "runtime/sums.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/small_float.hpp"

namespace cortado::runtime {
namespace {

/// Bytes that are combined at a time; loops have no other length, so that they are vectorised.
constexpr std::size_t kBlock = 2048;  // see base/copy_bytes.hpp for why not more
constexpr std::size_t kSmallBlock = 64;

struct Plus {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};
struct Least {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <class T>
  static T of(T a, T b) {
    return a < b ? b : a;
  }
};

template <class Type, class Op, std::size_t kBytes>
void reduce_blocks(std::byte* out, std::span<const std::byte* const> sources, std::uint64_t bytes) {
  using Stored = typename Type::Stored;
  using Wide = typename Type::Wide;
  constexpr std::size_t kElements = kBytes / sizeof(Stored);
  std::array<Wide, kElements> sum;
  std::array<Stored, kElements> stored{};
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min<std::uint64_t>(bytes - done, kBytes);
    std::memcpy(stored.data(), sources[0] + done, piece);
    for (std::size_t i = 0; i < kElements; ++i) sum[i] = Type::widen(stored[i]);
    for (const std::byte* source : sources.subspan(1)) {
      std::memcpy(stored.data(), source + done, piece);
      for (std::size_t i = 0; i < kElements; ++i) sum[i] = Op::template of<Wide>(sum[i], Type::widen(stored[i]));
    }
    for (std::size_t i = 0; i < kElements; ++i) stored[i] = Type::narrow(sum[i]);
    std::memcpy(out + done, stored.data(), piece);
    done += piece;
  }
}

/// Elements that are combined without conversion: vectors of them from all sources in turn, with no intermediate
/// memory.
template <class T, class Op>
void reduce_vectors(std::byte* out, std::span<const std::byte* const> sources, std::uint64_t bytes) {
  constexpr std::size_t kVector = 16;  // every processor has vectors of this size
  constexpr std::size_t kFourVectors = 4 * kVector;
  using Vector [[gnu::vector_size(kVector)]] = T;
  const auto load = [](const std::byte* from) {
    Vector vector;
    std::memcpy(&vector, from, kVector);
    return vector;
  };
  const auto combine = [](Vector& all, const Vector& one) {
    if constexpr (std::is_same_v<Op, Plus>) {
      all = all + one;
    } else if constexpr (std::is_same_v<Op, Least>) {
      all = one < all ? one : all;
    } else {
      all = all < one ? one : all;
    }
  };
  std::uint64_t done = 0;
  for (; done + kFourVectors <= bytes; done += kFourVectors) {
    const std::byte* from = sources[0] + done;
    Vector a = load(from);  // four of them, written out: they stay in registers
    Vector b = load(from + kVector);
    Vector c = load(from + 2 * kVector);
    Vector d = load(from + 3 * kVector);
    for (std::size_t s = 1; s < sources.size(); ++s) {
      from = sources[s] + done;
      combine(a, load(from));
      combine(b, load(from + kVector));
      combine(c, load(from + 2 * kVector));
      combine(d, load(from + 3 * kVector));
    }
    std::memcpy(out + done, &a, kVector);
    std::memcpy(out + done + kVector, &b, kVector);
    std::memcpy(out + done + 2 * kVector, &c, kVector);
    std::memcpy(out + done + 3 * kVector, &d, kVector);
  }
  for (; done < bytes; done += kVector) {
    const std::uint64_t rest = std::min<std::uint64_t>(bytes - done, kVector);
    Vector all{};
    std::memcpy(&all, sources[0] + done, rest);
    for (const std::byte* source : sources.subspan(1)) {
      Vector one{};
      std::memcpy(&one, source + done, rest);
      combine(all, one);
    }
    std::memcpy(out + done, &all, rest);
  }
}

/// Integers wrap, so their sums are those of unsigned ones.
template <class T, class Op>
struct Summand {
  using Type = T;
};
template <class T>
requires std::is_integral_v<T>
struct Summand<T, Plus> {
  using Type = std::make_unsigned_t<T>;
};

template <class Type, class Op>
void reduce_as(std::byte* out, std::span<const std::byte* const> sources, std::uint64_t bytes) {
  using Stored = typename Type::Stored;
  if constexpr (std::is_same_v<Type, PlainElement<Stored>>) {
    return reduce_vectors<typename Summand<Stored, Op>::Type, Op>(out, sources, bytes);
  }
  if (bytes <= 4 * kSmallBlock) return reduce_blocks<Type, Op, kSmallBlock>(out, sources, bytes);
  reduce_blocks<Type, Op, kBlock>(out, sources, bytes);
}

template <class Type>
void reduce_by(Reduction reduction, std::byte* out, std::span<const std::byte* const> sources, std::uint64_t bytes) {
  switch (reduction) {
    case Reduction::sum:
      return reduce_as<Type, Plus>(out, sources, bytes);
    case Reduction::min:
      return reduce_as<Type, Least>(out, sources, bytes);
    case Reduction::max:
      return reduce_as<Type, Greatest>(out, sources, bytes);
  }
}

}  // namespace

void reduce(Element element, Reduction reduction, std::byte* out, std::span<const std::byte* const> sources,
            std::uint64_t bytes) {
  switch (element) {
    case Element::u8:
      return reduce_by<PlainElement<std::uint8_t>>(reduction, out, sources, bytes);
    case Element::i8:
      return reduce_by<PlainElement<std::int8_t>>(reduction, out, sources, bytes);
    case Element::i32:
      return reduce_by<PlainElement<std::int32_t>>(reduction, out, sources, bytes);
    case Element::i64:
      return reduce_by<PlainElement<std::int64_t>>(reduction, out, sources, bytes);
    case Element::f16:
      return reduce_by<F16Element>(reduction, out, sources, bytes);
    case Element::bf16:
      return reduce_by<Bf16Element>(reduction, out, sources, bytes);
    case Element::f32:
      return reduce_by<PlainElement<float>>(reduction, out, sources, bytes);
    case Element::f64:
      return reduce_by<PlainElement<double>>(reduction, out, sources, bytes);
    case Element::f8:
      return reduce_by<F8Element>(reduction, out, sources, bytes);
  }
}

}  // namespace cortado::runtime
