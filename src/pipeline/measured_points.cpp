#include "cortado/pipeline/point_runner.hpp"

namespace cortado::pipeline {
namespace {

class MeasuredPoints : public PointRunner {
 public:
  MeasuredPoints(const BenchPlan& plan, const BenchRequest& request, std::unique_ptr<device::Driver> driver,
                 const device::RunOptions& options)
      : plan_(plan), request_(request), driver_(std::move(driver)), options_(options) {}

  bool simulated() const override { return false; }
  std::string where() const override { return driver_->topology().node; }
  Outcome<report::BenchRow> run(std::size_t point) override {
    return run_point(plan_.points[point], *driver_, request_, options_);
  }

 private:
  const BenchPlan& plan_;
  BenchRequest request_;
  std::unique_ptr<device::Driver> driver_;
  device::RunOptions options_;
};

}  // namespace

std::unique_ptr<PointRunner> measure_points(const BenchPlan& plan, const BenchRequest& request,
                                            std::unique_ptr<device::Driver> driver, const device::RunOptions& options) {
  return std::make_unique<MeasuredPoints>(plan, request, std::move(driver), options);
}

}  // namespace cortado::pipeline
