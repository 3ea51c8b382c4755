#include "device/executor/ring_writer.hpp"

#include <algorithm>
#include <bit>

#include "cortado/packets.hpp"

#include "base/check.hpp"

namespace cortado::device {

RingWriter::RingWriter(Driver& driver, SdmaQueue& queue, QueueId id, Frame frame)
    : driver_(&driver),
      queue_(&queue),
      mask_(queue.ring_bytes - 1),
      frame_bytes_(frame.bytes()),
      frame_(std::move(frame)),
      id_(id) {
  CORTADO_CHECK(std::has_single_bit(queue.ring_bytes), "ring sizes are powers of two");
  CORTADO_CHECK(frame_bytes_ < queue.ring_bytes, "one frame fits the ring");
}

bool RingWriter::wait_for_space(std::uint64_t tail, std::uint64_t bytes) {
  known_read_ = read_pointer();
  if (cursor_ + tail + bytes - known_read_ < queue_->ring_bytes) return true;
  // Tail and frame together may be more than the ring can ever hold: then the tail is announced by itself, and the
  // frame follows when the engine has passed it.
  if (tail != 0 && tail + bytes >= queue_->ring_bytes && cursor_ + tail - known_read_ < queue_->ring_bytes) {
    skip_tail(tail);
    driver_->ring_doorbell(*queue_, cursor_);
  }
  return false;
}

void RingWriter::skip_tail(std::uint64_t tail) {
  std::memset(queue_->ring + (cursor_ & mask_), 0, tail);
  cursor_ += tail;
}

bool RingWriter::try_submit_drain(std::uint64_t* word) {
  sdma::Atomic atomic;
  atomic.address = reinterpret_cast<std::uint64_t>(word);
  atomic.data = 1;
  const std::uint64_t bytes = sdma::dwords(atomic) * sizeof(std::uint32_t);
  std::uint32_t* out = reserve(bytes);
  if (out == nullptr) return false;
  sdma::encode(atomic, out);
  cursor_ += bytes;
  driver_->ring_doorbell(*queue_, cursor_);
  return true;
}

// Frames are stored end to end; a lap of the ring has room for ring / frame of them, the first lap of a batch for those
// that fit after the place where the batch began.
std::optional<RingWriter::FramePlace> RingWriter::locate(std::uint64_t offset) const {
  if (frame_bytes_ == 0 || offset < batch_begin_ || offset >= cursor_) return std::nullopt;
  const std::uint64_t ring = queue_->ring_bytes;
  const std::uint64_t first = batch_begin_ & mask_;
  const std::uint64_t in_first_lap = (ring - first) / frame_bytes_;
  const std::uint64_t in_lap = ring / frame_bytes_;

  std::uint64_t position = offset - (batch_begin_ - first);  // counted from the start of the first lap
  std::uint64_t frames_before = 0;                           // in earlier laps
  std::uint64_t frames_here = in_first_lap;
  if (position < ring) {
    position -= first;
  } else {
    const std::uint64_t laps = position / ring;
    frames_before = in_first_lap + (laps - 1) * in_lap;
    frames_here = in_lap;
    position %= ring;
  }
  // In the tail of a lap, the engine is on its way to the first frame of the next one.
  const std::uint64_t frame = std::min(position / frame_bytes_, frames_here);
  const std::uint64_t in_frame = frame == frames_here ? 0 : position % frame_bytes_;
  if (frames_before + frame >= frames_) return std::nullopt;
  const auto dword = static_cast<std::uint32_t>(in_frame / sizeof(std::uint32_t));
  const auto after = std::upper_bound(frame_.start.begin(), frame_.start.end() - 1, dword);
  return FramePlace{frames_before + frame, static_cast<std::uint32_t>(after - frame_.start.begin() - 1)};
}

}  // namespace cortado::device
