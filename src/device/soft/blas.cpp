#include "device/soft/blas.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <optional>

#include <fmt/format.h>

namespace cortado::device::soft {
namespace {

constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";  // read while the library is loaded

/// While this object lives, the environment asks for one thread.
class OneThread {
 public:
  OneThread() {
    if (const char* const before = std::getenv(kThreads)) before_ = before;
    ::setenv(kThreads, "1", 1);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() {
    if (before_) {
      ::setenv(kThreads, before_->c_str(), 1);
    } else {
      ::unsetenv(kThreads);
    }
  }

 private:
  std::optional<std::string> before_;
};

Unexpected<Diagnostic> no_blas(std::string message) {
  return fail(Diagnostic{"device.no_library",
                         std::move(message),
                         "install libopenblas0: GEMMs of the embedded node need it",
                         {},
                         About::environment});
}

}  // namespace

Result<Blas> load_blas(const std::string& name) {
  const OneThread one_thread;
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return no_blas(fmt::format("dlopen: {}", why != nullptr ? why : name));
  }
  const Blas found{reinterpret_cast<Blas::Sgemm*>(dlsym(library, "cblas_sgemm"))};
  if (found.sgemm == nullptr) return no_blas(fmt::format("{} lacks cblas_sgemm", name));
  // If it was loaded earlier by someone else, it may have more threads.
  auto* const set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  if (set_threads != nullptr) set_threads(1);
  return found;
}

const Result<Blas>& blas() {
  static const Result<Blas> loaded = load_blas("libopenblas.so.0");
  return loaded;
}

}  // namespace cortado::device::soft
