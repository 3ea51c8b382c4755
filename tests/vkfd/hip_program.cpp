// A program on AMD's HIP (libamdhip64), as people write them; it knows nothing of Cortado. Plain C++: there are no
// kernels in it.
//
//   hip_program copies   host -> GPU 0 -> GPU 1 -> host: pageable and pinned memory, a stream, events
//   hip_program set      hipMemset, which is a kernel
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <hip/hip_runtime_api.h>
#include <string>
#include <vector>

namespace {

void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "hip_program: %s: %s\n", what, hipGetErrorString(error));
  std::_Exit(1);
}

unsigned char* on_gpu(int gpu, std::size_t bytes) {
  void* memory = nullptr;
  check(hipSetDevice(gpu), "hipSetDevice");
  check(hipMalloc(&memory, bytes), "hipMalloc");
  return static_cast<unsigned char*>(memory);
}

int copies() {
  constexpr std::size_t kBytes = (6 << 20) + 100;
  std::vector<unsigned char> in(kBytes);
  std::vector<unsigned char> out(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) in[i] = static_cast<unsigned char>(i % 251);
  unsigned char* const first = on_gpu(0, kBytes);
  unsigned char* const second = on_gpu(1, kBytes);
  // HIP uses DMA engines where the memory belongs to the current GPU, kernels elsewhere.
  check(hipSetDevice(0), "hipSetDevice");
  check(hipMemcpy(first, in.data(), kBytes, hipMemcpyHostToDevice), "hipMemcpy to GPU 0");
  check(hipMemcpyPeer(second, 1, first, 0, kBytes), "hipMemcpyPeer");
  check(hipSetDevice(1), "hipSetDevice");
  check(hipMemcpy(out.data(), second, kBytes, hipMemcpyDeviceToHost), "hipMemcpy from GPU 1");
  const bool same = in == out;

  void* pinned = nullptr;
  check(hipHostMalloc(&pinned, 2 * kBytes, 0), "hipHostMalloc");
  auto* const words = static_cast<unsigned char*>(pinned);
  std::memcpy(words, in.data(), kBytes);
  check(hipSetDevice(0), "hipSetDevice");
  hipStream_t stream = nullptr;
  hipEvent_t done = nullptr;
  check(hipStreamCreate(&stream), "hipStreamCreate");
  check(hipEventCreate(&done), "hipEventCreate");
  check(hipMemcpyAsync(first, words, kBytes, hipMemcpyHostToDevice, stream), "hipMemcpyAsync to GPU 0");
  check(hipMemcpyAsync(words + kBytes, first, kBytes, hipMemcpyDeviceToHost, stream), "hipMemcpyAsync from GPU 0");
  check(hipEventRecord(done, stream), "hipEventRecord");
  check(hipEventSynchronize(done), "hipEventSynchronize");
  const bool same_pinned = std::memcmp(words, words + kBytes, kBytes) == 0;
  check(hipStreamSynchronize(stream), "hipStreamSynchronize");
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
  int gpus = 0;
  check(hipGetDeviceCount(&gpus), "hipGetDeviceCount");
  std::printf("%d GPUs, pageable %s, pinned %s\n", gpus, same ? "same" : "WRONG", same_pinned ? "same" : "WRONG");
  return same && same_pinned ? 0 : 1;
}

int set() {
  constexpr std::size_t kBytes = 1 << 20;
  unsigned char* const memory = on_gpu(0, kBytes);
  check(hipMemset(memory, 7, kBytes), "hipMemset");
  check(hipDeviceSynchronize(), "hipDeviceSynchronize");
  std::printf("hipMemset returned\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "copies";
  return what == "set" ? set() : copies();
}
