#include "pipeline/choose/cost_cache.hpp"

#include <cmath>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cortado/program.hpp"

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "gemm/gemm.hpp"
#include "machine/write.hpp"
#include "pipeline/choose/fingerprint.hpp"

namespace cortado::pipeline {
namespace {

// A header line, then one line per collective, with columns separated by tabs. Lines of text rather than
// JSON, whose library would dominate the compile time of this file.
constexpr const char* kCacheFormat = "cortado.times 4";
constexpr std::string_view kCacheColumns = "time_ns\tbytes_out\tbytes_in\tbuffer_bytes\tpeers\tprotocol\trequest";

/// Of the model and of all values of the machine, whatever their source.
std::string content_key(Machine machine) {
  machine.provenance.clear();
  return hash_of(
      fmt::format("{}\n{}\n{}", model_fingerprint(), static_cast<int>(machine.clock), machine_text(machine)));
}

std::string cache_header(std::string_view machine, std::string_view key, std::size_t rows) {
  return fmt::format("{}\t{}\t{}\t{}", kCacheFormat, machine, key, rows);
}

std::string cache_row(const std::string& request, const sim::CollectiveProfile& profile) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", profile.time.value, profile.bytes_out, profile.bytes_in,
                     profile.footprint, profile.peers, static_cast<unsigned>(profile.protocol), request);
}

/// The profile of a row whose columns are given.
std::optional<sim::CollectiveProfile> parse_profile(const std::vector<std::string>& row) {
  if (row.size() != 7) return {};
  const auto time = parse_number<std::int64_t>(row[0]);
  const auto out = parse_number<double>(row[1]);
  const auto in = parse_number<double>(row[2]);
  const auto footprint = parse_number<double>(row[3]);
  const auto peers = parse_number<std::uint32_t>(row[4]);
  const auto protocol = parse_number<unsigned>(row[5]);
  if (!time || *time < 0 || !peers || !protocol || *protocol > static_cast<unsigned>(Protocol::multicast)) return {};
  for (const auto& bytes : {out, in, footprint}) {
    if (!bytes || !std::isfinite(*bytes) || *bytes < 0) return {};
  }
  return sim::CollectiveProfile{{*time}, *out, *in, *footprint, *peers, static_cast<Protocol>(*protocol)};
}

}  // namespace

CostCache::CostCache(const Machine& machine, const std::optional<std::string>& folder)
    : machine_(machine.name), gpus_(machine.gpus) {
  if (!folder) return;
  key_ = content_key(machine);
  path_ = (std::filesystem::path(*folder) / fmt::format("times-{}.txt", key_)).string();
  load();
}

void CostCache::load() {
  const auto text = read_file(path_);
  if (!text) return;
  const std::vector<std::string> lines = split(*text, '\n');  // the last one is empty
  if (lines.size() < 3 || !lines.back().empty() || lines[0] != cache_header(machine_, key_, lines.size() - 3) ||
      lines[1] != kCacheColumns) {
    return;
  }
  std::map<std::string, sim::CollectiveProfile> read;
  for (std::size_t i = 2; i + 1 < lines.size(); ++i) {
    const std::vector<std::string> row = split(lines[i], '\t');
    const auto profile = parse_profile(row);
    if (!profile) return;
    read.emplace(row.back(), *profile);
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
  std::string text = fmt::format("{}\n{}\n", cache_header(machine_, key_, profiles_.size()), kCacheColumns);
  for (const auto& [key, profile] : profiles_) text += cache_row(key, profile) + "\n";
  CORTADO_RETURN_IF_ERROR(write_file(path_, text));
  changed_ = false;
  return {};
}

// All fields by name, so that a new field breaks the compilation.

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
