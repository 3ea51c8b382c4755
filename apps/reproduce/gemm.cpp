// Measured GEMMs (published/products): each list on its machine, all at once with `cortado bench gemm`'s model.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "cortado/program.hpp"

#include "base/check.hpp"
#include "pipeline/gemm_bench.hpp"
#include "reproduce/published/products.hpp"
#include "reproduce/reproducer.hpp"

namespace cortado::pipeline {
namespace {

/// Time in a stream, with the kernel that a library chooses for these units.
Result<double> predicted_us(const GemmShape& shape, const Machine& machine, std::uint32_t units = 0) {
  CORTADO_ASSIGN_OR_RETURN(const GemmBenchReport report, predict_gemms({shape}, machine, units));
  return report.rows.front().time_us;
}

struct ListErrors {
  std::string name;
  report::Table rows;
  std::vector<double> percent;  // absolute, ascending

  double mean() const {
    double sum = 0;
    for (const double one : percent) sum += one;
    return sum / static_cast<double>(percent.size());
  }
  double p90() const { return percent[static_cast<std::size_t>(0.9 * static_cast<double>(percent.size() - 1))]; }
};

Result<ListErrors> errors_of(const published::ProductList& list, const Machine& given) {
  CORTADO_ASSIGN_OR_RETURN(Machine named, machine_of_row(list.machine, given));
  const Machine machine = as_measured(list, std::move(named));
  CORTADO_ASSIGN_OR_RETURN(const DType dtype, parse_dtype(list.dtype));
  ListErrors errors{.name = list.name, .rows = {.key = list.name, .title = list.title}, .percent = {}};
  errors.rows.columns = {report::OwnColumn{"shape"}, report::OwnColumn{"units"}, report::OwnColumn{"measured us", 2},
                         report::OwnColumn{"ours us", 2}, report::OwnColumn{"error %", 1}};
  for (const published::MeasuredProduct& point : list.points) {
    const GemmShape shape{.m = point.m, .n = point.n, .k = point.k, .dtype = dtype, .result = usual_result(dtype)};
    CORTADO_ASSIGN_OR_RETURN(const double ours, predicted_us(shape, machine, point.units));
    const double error = 100 * (ours / point.us - 1);
    errors.percent.push_back(std::abs(error));
    errors.rows.add({to_string(shape), point.units == 0 ? machine.compute_units : point.units, point.us, ours, error});
  }
  std::ranges::sort(errors.percent);
  return errors;
}

/// Greatest t(m + 1) / t(m) with n = k = 4096.
Result<double> greatest_cliff(const Machine& machine) {
  double before = 0;
  double greatest = 0;
  for (std::uint64_t m = 128; m <= 4097; ++m) {
    CORTADO_ASSIGN_OR_RETURN(const double time, predicted_us({.m = m, .n = 4096, .k = 4096}, machine));
    if (before > 0) greatest = std::max(greatest, time / before);
    before = time;
  }
  return greatest;
}

Result<double> figure_of(const std::string& name, const std::vector<ListErrors>& lists, const Machine& given) {
  const std::size_t space = name.find(' ');
  const std::string what = name.substr(0, space);
  const std::string of = name.substr(space + 1);
  if (what == "smallest" || what == "cliff") {
    CORTADO_ASSIGN_OR_RETURN(Machine machine, machine_of_row(of, given));
    machine.clock = ClockMode::bursts;
    if (what == "cliff") return greatest_cliff(machine);
    return predicted_us({.m = 1, .n = 32, .k = 256}, machine);
  }
  const auto list = std::ranges::find(lists, of, &ListErrors::name);
  CORTADO_CHECK(list != lists.end(), "every figure of gemm.toml is computed here");
  if (what == "worst") return list->percent.back();
  return what == "p90" ? list->p90() : list->mean();
}

}  // namespace

Machine as_measured(const published::ProductList& list, Machine machine) {
  machine.clock = ClockMode::bursts;
  if (list.burst_ms && machine.power) machine.power->burst_ms = *list.burst_ms;
  return machine;
}

Outcome<report::Reproduction> reproduce_gemm(const published::Publication& publication, const Machine& machine,
                                             const ReproduceOptions&) {
  const auto lists = published::load_products();
  if (!lists) return fail_at(Stage::plan, lists.error());
  std::set<std::string> names;
  for (const published::ProductList& list : *lists) names.insert(list.machine);
  const auto machines = machines_of_rows(names, publication.name, machine);
  if (!machines) return fail_at(Stage::plan, machines.error());
  report::Reproduction result{publication.name, publication.title, publication.source, *machines, {}, {}, {}};
  std::vector<ListErrors> errors;
  for (const published::ProductList& list : *lists) {
    auto found = errors_of(list, machine);
    if (!found) return fail_at(Stage::plan, found.error());
    result.own.push_back(found->rows);
    errors.push_back(*std::move(found));
  }
  for (const published::Figure& figure : publication.figures) {
    const auto ours = figure_of(figure.name, errors, machine);
    if (!ours) return fail_at(Stage::plan, ours.error());
    result.figures.push_back({figure, *ours});
  }
  return result;
}

}  // namespace cortado::pipeline
