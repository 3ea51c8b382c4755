// The identity of this process among the ranks that a launcher started.
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <unistd.h>

#include <fmt/format.h>

#include "cortado/communicator.hpp"

namespace cortado {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<std::uint32_t> number(const char* name) {
  const std::string text = variable(name);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Launcher {
  const char* rank;
  const char* ranks;
  const char* local_ranks;         ///< ranks on this computer
  std::array<const char*, 3> job;  ///< together the same for all ranks of a job, and different from every other job
};

/// torchrun, Open MPI, MPICH, and Cortado's own variables.
constexpr std::array<Launcher, 4> kLaunchers{{
    {"CORTADO_RANK", "CORTADO_RANKS", "CORTADO_RANKS", {"CORTADO_NAME", "", ""}},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", {"PMIX_NAMESPACE", "", ""}},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", {"PMI_PORT", "HYDI_CONTROL_FD", ""}},
    {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"}},
}};

}  // namespace

Result<CommunicatorOptions> options_from_environment() {
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = number(launcher.rank);
    const auto ranks = number(launcher.ranks);
    if (!rank || !ranks) continue;
    const std::uint32_t here = number(launcher.local_ranks).value_or(*ranks);
    if (here != *ranks) {
      return fail("runtime.options", fmt::format("{} of {} ranks are on this computer", here, *ranks),
                  "all ranks of a communicator must be on one computer");
    }
    std::string name;
    for (const char* part : launcher.job) name += *part == '\0' ? "" : variable(part) + "-";
    // If the launcher does not name the job, its process is the parent of all ranks.
    if (name.find_first_not_of('-') == std::string::npos) name = fmt::format("parent-{}", ::getppid());
    CommunicatorOptions options;
    options.name = fmt::format("{}{}", launcher.rank, name);
    options.rank = *rank;
    options.ranks = *ranks;
    return options;
  }
  return fail("runtime.options", "no launcher has set the rank",
              "start with torchrun or mpirun, or set CORTADO_RANK, CORTADO_RANKS and CORTADO_NAME");
}

}  // namespace cortado
