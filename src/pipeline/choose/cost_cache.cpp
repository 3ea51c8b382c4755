#include "pipeline/choose/cost_cache.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cortado/program.hpp"

#include "base/file.hpp"
#include "base/hash.hpp"
#include "gemm/gemm.hpp"
#include "machine/write.hpp"
#include "model_fingerprint.hpp"
#include "pipeline/choose/fingerprint.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kSchema = "cortado.times";
constexpr int kVersion = 3;

/// Of the model and of all values of the machine, wherever they come from.
std::string content_key(Machine machine) {
  machine.provenance.clear();
  return hash_of(fmt::format("{}\n{}\n{}", kModelFingerprint, static_cast<int>(machine.clock), machine_text(machine)));
}

nlohmann::json to_json(const sim::CollectiveProfile& profile) {
  return {profile.time.value, profile.bytes_out, profile.bytes_in,
          profile.footprint,  profile.peers,     static_cast<unsigned>(profile.protocol)};
}

std::optional<sim::CollectiveProfile> parse_profile(const nlohmann::json& row) {
  if (!row.is_array() || row.size() != 6 || !row[0].is_number_integer() || !row[4].is_number_unsigned() ||
      !row[5].is_number_unsigned() || row[5].get<std::uint64_t>() > static_cast<unsigned>(Protocol::multicast)) {
    return {};
  }
  for (const auto& value : row) {
    if (!value.is_number() || value.get<double>() < 0) return {};
  }
  return sim::CollectiveProfile{{row[0].get<std::int64_t>()}, row[1].get<double>(),
                                row[2].get<double>(),         row[3].get<double>(),
                                row[4].get<std::uint32_t>(),  static_cast<Protocol>(row[5].get<unsigned>())};
}

}  // namespace

std::string_view model_fingerprint() {
  return kModelFingerprint;
}

CostCache::CostCache(const Machine& machine, const std::optional<std::string>& folder)
    : machine_(machine.name), gpus_(machine.gpus) {
  if (!folder) return;
  key_ = content_key(machine);
  path_ = (std::filesystem::path(*folder) / fmt::format("times-{}.json", key_)).string();
  load();
}

void CostCache::load() {
  const auto text = read_file(path_);
  if (!text) return;
  const auto file = nlohmann::json::parse(*text, nullptr, false);
  if (!file.is_object() || file.value("schema", nlohmann::json()) != kSchema ||
      file.value("version", nlohmann::json()) != kVersion || file.value("key", nlohmann::json()) != key_) {
    return;
  }
  const auto collectives = file.find("collectives");
  if (collectives == file.end() || !collectives->is_object()) return;
  std::map<std::string, sim::CollectiveProfile> read;
  for (const auto& [entry, row] : collectives->items()) {
    const auto profile = parse_profile(row);
    if (!profile) return;
    read.emplace(entry, *profile);
  }
  profiles_ = std::move(read);
}

std::optional<sim::CollectiveProfile> CostCache::find(const CollectiveRequest& request) const {
  const std::string key = request_key(request, gpus_);
  const std::scoped_lock guard(lock_);
  const auto found = profiles_.find(key);
  if (found == profiles_.end()) return {};
  return found->second;
}

void CostCache::add(const CollectiveRequest& request, const sim::CollectiveProfile& profile) {
  const std::string key = request_key(request, gpus_);
  const std::scoped_lock guard(lock_);
  changed_ |= profiles_.insert_or_assign(key, profile).second;
}

Result<sim::CollectiveProfile> CostCache::find_or(const CollectiveRequest& request,
                                                  const std::function<Result<sim::CollectiveProfile>()>& simulate) {
  const std::string key = request_key(request, gpus_);
  {
    std::unique_lock guard(lock_);
    over_.wait(guard, [&] { return !under_way_.contains(key); });
    if (const auto found = profiles_.find(key); found != profiles_.end()) return found->second;
    under_way_.insert(key);
  }
  struct Over {  // however it ends
    CostCache& cache;
    const std::string& key;
    ~Over() {
      const std::scoped_lock guard(cache.lock_);
      cache.under_way_.erase(key);
      cache.over_.notify_all();
    }
  } over{*this, key};
  CORTADO_ASSIGN_OR_RETURN(const sim::CollectiveProfile made, simulate());
  add(request, made);
  return made;
}

Status CostCache::save() {
  const std::scoped_lock guard(lock_);
  if (path_.empty() || !changed_) return {};
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    Diagnostic diagnostic = system_error("file.mkdir", "mkdir", error.value());
    diagnostic.place.file = folder;
    return fail(std::move(diagnostic));
  }
  nlohmann::ordered_json rows = nlohmann::ordered_json::object();
  for (const auto& [key, profile] : profiles_) rows[key] = to_json(profile);
  const nlohmann::ordered_json file{{"schema", kSchema},
                                    {"version", kVersion},
                                    {"machine", machine_},
                                    {"key", key_},
                                    {"columns", {"time_ns", "bytes_out", "bytes_in", "buffer_bytes", "peers"}},
                                    {"collectives", std::move(rows)}};
  CORTADO_RETURN_IF_ERROR(write_file(path_, file.dump(1) + "\n"));
  changed_ = false;
  return {};
}

// All fields by name, so that these do not compile when there is one more.

std::string request_key(const CollectiveRequest& request, std::uint32_t gpus) {
  const auto& [collective, variant, bytes, ranks, prelaunch, trigger_words, in_place, own_block, dtype, root, peer,
               ways, compute_units, runtime, host] = request;
  return fmt::format("{} {} {} B, {} ranks{}{}{}{}, {}, root {}, peer {}, ways {}, cus {}, mode {}{}", collective,
                     variant, bytes.value, ranks == 0 ? gpus : ranks, prelaunch ? ", prelaunch" : "",
                     prelaunch && trigger_words == TriggerWords::per_queue ? ", words per queue" : "",
                     in_place ? ", in place" : "", own_block ? "" : ", own block left", to_string(dtype), root.value,
                     peer.value, ways, compute_units, static_cast<int>(runtime),
                     host == HostThreads::per_rank ? ", hosts per rank" : "");
}

std::string request_key(const DependentRequest& request, std::uint32_t gpus) {
  const auto& [gemm, collective, dependence, ranks, tokens, runtime] = request;
  return fmt::format("{}{}, {}{}, {} ranks {}, mode {}", to_string(gemm), gemm.accumulate ? " added" : "", collective,
                     dependence == Dependence::product_first ? " after" : "", ranks == 0 ? gpus : ranks,
                     fmt::join(tokens, ";"), static_cast<int>(runtime));
}

}  // namespace cortado::pipeline
