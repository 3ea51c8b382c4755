// A small report for the tests of what is made of it.
#pragma once

#include "cortado/report/fused.hpp"

#include "report/energy_testing.hpp"
#include "report/overlap_testing.hpp"

namespace cortado::report {

/// T3 takes 75 us where one after the other takes 100 and the bound is 60; t3-mca was left out.
inline FusedReport small_fused_report() {
  FusedReport report;
  set_small_basis(report);
  report.gemm = "64x64x64 f16";
  report.collective = "reduce-scatter";
  report.machine = "t3-ring-8";
  report.where = "simulated t3-ring-8";
  FusedRow row;
  row.way = "t3";
  row.how = "ring, 8 chunks";
  row.time = {75'000};
  row.speedup = 4.0 / 3;
  row.share_of_ideal = 0.5;
  row.gemm = {74'000};
  row.exposed = {15'000};
  row.dram = DramTraffic{3e9, 2e9, 1e9, 0.5e9};
  row.tracker_entries_peak = 96;
  row.tracker_wait = Nanoseconds{2000};
  row.energy = small_energy_use();
  FusedRow bound;
  bound.way = "ideal-overlap";
  bound.bound = true;
  bound.time = {60'000};
  bound.speedup = 5.0 / 3;
  bound.share_of_ideal = 1;
  report.rows = {row, bound};
  report.skipped = {{"t3-mca", {"fused.arbitration", "none", "other machine"}}};
  report.choice = "t3";
  report.reason = "because";
  return report;
}

}  // namespace cortado::report
