#include "mutate.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace cortado::fuzz {
namespace {

/// A piece [begin, begin + length) of `size` bytes; short ones are likelier.
struct Piece {
  std::size_t begin = 0;
  std::size_t length = 0;
};

Piece random_piece(std::size_t size, Random& random) {
  if (size == 0) return {};
  const std::size_t begin = random.below(size);
  const std::size_t longest = random.chance(4) ? size - begin : std::min<std::size_t>(size - begin, 16);
  return {begin, 1 + random.below(longest)};
}

auto at(Input& input, std::size_t index) {
  return input.begin() + static_cast<std::ptrdiff_t>(index);
}
auto at(const Input& input, std::size_t index) {
  return input.begin() + static_cast<std::ptrdiff_t>(index);
}

void insert(Input& input, const Input& from, Piece piece, Random& random) {
  const Input copy(at(from, piece.begin), at(from, piece.begin + piece.length));
  input.insert(at(input, random.below(input.size() + 1)), copy.begin(), copy.end());
}

/// Overwrites four bytes, at a multiple of four as often as not, with a number that tends to break things.
void odd_number(Input& input, Random& random) {
  static constexpr std::array<std::uint32_t, 10> kOdd{0,          1,          0x7f,       0x80,       0xff,
                                                      0x7fffffff, 0x80000000, 0xffffffff, 0x3fffffff, 0x00100000};
  if (input.size() < sizeof(std::uint32_t)) return;
  std::size_t place = random.below(input.size() - 3);
  if (random.chance(2)) place &= ~std::size_t{3};
  const std::uint32_t value = kOdd[random.below(kOdd.size())];
  std::memcpy(input.data() + place, &value, sizeof value);
}

void change(Input& input, const std::vector<Input>& seeds, Random& random) {
  const Piece piece = random_piece(input.size(), random);
  switch (random.below(8)) {
    case 0:
      if (!input.empty()) input[random.below(input.size())] ^= static_cast<std::uint8_t>(1U << random.below(8));
      break;
    case 1:
      if (!input.empty()) input[random.below(input.size())] = static_cast<std::uint8_t>(random.next());
      break;
    case 2:
      odd_number(input, random);
      break;
    case 3:
      input.resize(random.below(input.size() + 1));
      break;
    case 4:
      input.erase(at(input, piece.begin), at(input, piece.begin + piece.length));
      break;
    case 5:
      insert(input, input, piece, random);
      break;
    case 6: {
      const Input& other = seeds[random.below(seeds.size())];
      insert(input, other, random_piece(other.size(), random), random);
      break;
    }
    default: {
      Input noise(1 + random.below(8));
      for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(random.next());
      insert(input, noise, {0, noise.size()}, random);
    }
  }
}

}  // namespace

Input mutate(const std::vector<Input>& seeds, std::size_t max_bytes, Random& random) {
  Input input = seeds[random.below(seeds.size())];
  for (std::uint64_t changes = 1 + random.below(8); changes > 0; --changes) change(input, seeds, random);
  if (input.size() > max_bytes) input.resize(max_bytes);
  return input;
}

}  // namespace cortado::fuzz
