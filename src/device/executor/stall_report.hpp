// Why a run cannot continue: a fault of an engine, or queues that wait for something that never comes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "cortado/result.hpp"

#include "device/executor/host_program.hpp"
#include "device/executor/preparation.hpp"

namespace cortado::device {

/// The first fault of a queue of this preparation, with its place in the program (device.fault), if any.
std::optional<Diagnostic> fault_report(const Preparation& preparation);

/// One line (device.timeout) that names the stuck queues (at most eight, and how many more): first those that hold up
/// others, then those that wait; with rank, command, what they wait for, its value, and who should raise it; for
/// trackers, how many of their updates have arrived. `batch_iterations` = iterations of the running batch; host queues
/// that have finished them all are not stuck.
Diagnostic stall_report(const Preparation& preparation, std::span<const HostState> hosts,
                        std::uint64_t batch_iterations, std::chrono::milliseconds timeout);

/// A number that changes when anything on the device moves: read pointers, signals, states of compute queues.
std::uint64_t progress_fingerprint(const Preparation& preparation);

}  // namespace cortado::device
