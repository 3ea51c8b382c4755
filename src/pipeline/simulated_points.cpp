#include <future>
#include <thread>
#include <vector>

#include "cortado/base/check.hpp"
#include "cortado/pipeline/point_runner.hpp"
#include "cortado/target/target.hpp"

#include "pipeline/parallel.hpp"

namespace cortado::pipeline {
namespace {

class SimulatedPoints : public PointRunner {
 public:
  SimulatedPoints(const BenchPlan& plan, const BenchRequest& request, std::uint32_t threads)
      : plan_(plan), iterations_(request.iterations), rows_(plan.points.size()) {
    ahead_ = std::jthread([this, threads](const std::stop_token& stop) {
      for_each_in_parallel(
          rows_.size(), threads, [this](std::size_t i) { work(i); },
          [&stop](std::size_t) { return !stop.stop_requested(); });
    });
  }

  bool simulated() const override { return true; }
  std::string where() const override { return plan_.points.front().program.machine().name; }

  /// An exception of the thread that simulated the point comes out here.
  Outcome<report::BenchRow> run(std::size_t point) override { return rows_[point].get_future().get(); }

 private:
  void work(std::size_t point) {
    try {
      rows_[point].set_value(simulate_point(plan_.points[point]));
    } catch (...) {
      rows_[point].set_exception(std::current_exception());
    }
  }

  Outcome<report::BenchRow> simulate_point(const BenchPoint& point) const {
    sim::SimulateOptions options;
    options.iterations = iterations_;
    const auto report = simulate_verified(point.program, options);
    if (!report) return tl::unexpected(report.error());
    const CollectiveRequest& request = point.request;
    return report::BenchRow{request.bytes, point.label,    request.prelaunch, request.in_place,
                            report->time,  report->counts, std::nullopt,      report->energy};
  }

  const BenchPlan& plan_;
  std::uint32_t iterations_;
  std::vector<std::promise<Outcome<report::BenchRow>>> rows_;  // by point
  std::jthread ahead_;                                         // last: it and its helpers end before what they use
};

}  // namespace

Result<std::unique_ptr<PointRunner>> simulate_points(const BenchPlan& plan, const BenchRequest& request,
                                                     std::uint32_t threads) {
  CORTADO_CHECK(!plan.points.empty(), "a plan without points");
  CORTADO_RETURN_IF_ERROR(sim::check_timing(plan.points.front().program.machine()));
  return std::make_unique<SimulatedPoints>(plan, request, threads);
}

}  // namespace cortado::pipeline
