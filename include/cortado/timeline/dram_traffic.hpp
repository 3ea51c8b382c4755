// Bytes read and written in the memories of all GPUs, by whom. What caches serve does not count; an update by memory
// that adds counts once, as a write.
#pragma once

namespace cortado {

struct DramTraffic {
  double producer_reads = 0;  ///< by products
  double producer_writes = 0;
  double collective_reads = 0;  ///< by everything else: engines, and kernels that copy or add
  double collective_writes = 0;

  double reads() const { return producer_reads + collective_reads; }
  double writes() const { return producer_writes + collective_writes; }
  double total() const { return reads() + writes(); }

  DramTraffic& operator+=(const DramTraffic& other) {
    producer_reads += other.producer_reads;
    producer_writes += other.producer_writes;
    collective_reads += other.collective_reads;
    collective_writes += other.collective_writes;
    return *this;
  }
};

}  // namespace cortado
