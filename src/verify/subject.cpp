#include "base/check.hpp"
#include "verify/execution.hpp"
#include "verify/happens_before.hpp"
#include "verify/rule.hpp"
#include "verify/unrolled.hpp"

namespace cortado::verifier {

Subject::Subject(const Program& program, const Machine& machine) : program_(program), machine_(machine) {}
Subject::~Subject() = default;

const Unrolled& Subject::unrolled() {
  if (!unrolled_) unrolled_ = std::make_unique<Unrolled>(program_);
  return *unrolled_;
}

const Execution& Subject::execution() {
  if (!execution_) execution_ = std::make_unique<Execution>(execute(unrolled()));
  return *execution_;
}

const HappensBefore& Subject::happens_before() {
  if (!happens_before_) {
    CORTADO_CHECK(execution().complete(), "order is only known of programs that finish");
    happens_before_ = std::make_unique<HappensBefore>(unrolled(), execution());
  }
  return *happens_before_;
}

void Findings::add(Place place, std::string message, std::string hint) {
  if (full()) return;
  errors_.push_back({std::string(code_), std::move(message), std::move(hint), std::move(place), about_});
}

}  // namespace cortado::verifier
