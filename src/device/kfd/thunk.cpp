#include "device/kfd/thunk.hpp"

#include <dlfcn.h>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"

namespace cortado::device {
namespace {

/// Looks up the functions of one library and remembers those that are missing.
class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <class Function>
  void required(const char* name, std::function<Function>& call) {
    if (!optional(name, call)) missing_.emplace_back(name);
  }

  template <class Function>
  bool optional(const char* name, std::function<Function>& call) {
    auto* const symbol = reinterpret_cast<Function*>(dlsym(library_, name));
    if (symbol != nullptr) call = symbol;
    return symbol != nullptr;
  }

  const std::vector<std::string>& missing() const { return missing_; }

 private:
  void* library_;
  std::vector<std::string> missing_;
};

}  // namespace

Result<ThunkFunctions> load_thunk(const std::vector<std::string>& names) {
  void* library = nullptr;
  std::string loaded;
  std::vector<std::string> failures;
  for (const std::string& name : names) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) {
      loaded = name;
      break;
    }
    const char* const why = dlerror();
    failures.emplace_back(why != nullptr ? why : name);
  }
  if (library == nullptr) {
    return fail(Diagnostic{"device.no_library",
                           fmt::format("dlopen: {}", join(failures, "; ")),
                           fmt::format("install libhsakmt1 to use AMD GPUs, or {}", kUseSoft),
                           {},
                           About::environment});
  }

  ThunkFunctions thunk;
  Symbols symbols(library);
  symbols.required("hsaKmtOpenKFD", thunk.open_kfd);
  symbols.required("hsaKmtCloseKFD", thunk.close_kfd);
  symbols.required("hsaKmtGetVersion", thunk.get_version);
  symbols.required("hsaKmtAcquireSystemProperties", thunk.acquire_system_properties);
  symbols.required("hsaKmtReleaseSystemProperties", thunk.release_system_properties);
  symbols.required("hsaKmtGetNodeProperties", thunk.get_node_properties);
  symbols.required("hsaKmtGetNodeIoLinkProperties", thunk.get_node_io_link_properties);
  symbols.required("hsaKmtAllocMemory", thunk.alloc_memory);
  symbols.required("hsaKmtFreeMemory", thunk.free_memory);
  symbols.required("hsaKmtMapMemoryToGPUNodes", thunk.map_memory_to_gpu_nodes);
  symbols.required("hsaKmtUnmapMemoryToGPU", thunk.unmap_memory_to_gpu);
  symbols.required("hsaKmtCreateQueue", thunk.create_queue);
  symbols.optional("hsaKmtCreateQueueExt", thunk.create_queue_ext);
  symbols.required("hsaKmtDestroyQueue", thunk.destroy_queue);
  symbols.required("hsaKmtCreateEvent", thunk.create_event);
  symbols.required("hsaKmtDestroyEvent", thunk.destroy_event);
  symbols.required("hsaKmtWaitOnEvent", thunk.wait_on_event);
  symbols.required("hsaKmtGetClockCounters", thunk.get_clock_counters);
  if (!symbols.missing().empty()) {
    return fail(Diagnostic{"device.no_library",
                           fmt::format("{} lacks {}", loaded, join(symbols.missing())),
                           fmt::format("install another libhsakmt, or {}", kUseSoft),
                           {},
                           About::environment});
  }
  return thunk;
}

}  // namespace cortado::device
