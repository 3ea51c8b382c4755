#include "runtime/sums.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/small_float.hpp"

namespace cortado::runtime {
namespace {

constexpr std::size_t kBlock =
    2048;  // bytes that are combined at a time (base/copy_bytes.hpp); loops have no other length

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

template <class Type, class Op>
void reduce_as(std::byte* out, std::span<const std::byte* const> sources, std::uint64_t bytes) {
  using Stored = typename Type::Stored;
  using Wide = typename Type::Wide;
  constexpr std::size_t kElements = kBlock / sizeof(Stored);
  std::array<Wide, kElements> sum;
  std::array<Stored, kElements> stored{};
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t piece = std::min<std::uint64_t>(bytes - done, kBlock);
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
