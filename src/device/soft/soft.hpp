// The embedded node: software GPUs whose DMA engines read real rings and execute real packets on real memory.
//
// Its behaviour where real engines leave latitude: a POLL with a finite retry count polls for ever; TIMESTAMP "set" is
// ignored, "get" records the host's steady clock in nanoseconds; packets cannot address rings; indirect buffers do not
// nest; the priority of a compute queue has no effect. An engine accepts the packets that its machine's limits and
// features allow; others are engine faults.
//
// Trackers (driver.hpp) count updates byte by byte; their entries are not limited here, but the maximum in use can be
// queried. Faults of the queue that writes: more updates of a byte than programmed, a GEMM that adds to bytes without a
// tracker, a write of tracked bytes that is not an update.
#pragma once

#include <cstdint>
#include <memory>

#include "cortado/machine.hpp"
#include "cortado/program.hpp"
#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "device/driver/driver.hpp"

namespace cortado::device {

/// A node of `gpus` GPUs with the engines, limits and features of the machine.
Result<std::unique_ptr<Driver>> open_soft_node(const Machine& machine, std::uint32_t gpus,
                                               const SoftOptions& options = {});

/// Floating-point operations per second of GEMMs on such a node: one thread measured for 20 ms, times the number of
/// threads that have a core of their own.
double soft_gemm_rate(DType dtype, const SoftOptions& options = {});

}  // namespace cortado::device
