#include "report/overlap_parts.hpp"

#include <fmt/format.h>

#include "cortado/report/energy.hpp"

namespace cortado::report {

using Json = nlohmann::ordered_json;

std::string overlap_heading(const OverlapBasis& basis) {
  std::string text = basis.simulated
                         ? fmt::format("# {}\n", basis.where)
                         : fmt::format("# measured on {}; medians of {} iterations\n", basis.where, basis.iterations);
  text +=
      fmt::format("# alone: product {:.1f} us ({}-bound), collective {:.1f} us: {}\n", microseconds(basis.gemm_alone),
                  basis.memory_bound ? "memory" : "compute", microseconds(basis.comm_alone), basis.scenario);
  text += fmt::format("# one after the other {:.1f} us, ideal {:.1f} us: {:.2f} times as fast\n",
                      microseconds(basis.serial), microseconds(basis.ideal),
                      basis.ideal.value == 0 ? 1 : microseconds(basis.serial) / microseconds(basis.ideal));
  return text;
}

std::string skipped_text(const std::vector<SkippedWay>& skipped) {
  std::string text;
  for (const SkippedWay& way : skipped) text += fmt::format("# {} left out: {}\n", way.name, to_string(way.reason));
  return text;
}

Json skipped_list(const std::vector<SkippedWay>& skipped, std::string_view kind) {
  Json list = Json::array();
  for (const SkippedWay& way : skipped) {
    list.push_back({{std::string(kind), way.name},
                    {"code", way.reason.code},
                    {"message", way.reason.message},
                    {"hint", way.reason.hint}});
  }
  return list;
}

std::vector<std::string> with_measures(std::vector<std::string> header, bool simulated) {
  if (simulated) {
    header.insert(header.end(), {"HBM\nGB", "energy\nJ", "power\nW"});
  } else {
    header.emplace_back("wrong\nbytes");
  }
  return header;
}

void add_measures(const WayRow& row, bool simulated, std::vector<std::string>& cells) {
  if (simulated) {
    cells.insert(cells.end(), {gigabytes(row.hbm_bytes.value_or(0)), joules_text(row.energy), watts_text(row.energy)});
  } else {
    cells.push_back(fmt::format("{}", row.wrong.value_or(0)));
  }
}

std::string overlap_ending(const OverlapBasis& basis) {
  std::string text = skipped_text(basis.skipped);
  if (!basis.note.empty()) text += fmt::format("# {}\n", basis.note);
  return text + fmt::format("use {}: {}\n", basis.choice, basis.reason);
}

Json overlap_document(const OverlapBasis& basis, std::string_view schema, std::string_view kind) {
  Json document{{"schema", schema},
                {"version", 1},
                {"gemm", basis.gemm},
                {"collective", basis.collective},
                {"bytes", basis.bytes.value},
                {"ranks", basis.ranks},
                {"machine", basis.machine},
                {"where", basis.where},
                {"simulated", basis.simulated},
                {"serial_us", microseconds(basis.serial)},
                {"ideal_us", microseconds(basis.ideal)},
                {"gemm_alone_us", microseconds(basis.gemm_alone)},
                {"comm_alone_us", microseconds(basis.comm_alone)},
                {"class", basis.scenario},
                {"memory_bound", basis.memory_bound},
                {"objective", name_of(basis.objective)},
                {"choice", basis.choice},
                {"reason", basis.reason},
                {"note", basis.note},
                {"rows", Json::array()},
                {"skipped", skipped_list(basis.skipped, kind)}};
  if (!basis.simulated) document["iterations"] = basis.iterations;
  return document;
}

std::string to_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string gigabytes(double bytes) {
  return bytes < 1e8 ? fmt::format("{:.4f}", bytes / 1e9) : fmt::format("{:.2f}", bytes / 1e9);
}

bool has_gain(Nanoseconds serial, Nanoseconds ideal) {
  constexpr double kLeastGain = 1.01;
  return microseconds(serial) >= kLeastGain * microseconds(ideal);
}

double share_of_ideal(Nanoseconds serial, Nanoseconds ideal, Nanoseconds time) {
  if (!has_gain(serial, ideal) || ideal.value == 0 || time.value == 0) return 0;
  const auto over = [&](Nanoseconds t) { return microseconds(serial) / microseconds(t) - 1; };
  return over(time) / over(ideal);
}

}  // namespace cortado::report
