// What follows from the program and from the rows of a dependent overlap.
#pragma once

#include <string>
#include <vector>

#include "cortado/gemm/gemm.hpp"
#include "cortado/ir/program.hpp"
#include "cortado/machine/machine.hpp"
#include "cortado/plan/ficco.hpp"
#include "cortado/report/dependent.hpp"

namespace cortado::pipeline {

/// One after the other, by plain copies: what the others are compared with.
inline constexpr FiccoSchedule kSerial{.grain = Grain::whole, .exchange = ExchangeVariant::pcpy};

/// Of the whole matrix that travels: A, or behind a product C.
Bytes travelling_bytes(const DependentRequest& request);

/// serial by plain copies, shard-p2p and the published ones, with default chunks and the best exchanges.
std::vector<FiccoSchedule> usual_schedules();

/// Nothing was planned for a reason that lies in this one schedule.
bool concerns_schedule(const Diagnostic& reason);

/// Of the products in a program that multiplies: that with most rows.
GemmShape largest_product(const Program& program);

/// All products of a rank one after the other, each alone on all compute units, without launches: of the rank for which
/// that takes longest.
double seconds_of_products(const Program& program, const Machine& machine);

/// One line: what bounds the time, what is not hidden, and what others lose. The report has its choice and rows.
std::string dependent_reason(const report::DependentReport& report);

}  // namespace cortado::pipeline
