#include "device/executor/formula_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <variant>

#include "device/executor/pattern.hpp"
#include "ir/visit.hpp"

namespace cortado::device {

FormulaValues::FormulaValues(const Program& program, const Fill& fill)
    : memory_(program.buffers.size() + program.contract.formula.values.size()) {
  const Formula& formula = program.contract.formula;
  for (std::size_t i = 0; i < formula.values.size(); ++i) {
    memory_[program.buffers.size() + i].resize(formula.values[i].size.value);
  }
  for (const Command& step : formula.steps) {
    for (const Access& access : accesses(step)) {
      const BufferId id = access.region.buffer;
      if (id >= first_value(program) || !memory_[id.value].empty()) continue;
      memory_[id.value].resize(program.buffer(id).size.value);
      fill(id, memory_[id.value]);
    }
  }
  for (const Command& step : formula.steps) std::visit([this](const auto& command) { run(command); }, step);
}

float FormulaValues::number(const Region& region, std::uint64_t at, std::uint64_t column) const {
  float value = 0;
  std::memcpy(&value, row(region, at) + column * sizeof value, sizeof value);
  return value;
}

std::uint32_t FormulaValues::integer(const Region& region, std::uint64_t at) const {
  std::uint32_t value = 0;
  std::memcpy(&value, row(region, at), sizeof value);
  return value;
}

void FormulaValues::set(const Region& region, std::uint64_t at, std::uint64_t column, double value) {
  const auto rounded = static_cast<float>(value);
  std::byte* place = memory_[region.buffer.value].data() + region.row_offset(at).value + column * sizeof rounded;
  std::memcpy(place, &rounded, sizeof rounded);
}

void FormulaValues::set_integer(const Region& region, std::uint64_t at, std::uint32_t value) {
  std::memcpy(memory_[region.buffer.value].data() + region.row_offset(at).value, &value, sizeof value);
}

void FormulaValues::copy_row(const Region& from, std::uint64_t from_row, const Region& to, std::uint64_t to_row) {
  std::memmove(memory_[to.buffer.value].data() + to.row_offset(to_row).value, row(from, from_row), from.width.value);
}

void FormulaValues::run(const Copy& copy) {
  for (std::uint64_t i = 0; i < copy.src.rows; ++i) {
    if (copy.op == CopyOp::store) {
      copy_row(copy.src, i, copy.dst, i);
      continue;
    }
    for (std::uint64_t c = 0; c < columns(copy.dst); ++c) {
      set(copy.dst, i, c, double{number(copy.dst, i, c)} + number(copy.src, i, c));
    }
  }
}

void FormulaValues::run(const Gemm& gemm) {
  std::vector<double> row_sums(gemm.n);
  double* const sums = row_sums.data();  // a call of operator[] for every product would take half of the time
  for (std::uint64_t i = 0; i < gemm.m; ++i) {
    for (std::uint64_t j = 0; j < gemm.n; ++j) sums[j] = gemm.accumulate ? double{number(gemm.c, i, j)} : 0;
    for (std::uint64_t t = 0; t < gemm.k; ++t) {
      const double a = number(gemm.a, i, t);
      const auto* b = reinterpret_cast<const float*>(row(gemm.b, t));
      for (std::uint64_t j = 0; j < gemm.n; ++j) sums[j] += a * b[j];
    }
    for (std::uint64_t j = 0; j < gemm.n; ++j) set(gemm.c, i, j, sums[j]);
  }
}

void FormulaValues::run(const Kernel& kernel) {
  if (kernel.op != KernelOp::reduce) {
    const bool gather = kernel.op == KernelOp::gather_rows;
    for (std::uint64_t i = 0; i < kernel.rows.size(); ++i) {
      copy_row(kernel.sources.front(), gather ? kernel.rows[i] : i, kernel.dst, gather ? i : kernel.rows[i]);
    }
    return;
  }
  for (std::uint64_t i = 0; i < kernel.dst.rows; ++i) {
    if (kernel.sources.size() == 1) {  // byte for byte
      copy_row(kernel.sources.front(), i, kernel.dst, i);
      for (const Region& also : kernel.also) copy_row(kernel.sources.front(), i, also, i);
      continue;
    }
    for (std::uint64_t c = 0; c < columns(kernel.dst); ++c) {
      double sum = 0;
      for (const Region& source : kernel.sources) sum += number(source, i, c);
      set(kernel.dst, i, c, sum);
      for (const Region& also : kernel.also) set(also, i, c, sum);
    }
  }
}

void FormulaValues::rms_norm(const Call& call) {
  const auto& [x, weight] = std::tie(call.operands[0], call.operands[1]);
  for (std::uint64_t i = 0; i < call.result.rows; ++i) {
    double squares = 0;
    for (std::uint64_t c = 0; c < columns(x); ++c) squares += double{number(x, i, c)} * number(x, i, c);
    const double mean = squares / static_cast<double>(columns(x)) + static_cast<double>(call.parameters[0]) * 1e-9;
    for (std::uint64_t c = 0; c < columns(x); ++c) {
      set(call.result, i, c, number(x, i, c) * number(weight, 0, c) / std::sqrt(mean));
    }
  }
}

void FormulaValues::rope(const Call& call) {
  const std::uint64_t head_dim = call.parameters[0];
  const std::uint64_t half = head_dim / 2;
  for (std::uint64_t i = 0; i < call.result.rows; ++i) {
    for (std::uint64_t c = 0; c < columns(call.result); ++c) {
      const std::uint64_t within = c % head_dim;
      const double exponent = -static_cast<double>(within % half) / static_cast<double>(half);
      const double turn = integer(call.operands[1], i) * std::pow(static_cast<double>(call.parameters[1]), exponent);
      const bool low = within < half;
      const double partner = number(call.operands[0], i, low ? c + half : c - half);
      set(call.result, i, c,
          number(call.operands[0], i, c) * std::cos(turn) + (low ? -partner : partner) * std::sin(turn));
    }
  }
}

void FormulaValues::append(const Call& call) {
  const auto& [cache, rows, positions] = std::tie(call.operands[0], call.operands[1], call.operands[2]);
  const std::uint64_t sequences = call.parameters[0];
  const std::uint64_t capacity = cache.rows / sequences;
  for (std::uint64_t i = 0; i < cache.rows; ++i) copy_row(cache, i, call.result, i);
  for (std::uint64_t i = 0; i < rows.rows; ++i) {
    const std::uint64_t sequence = i * sequences / rows.rows;
    copy_row(rows, i, call.result, sequence * capacity + integer(positions, i) % capacity);
  }
}

void FormulaValues::attention(const Call& call) {
  const auto& [q, keys, values, positions] =
      std::tie(call.operands[0], call.operands[1], call.operands[2], call.operands[3]);
  const std::uint64_t sequences = call.parameters[0];
  const std::uint64_t head_dim = columns(q) / call.parameters[1];
  const std::uint64_t capacity = keys.rows / sequences;
  std::vector<double> weights(capacity);
  for (std::uint64_t i = 0; i < q.rows; ++i) {
    const std::uint64_t first = i * sequences / q.rows * capacity;
    const std::uint64_t count = std::min<std::uint64_t>(std::uint64_t{integer(positions, i)} + 1, capacity);
    for (std::uint64_t head = 0; head < call.parameters[1]; ++head) {
      const std::uint64_t from = head * call.parameters[2] / call.parameters[1] * head_dim;
      double largest = -INFINITY;
      for (std::uint64_t t = 0; t < count; ++t) {
        weights[t] = 0;
        for (std::uint64_t c = 0; c < head_dim; ++c) {
          weights[t] += double{number(q, i, head * head_dim + c)} * number(keys, first + t, from + c);
        }
        weights[t] /= std::sqrt(static_cast<double>(head_dim));
        largest = std::max(largest, weights[t]);
      }
      double total = 0;
      for (std::uint64_t t = 0; t < count; ++t) total += weights[t] = std::exp(weights[t] - largest);
      for (std::uint64_t c = 0; c < head_dim; ++c) {
        double sum = 0;
        for (std::uint64_t t = 0; t < count; ++t) sum += weights[t] * number(values, first + t, from + c);
        set(call.result, i, head * head_dim + c, sum / total);
      }
    }
  }
}

void FormulaValues::route(const Call& call) {
  const Region& logits = call.operands[0];
  for (std::uint64_t i = 0; i < logits.rows; ++i) {
    // An expert is chosen if fewer than top_k come before it.
    std::vector<bool> chosen(columns(logits));
    double total = 0;
    for (std::uint64_t e = 0; e < columns(logits); ++e) {
      std::uint64_t before = 0;
      for (std::uint64_t other = 0; other < columns(logits); ++other) {
        const float mine = number(logits, i, e);
        const float its = number(logits, i, other);
        before += its > mine || (its == mine && other < e) ? 1 : 0;
      }
      chosen[e] = before < call.parameters[0];
      if (chosen[e]) total += std::exp(double{number(logits, i, e)});
    }
    for (std::uint64_t e = 0; e < columns(logits); ++e) {
      set(call.result, i, e, chosen[e] ? std::exp(double{number(logits, i, e)}) / total : 0);
    }
  }
}

void FormulaValues::run(const Call& call) {
  const Region& result = call.result;
  const Region& first = call.operands.front();
  switch (call.function) {
    case Function::rms_norm:
      return rms_norm(call);
    case Function::rope:
      return rope(call);
    case Function::append:
      return append(call);
    case Function::attention:
      return attention(call);
    case Function::route:
      return route(call);
    case Function::embedding:
      for (std::uint64_t i = 0; i < result.rows; ++i) {
        copy_row(call.operands[1], integer(first, i) % call.operands[1].rows, result, i);
      }
      return;
    case Function::argmax:
      for (std::uint64_t i = 0; i < result.rows; ++i) {
        std::uint32_t best = 0;
        for (std::uint32_t c = 1; c < columns(first); ++c) {
          if (number(first, i, c) > number(first, i, best)) best = c;
        }
        set_integer(result, i, best);
      }
      return;
    case Function::swiglu:
    case Function::scale:
      for (std::uint64_t i = 0; i < result.rows; ++i) {
        for (std::uint64_t c = 0; c < columns(result); ++c) {
          const double x = number(first, i, c);
          const bool gated = call.function == Function::swiglu;
          const double other = number(call.operands[1], i, gated ? c : call.parameters[0]);
          set(result, i, c, gated ? x / (1 + std::exp(-x)) * other : x * other);
        }
      }
      return;
  }
}

}  // namespace cortado::device
