// The functions of a Call (ir/functions.hpp) on the CPU, in f32 with f32 sums, as on GPUs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "device/soft/cpu_kernels.hpp"

namespace cortado::device::soft {
namespace {

template <class Element>
std::span<Element> row_of(const Span2D& span, std::uint64_t row) {
  return {reinterpret_cast<Element*>(span.data + row * span.pitch), span.width / sizeof(Element)};
}

std::span<float> floats(const Span2D& span, std::uint64_t row) {
  return row_of<float>(span, row);
}

std::uint32_t integer(const Span2D& span, std::uint64_t row) {
  return row_of<std::uint32_t>(span, row).front();
}

void rms_norm(const CallLaunchOp& op) {
  const std::span<float> weight = floats(op.operands[1], 0);
  const auto epsilon = static_cast<float>(static_cast<double>(op.parameters[0]) * 1e-9);
  for (std::uint64_t row = 0; row < op.result.rows; ++row) {
    const std::span<float> x = floats(op.operands[0], row);
    const std::span<float> y = floats(op.result, row);
    const float squares = std::inner_product(x.begin(), x.end(), x.begin(), 0.0F);
    const float scale = 1 / std::sqrt(squares / static_cast<float>(x.size()) + epsilon);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * weight[i];
  }
}

void rope(const CallLaunchOp& op) {
  const std::uint64_t head_dim = op.parameters[0];
  const std::uint64_t half = head_dim / 2;
  for (std::uint64_t row = 0; row < op.result.rows; ++row) {
    const std::span<float> x = floats(op.operands[0], row);
    const std::span<float> y = floats(op.result, row);
    const double position = integer(op.operands[1], row);
    for (std::uint64_t i = 0; i < half; ++i) {
      const double turn = position * std::pow(static_cast<double>(op.parameters[1]),
                                              -static_cast<double>(i) / static_cast<double>(half));
      const auto cosine = static_cast<float>(std::cos(turn));
      const auto sine = static_cast<float>(std::sin(turn));
      for (std::uint64_t head = 0; head < x.size(); head += head_dim) {
        const float low = x[head + i];
        const float high = x[head + i + half];
        y[head + i] = low * cosine - high * sine;
        y[head + i + half] = high * cosine + low * sine;
      }
    }
  }
}

void swiglu(const CallLaunchOp& op) {
  for (std::uint64_t row = 0; row < op.result.rows; ++row) {
    const std::span<float> gate = floats(op.operands[0], row);
    const std::span<float> up = floats(op.operands[1], row);
    const std::span<float> y = floats(op.result, row);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  }
}

void embedding(const CallLaunchOp& op) {
  for (std::uint64_t row = 0; row < op.result.rows; ++row) {
    std::ranges::copy(floats(op.operands[1], integer(op.operands[0], row) % op.operands[1].rows),
                      floats(op.result, row).begin());
  }
}

void argmax(const CallLaunchOp& op) {
  for (std::uint64_t row = 0; row < op.result.rows; ++row) {
    const std::span<float> logits = floats(op.operands[0], row);
    const auto best = std::ranges::max_element(logits) - logits.begin();
    row_of<std::uint32_t>(op.result, row).front() = static_cast<std::uint32_t>(best);
  }
}

void append(const CallLaunchOp& op) {
  const auto& [cache, rows, positions] = std::tie(op.operands[0], op.operands[1], op.operands[2]);
  const std::uint64_t sequences = op.parameters[0];
  const std::uint64_t capacity = cache.rows / sequences;
  if (cache.data != op.result.data) {
    for (std::uint64_t row = 0; row < cache.rows; ++row) {
      std::ranges::copy(floats(cache, row), floats(op.result, row).begin());
    }
  }
  for (std::uint64_t row = 0; row < rows.rows; ++row) {
    const std::uint64_t sequence = row / (rows.rows / sequences);
    const std::uint64_t to = sequence * capacity + integer(positions, row) % capacity;
    std::ranges::copy(floats(rows, row), floats(op.result, to).begin());
  }
}

/// One head of one row: `score` must have room for all rows of the cache.
void attend(std::span<const float> q, std::uint64_t head_dim, std::uint64_t column, const Span2D& keys,
            const Span2D& values, std::uint64_t first, std::uint64_t count, std::vector<float>& scores,
            std::span<float> result) {
  const float scale = 1 / std::sqrt(static_cast<float>(head_dim));
  float largest = -INFINITY;
  for (std::uint64_t t = 0; t < count; ++t) {
    const float* key = floats(keys, first + t).data() + column;
    scores[t] = scale * std::inner_product(q.begin(), q.end(), key, 0.0F);
    largest = std::max(largest, scores[t]);
  }
  float total = 0;
  std::ranges::fill(result, 0.0F);
  for (std::uint64_t t = 0; t < count; ++t) {
    const float weight = std::exp(scores[t] - largest);
    total += weight;
    const float* value = floats(values, first + t).data() + column;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += weight * value[i];
  }
  for (float& element : result) element /= total;
}

void attention(const CallLaunchOp& op) {
  const std::uint64_t sequences = op.parameters[0];
  const std::uint64_t heads = op.parameters[1];
  const std::uint64_t shared = heads / op.parameters[2];
  const Span2D& keys = op.operands[1];
  const std::uint64_t capacity = keys.rows / sequences;
  const std::uint64_t head_dim = op.result.width / sizeof(float) / heads;
  std::vector<float> scores(capacity);
  for (std::uint64_t row = 0; row < op.result.rows; ++row) {
    const std::uint64_t sequence = row / (op.result.rows / sequences);
    const std::uint64_t count = std::min<std::uint64_t>(integer(op.operands[3], row), capacity - 1) + 1;
    for (std::uint64_t head = 0; head < heads; ++head) {
      attend(floats(op.operands[0], row).subspan(head * head_dim, head_dim), head_dim, head / shared * head_dim, keys,
             op.operands[2], sequence * capacity, count, scores,
             floats(op.result, row).subspan(head * head_dim, head_dim));
    }
  }
}

void route(const CallLaunchOp& op) {
  std::vector<std::size_t> order;
  for (std::uint64_t row = 0; row < op.result.rows; ++row) {
    const std::span<float> logits = floats(op.operands[0], row);
    const std::span<float> gates = floats(op.result, row);
    order.resize(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    order.resize(op.parameters[0]);
    const float largest = logits[order.front()];
    float total = 0;
    for (const std::size_t expert : order) total += std::exp(logits[expert] - largest);
    std::ranges::fill(gates, 0.0F);
    for (const std::size_t expert : order) gates[expert] = std::exp(logits[expert] - largest) / total;
  }
}

void scale(const CallLaunchOp& op) {
  for (std::uint64_t row = 0; row < op.result.rows; ++row) {
    const float gate = floats(op.operands[1], row)[op.parameters[0]];
    std::ranges::transform(floats(op.operands[0], row), floats(op.result, row).begin(),
                           [&](float x) { return x * gate; });
  }
}

}  // namespace

void run_function(const CallLaunchOp& op) {
  switch (op.function) {
    case Function::rms_norm:
      return rms_norm(op);
    case Function::rope:
      return rope(op);
    case Function::swiglu:
      return swiglu(op);
    case Function::embedding:
      return embedding(op);
    case Function::argmax:
      return argmax(op);
    case Function::append:
      return append(op);
    case Function::attention:
      return attention(op);
    case Function::route:
      return route(op);
    case Function::scale:
      return scale(op);
  }
}

}  // namespace cortado::device::soft
