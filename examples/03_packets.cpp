// From a command to the dwords that an MI300X DMA engine reads, and back.
#include <cstdio>

#include "cortado/packets.hpp"

using namespace cortado;

int main() {
  const sdma::CopyLinear copy{.bytes = 4096, .src = 0x00007f1234567000, .dst = 0x00007e0000001000};
  std::uint32_t ring[16] = {};
  const std::size_t written = sdma::encode(copy, ring);
  for (std::size_t i = 0; i < written; ++i) std::printf("%08x ", ring[i]);
  std::printf("\n");

  const auto decoded = sdma::decode({ring, written});
  if (!decoded || decoded->packet != sdma::Packet{copy}) return 1;
  std::printf("%s\n", sdma::to_string(decoded->packet).c_str());
  return 0;
}
