// Writes frames of packets into the ring of one SDMA queue and announces them.
//
// Positions are monotonic byte offsets. A frame never straddles the end of the ring: the rest of the lap is filled with
// zero dwords, which the engine skips. The writer never overtakes the engine: what is announced and not yet read stays
// below the size of the ring.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "device/driver/driver.hpp"
#include "device/executor/lower.hpp"

namespace cortado::device {

class RingWriter final : public PacketWriter {
 public:
  /// The frame must fit in the queue: frame.bytes() < queue.ring_bytes. The ring is assumed to be empty.
  RingWriter(Driver& driver, SdmaQueue& queue, QueueId id, Frame frame);

  /// Writes the frame with the values of `iteration` (counted from the start of the batch) and rings the doorbell, as
  /// often as the frame says. False while the engine has not read far enough; try again later.
  bool try_submit(std::uint64_t iteration, std::uint64_t slot_offset) {
    std::uint32_t* out = reserve(frame_bytes_);
    if (out == nullptr) [[unlikely]]
      return false;
    write_frame(out, iteration, slot_offset);
    for (const std::uint32_t dword : frame_.doorbells) {
      driver_->ring_doorbell(*queue_, cursor_ + std::uint64_t{dword} * sizeof(std::uint32_t));
    }
    cursor_ += frame_bytes_;
    ++frames_;
    driver_->ring_doorbell(*queue_, cursor_);
    return true;
  }

  bool write_packets(std::uint64_t iteration, std::uint64_t slot_offset) override {
    return try_submit(iteration, slot_offset);
  }

  /// Makes the engine add one to the word after everything submitted so far. False as in try_submit.
  bool try_submit_drain(std::uint64_t* word);

  /// Forgets the frames of the batch, all of which the engine has finished.
  void begin_batch() {
    batch_begin_ = cursor_;
    frames_ = 0;
  }

  struct FramePlace {
    std::uint64_t iteration = 0;  ///< within the batch
    std::uint32_t command = 0;
  };
  /// The command whose packet is at this monotonic byte offset; none if it is not of this batch.
  std::optional<FramePlace> locate(std::uint64_t offset) const;

  QueueId id() const { return id_; }
  const SdmaQueue& queue() const { return *queue_; }
  const Frame& frame() const { return frame_; }
  /// For what is submitted from now on; its packets may change, its length may not.
  Frame& frame() { return frame_; }
  std::uint64_t announced() const { return cursor_; }
  std::uint64_t read_pointer() const { return std::atomic_ref(*queue_->read_pointer).load(std::memory_order_acquire); }

 private:
  /// Room for `bytes` in one piece at the cursor, which skips the tail of the ring if necessary.
  std::uint32_t* reserve(std::uint64_t bytes) {
    const std::uint64_t in_ring = cursor_ & mask_;
    const std::uint64_t tail = in_ring + bytes > queue_->ring_bytes ? queue_->ring_bytes - in_ring : 0;
    if (cursor_ + tail + bytes - known_read_ >= queue_->ring_bytes && !wait_for_space(tail, bytes)) [[unlikely]]
      return nullptr;
    if (tail != 0) [[unlikely]]
      skip_tail(tail);
    return reinterpret_cast<std::uint32_t*>(queue_->ring + (cursor_ & mask_));
  }

  void write_frame(std::uint32_t* out, std::uint64_t iteration, std::uint64_t slot_offset) const {
    std::memcpy(out, frame_.dwords.data(), frame_bytes_);
    for (const ValuePatch& patch : frame_.values) {
      out[patch.dword] = patch.value + static_cast<std::uint32_t>(iteration) * patch.advance;
    }
    for (const SlotPatch& patch : frame_.slots) {
      const std::uint64_t address = patch.address + slot_offset;
      std::memcpy(out + patch.dword, &address, sizeof address);
    }
  }

  bool wait_for_space(std::uint64_t tail, std::uint64_t bytes);
  void skip_tail(std::uint64_t tail);

  Driver* driver_;
  SdmaQueue* queue_;
  std::uint64_t cursor_ = 0;  // where the next frame goes = what was last written to the doorbell
  std::uint64_t known_read_ = 0;
  std::uint64_t mask_;
  std::uint64_t frame_bytes_;
  Frame frame_;
  std::uint64_t batch_begin_ = 0;
  std::uint64_t frames_ = 0;  // submitted in this batch
  QueueId id_;
};

}  // namespace cortado::device
