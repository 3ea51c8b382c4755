#include "pipeline/choose/cost_cache.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cortado/base/file.hpp"
#include "cortado/ir/text.hpp"

#include "model_fingerprint.hpp"
#include "pipeline/choose/content_key.hpp"

namespace cortado::pipeline {
namespace {

constexpr const char* kSchema = "cortado.times";
constexpr int kVersion = 1;

}  // namespace

CostCache::CostCache(const Machine& machine, Collective collective, const std::optional<std::string>& folder)
    : machine_(machine.name), gpus_(machine.gpus), collective_(collective) {
  ContentHash hash;
  hash.add(kModelFingerprint).add("\n").add(collective_.name()).add("\n");
  key_ = add_content(machine, hash).text();
  if (!folder) return;
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
  const auto times = file.find("times_ns");
  if (times == file.end() || !times->is_object()) return;
  std::map<std::string, std::int64_t> read;
  for (const auto& [entry, time] : times->items()) {
    if (!time.is_number_integer() || time.get<std::int64_t>() < 0) return;
    read.emplace(entry, time.get<std::int64_t>());
  }
  times_ = std::move(read);
}

std::optional<Nanoseconds> CostCache::find(const CollectiveRequest& request) const {
  const auto found = times_.find(request_key(request, gpus_));
  if (found == times_.end()) return {};
  return Nanoseconds{found->second};
}

void CostCache::add(const CollectiveRequest& request, Nanoseconds time) {
  changed_ |= times_.insert_or_assign(request_key(request, gpus_), time.value).second;
}

Status CostCache::save() {
  if (path_.empty() || !changed_) return {};
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    Diagnostic diagnostic = system_error("file.mkdir", "mkdir", error.value());
    diagnostic.place.file = folder;
    return fail(std::move(diagnostic));
  }
  const nlohmann::ordered_json file{{"schema", kSchema},
                                    {"version", kVersion},
                                    {"machine", machine_},
                                    {"key", key_},
                                    {"collective", collective_.name()},
                                    {"times_ns", times_}};
  CORTADO_RETURN_IF_ERROR(write_file(path_, file.dump(1) + "\n"));
  changed_ = false;
  return {};
}

std::string request_key(const CollectiveRequest& request, std::uint32_t gpus) {
  // All fields by name, so that this does not compile when there is one more.
  const auto& [collective, variant, bytes, ranks, prelaunch, trigger_words, in_place, own_block, dtype, root, peer,
               ways, compute_units, host] = request;
  return fmt::format("{} {} B, {} ranks{}{}{}{}, {}, root {}, peer {}, ways {}, cus {}{}", variant, bytes.value,
                     ranks == 0 ? gpus : ranks, prelaunch ? ", prelaunch" : "",
                     prelaunch && trigger_words == TriggerWords::per_queue ? ", words per queue" : "",
                     in_place ? ", in place" : "", own_block ? "" : ", own block left", to_string(dtype), root.value,
                     peer.value, ways, compute_units, host == HostThreads::per_rank ? ", hosts per rank" : "");
}

}  // namespace cortado::pipeline
