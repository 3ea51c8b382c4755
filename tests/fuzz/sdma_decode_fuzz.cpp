// No byte string makes the packet decoder crash or read past its input; what decodes encodes back to the same packet.
#include <cstring>
#include <vector>

#include "cortado/packets.hpp"

#include "base/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cortado;
  std::vector<std::uint32_t> ring(size / sizeof(std::uint32_t));
  if (!ring.empty()) std::memcpy(ring.data(), data, ring.size() * sizeof(std::uint32_t));

  std::span<const std::uint32_t> rest = ring;
  while (!rest.empty()) {
    const auto first = sdma::decode(rest);
    if (!first) {
      CORTADO_CHECK(!first.error().message.empty(), "an error says what is wrong");
      CORTADO_CHECK(first.error().header == rest[0], "an error carries its header");
      return 0;
    }
    CORTADO_CHECK(first->dwords >= 1 && first->dwords <= rest.size(), "a packet lies within the input");
    CORTADO_CHECK(sdma::why_not_encodable(first->packet).empty(), "what decodes has an encoding");
    CORTADO_CHECK(!sdma::to_string(first->packet).empty(), "a packet has a text form");

    std::vector<std::uint32_t> again(sdma::dwords(first->packet));
    CORTADO_CHECK(sdma::encode(first->packet, again.data()) == first->dwords, "the encoding has the decoded length");
    const auto second = sdma::decode(again);
    CORTADO_CHECK(second.has_value() && second->packet == first->packet, "the encoding decodes to the same packet");
    rest = rest.subspan(first->dwords);
  }
  return 0;
}
