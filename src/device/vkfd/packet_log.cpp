#include "device/vkfd/packet_log.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <set>
#include <sstream>
#include <system_error>
#include <tuple>
#include <unistd.h>

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/json.hpp"
#include "device/soft/node_clock.hpp"

namespace cortado::device::vkfd {
namespace {

constexpr const char* kLogName = "packets.";

}  // namespace

PacketLog::PacketLog(const std::string& folder)
    : file_(::open(fmt::format("{}/{}{}", folder, kLogName, ::getpid()).c_str(),
                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}

PacketLog::~PacketLog() {
  if (file_ >= 0) ::close(file_);
}

void PacketLog::fetched(const SdmaQueue& queue, const sdma::Packet&, const soft::PacketPlace& place) {
  const std::lock_guard lock(mutex_);
  begun_[{queue.id, place.index}] = soft::steady_nanoseconds();
}

void PacketLog::finished(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place) {
  const std::uint64_t end = soft::steady_nanoseconds();
  std::uint64_t begin = end;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = begun_.extract({queue.id, place.index})) begin = found.mapped();
  }
  add(queue, packet, place, begin, end);
}

void PacketLog::add(const SdmaQueue& queue, const sdma::Packet& packet, const soft::PacketPlace& place,
                    std::uint64_t begin, std::uint64_t end) const {
  const std::string line = fmt::format("{} {} {} {} {} {} {} {}\n", queue.gpu.value, queue.engine.value, queue.id,
                                       place.index, place.offset, begin, end, sdma::to_string(packet));
  [[maybe_unused]] const ssize_t written = ::write(file_, line.data(), line.size());
}

Result<std::vector<LoggedPacket>> read_packet_logs(const std::string& folder) {
  std::vector<LoggedPacket> packets;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kLogName)) continue;
    CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(entry.path().string()));
    const auto process = static_cast<std::uint32_t>(std::stoul(name.substr(std::string(kLogName).size())));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      LoggedPacket packet;
      packet.process = process;
      words >> packet.gpu >> packet.engine >> packet.queue >> packet.index >> packet.offset >> packet.begin >>
          packet.end;
      words.ignore(1);
      std::getline(words, packet.text);
      packets.push_back(std::move(packet));
    }
  }
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (const LoggedPacket& packet : packets) first = std::min(first, packet.begin);
  for (LoggedPacket& packet : packets) {
    packet.begin -= first;
    packet.end -= first;
  }
  std::ranges::sort(packets, {}, [](const LoggedPacket& packet) {
    return std::tuple(packet.process, packet.gpu, packet.engine, packet.queue, packet.index);
  });
  return packets;
}

std::string packet_listing(const std::vector<LoggedPacket>& packets) {
  std::string text;
  const LoggedPacket* before = nullptr;
  for (const LoggedPacket& packet : packets) {
    if (before == nullptr || before->process != packet.process || before->queue != packet.queue) {
      text += fmt::format("GPU {} engine {} queue {}\n", packet.gpu, packet.engine, packet.queue);
    }
    text += fmt::format("  {:#06x}  {}\n", packet.offset, packet.text);
    before = &packet;
  }
  return text;
}

std::string packet_trace(const std::vector<LoggedPacket>& packets, bool modelled) {
  Json events = Json::array();
  std::set<std::pair<std::uint32_t, std::uint32_t>> tracks;
  for (const LoggedPacket& packet : packets) {
    if (tracks.emplace(packet.gpu, packet.engine).second) {
      const auto name = [&](const char* what, const std::string& value) {
        events.push_back({{"ph", "M"},
                          {"pid", packet.gpu + 1},
                          {"tid", packet.engine},
                          {"name", what},
                          {"args", {{"name", value}}}});
      };
      name("process_name", fmt::format("GPU {}{}", packet.gpu, modelled ? ", modelled time" : ""));
      name("thread_name", fmt::format("engine {}", packet.engine));
    }
    events.push_back({{"ph", "X"},
                      {"pid", packet.gpu + 1},
                      {"tid", packet.engine},
                      {"ts", static_cast<double>(packet.begin) / 1000},
                      {"dur", static_cast<double>(packet.end - packet.begin) / 1000},
                      {"name", packet.text.substr(0, packet.text.find(" 0x"))},
                      {"args",
                       {{"packet", packet.text},
                        {"queue", packet.queue},
                        {"index", packet.index},
                        {"ring offset", packet.offset},
                        {"process", packet.process}}}});
  }
  return Json{{"traceEvents", std::move(events)}, {"displayTimeUnit", "ns"}}.dump() + "\n";
}

}  // namespace cortado::device::vkfd
