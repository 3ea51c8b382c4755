// Timing for the benchmark table: medians of repeated runs, and rows with a number and its target.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace cortado::bench {

enum class Better { lower, higher };

/// One line of the table.
struct Row {
  std::string what;
  double measured = 0;
  std::string unit;
  std::optional<double> target{};
  Better better = Better::lower;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Nanoseconds of one call of `work`.
template <class Work>
double time_ns(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

/// Nanoseconds of processor time of this thread in one call of `work`: what others do on the computer counts less.
template <class Work>
double thread_ns(Work&& work) {
  const auto now = [] {
    timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return 1e9 * static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec);
  };
  const double start = now();
  work();
  return now() - start;
}

/// The most memory that this process has had at a time during one call of `work`, in MiB.
template <class Work>
double peak_mib(Work&& work) {
  std::ofstream("/proc/self/clear_refs") << 5;  // Linux forgets the peak so far
  work();
  std::ifstream status("/proc/self/status");
  double kib = 0;
  for (std::string word; kib == 0 && status >> word;) {
    if (word == "VmHWM:") status >> kib;
  }
  return kib / 1024;
}

/// Median over `runs` of the nanoseconds of one call, after one call that warms up.
template <class Work>
double median_ns(std::uint32_t runs, Work&& work) {
  work();
  std::vector<double> times;
  for (std::uint32_t i = 0; i < runs; ++i) times.push_back(time_ns(work));
  return median(std::move(times));
}

/// The same in processor time, of work on one thread.
template <class Work>
double median_thread_ns(std::uint32_t runs, Work&& work) {
  work();
  std::vector<double> times;
  for (std::uint32_t i = 0; i < runs; ++i) times.push_back(thread_ns(work));
  return median(std::move(times));
}

/// The least of this many calls, in processor time: for short work that other processes disturb.
template <class Work>
double least_thread_ns(std::uint32_t runs, Work&& work) {
  double least = thread_ns(work);
  for (std::uint32_t i = 1; i < runs; ++i) least = std::min(least, thread_ns(work));
  return least;
}

std::vector<Row> submit_rows();
std::vector<Row> collective_rows();
std::vector<Row> plan_rows();
std::vector<Row> compare_rows();
std::vector<Row> model_rows();
std::vector<Row> overlap_rows();
std::vector<Row> runtime_rows();
std::vector<Row> schedule_rows();
std::vector<Row> kv_rows();
std::vector<Row> t3_rows();
std::vector<Row> serve_rows();
std::vector<Row> sweep_rows();
std::vector<Row> node_rows();

/// First argument of the program that node_rows() runs on the virtual node; the second is the file for what it
/// measures.
inline constexpr const char* kInsideNode = "--inside-node";
int measure_inside_node(const std::string& out);
std::vector<Row> command_rows();

}  // namespace cortado::bench
