#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "cortado/base/check.hpp"
#include "cortado/pipeline/point_runner.hpp"
#include "cortado/pipeline/simulate.hpp"

namespace cortado::pipeline {
namespace {

class SimulatedPoints : public PointRunner {
 public:
  SimulatedPoints(const BenchPlan& plan, const BenchRequest& request, std::uint32_t threads)
      : plan_(plan), iterations_(request.iterations), rows_(plan.points.size()) {
    const std::size_t count = std::clamp<std::size_t>(threads, 1, plan.points.size());
    for (std::size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    }
  }

  ~SimulatedPoints() override {
    for (std::jthread& thread : threads_) thread.request_stop();  // all of them, before the first is waited for
  }

  bool simulated() const override { return true; }
  std::string where() const override { return plan_.points.front().program.machine().name; }

  /// An exception of the thread that simulated the point comes out here.
  Outcome<report::BenchRow> run(std::size_t point) override { return rows_[point].get_future().get(); }

 private:
  void work(const std::stop_token& stop) {
    for (std::size_t i = next_++; i < rows_.size() && !stop.stop_requested(); i = next_++) {
      try {
        rows_[i].set_value(simulate_point(plan_.points[i]));
      } catch (...) {
        rows_[i].set_exception(std::current_exception());
      }
    }
  }

  Outcome<report::BenchRow> simulate_point(const BenchPoint& point) const {
    sim::SimulateOptions options;
    options.iterations = iterations_;
    const auto report = simulate_verified(point.program, options);
    if (!report) return tl::unexpected(report.error());
    const CollectiveRequest& request = point.request;
    return report::BenchRow{request.bytes, point.label,    request.prelaunch, request.in_place,
                            report->time,  report->counts, std::nullopt};
  }

  const BenchPlan& plan_;
  std::uint32_t iterations_;
  std::vector<std::promise<Outcome<report::BenchRow>>> rows_;  // by point
  std::atomic<std::size_t> next_ = 0;                          // point that nobody has taken yet
  std::vector<std::jthread> threads_;                          // last: they end before what they use
};

}  // namespace

Result<std::unique_ptr<PointRunner>> simulate_points(const BenchPlan& plan, const BenchRequest& request,
                                                     std::uint32_t threads) {
  CORTADO_CHECK(!plan.points.empty(), "a plan without points");
  CORTADO_RETURN_IF_ERROR(sim::check_timing(plan.points.front().program.machine()));
  return std::make_unique<SimulatedPoints>(plan, request, threads);
}

}  // namespace cortado::pipeline
