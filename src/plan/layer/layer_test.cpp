#include "plan/layer.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

#include "cortado/program.hpp"
#include "cortado/target.hpp"

#include "plan/ficco.hpp"
#include "plan/overlap.hpp"

namespace cortado::plan::layer_test {
namespace {

const Machine& machine() {
  static const Machine loaded = load_machine("mi300x-8").value();
  return loaded;
}

constexpr LayerShape kSmall{
    .hidden = 32, .heads = 16, .kv_heads = 8, .head_dim = 4, .intermediate = 48, .vocabulary = 64};

PassRequest pass(std::uint32_t ranks, std::uint64_t rows = 16) {
  return {.shape = kSmall, .sequences = 4, .rows = rows, .capacity = 6, .ranks = ranks};
}

PassRequest experts_pass(std::uint32_t ranks, std::uint64_t rows = 16) {
  PassRequest request = pass(ranks, rows);
  request.shape.experts = 8;
  request.shape.top_k = 2;
  request.shape.intermediate = 12;
  return request;
}

/// By FiCCO's composers; empty: serial.
PairPlanner pairs_by(const std::string& schedule) {
  if (schedule.empty()) return {};
  return [schedule](const OverlapProblem& problem) -> Result<Program> {
    FiccoSchedule way;
    if (schedule == "tiles") {
      way = {.grain = Grain::tiles, .chunks = 1, .exchange = ExchangeVariant::pcpy};
    } else {
      CORTADO_ASSIGN_OR_RETURN(way, find_schedule(schedule));
    }
    CORTADO_ASSIGN_OR_RETURN(FiccoPlan plan, plan_ficco(dependent_request(problem), way, machine()));
    return std::move(plan.program);
  };
}

std::string errors_of(const Program& program) {
  const auto verified = verify(program, machine());
  std::string text;
  if (!verified) {
    for (const Diagnostic& error : verified.error()) text += to_string(error) + "\n";
  }
  return text;
}

class LayerOf : public ::testing::TestWithParam<std::tuple<std::uint32_t, std::string>> {};

TEST_P(LayerOf, IsProved) {
  const auto& [ranks, schedule] = GetParam();
  const auto layer = plan_layer(pass(ranks), machine(), pairs_by(schedule));
  ASSERT_TRUE(layer) << to_string(layer.error());
  EXPECT_EQ(errors_of(layer->program), "");
}

TEST_P(LayerOf, ExpertsIsProved) {
  const auto& [ranks, schedule] = GetParam();
  const auto layer = plan_layer(experts_pass(ranks), machine(), pairs_by(schedule));
  ASSERT_TRUE(layer) << to_string(layer.error());
  EXPECT_EQ(errors_of(layer->program), "");
}

INSTANTIATE_TEST_SUITE_P(Strategies, LayerOf,
                         ::testing::Combine(::testing::Values(2U, 4U, 8U),
                                            ::testing::Values("", "serial-dma", "hetero-fused-1d/2",
                                                              "uniform-fused-2d/2", "tiles")),
                         [](const auto& parameter) {
                           std::string name =
                               std::to_string(std::get<0>(parameter.param)) + std::get<1>(parameter.param);
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

TEST(Layer, OfOneRankIsProved) {
  const auto layer = plan_layer(pass(1), machine());
  ASSERT_TRUE(layer) << to_string(layer.error());
  EXPECT_EQ(errors_of(layer->program), "");
}

TEST(Layer, OfOneTokenAndPartsAroundItAreProved) {
  for (const std::uint32_t ranks : {1U, 4U}) {
    const auto decode = plan_layer(pass(ranks, 4), machine());
    ASSERT_TRUE(decode) << to_string(decode.error());
    EXPECT_EQ(errors_of(decode->program), "");
    EXPECT_EQ(errors_of(plan_embedding(pass(ranks), machine()).value().program), "");
    EXPECT_EQ(errors_of(plan_head(pass(ranks, 4), machine(), pairs_by("serial-dma")).value().program), "");
  }
}

/// Whether the commands of a stream that the test changes are kernels between the pairs.
bool is_kernel_queue(const Queue& queue) {
  return queue.name.starts_with("kernels0");
}

TEST(Layer, WithoutOneOfItsKernelsIsRefused) {
  const Program layer = plan_layer(pass(2), machine(), pairs_by("serial-dma")).value().program;
  std::size_t tried = 0;
  for (std::size_t q = 0; q < layer.queues.size(); ++q) {
    if (!is_kernel_queue(layer.queues[q])) continue;
    for (std::size_t c = 0; c + 1 < layer.queues[q].commands.size(); ++c) {  // the last one raises a signal
      Program without = layer;
      without.queues[q].commands.erase(without.queues[q].commands.begin() + static_cast<std::ptrdiff_t>(c));
      EXPECT_NE(errors_of(without), "") << to_string(layer, layer.queues[q].commands[c]);
      ++tried;
    }
  }
  EXPECT_EQ(tried, 10U);  // norm; rope, rope, append, append, attention; sum, norm; swiglu; sum
}

/// The first command of the stream of rank 0 that calls a function.
Call& first_call(Program& program, Function function) {
  for (Queue& queue : program.queues) {
    if (!is_kernel_queue(queue)) continue;
    for (Command& command : queue.commands) {
      auto* call = std::get_if<Call>(&command);
      if (call != nullptr && call->function == function) return *call;
    }
  }
  throw std::logic_error("no such call");
}

TEST(Layer, OfExpertsWithOtherGatesIsRefused) {
  const Program layer = plan_layer(experts_pass(2), machine(), pairs_by("serial-dma")).value().program;
  Program other = layer;
  first_call(other, Function::route).parameters[0] = 3;  // experts of a token
  EXPECT_NE(errors_of(other), "");
  other = layer;
  first_call(other, Function::scale).parameters[0] = 1;  // the gate of another expert
  EXPECT_NE(errors_of(other), "");
  other = layer;
  const Call scale = first_call(other, Function::scale);
  first_call(other, Function::scale) = {Function::scale, {scale.operands[0], scale.operands[0]}, scale.result, {0}};
  EXPECT_NE(errors_of(other), "");
}

TEST(Layer, WithOtherOperandsOrParametersIsRefused) {
  const Program layer = plan_layer(pass(2), machine(), pairs_by("serial-dma")).value().program;
  std::size_t tried = 0;
  const auto expect_refused = [&](std::size_t q, std::size_t c, const Call& changed) {
    Program other = layer;
    other.queues[q].commands[c] = changed;
    EXPECT_NE(errors_of(other), "") << to_string(other, other.queues[q].commands[c]);
    ++tried;
  };
  for (std::size_t q = 0; q < layer.queues.size(); ++q) {
    if (!is_kernel_queue(layer.queues[q])) continue;
    for (std::size_t c = 0; c < layer.queues[q].commands.size(); ++c) {
      const auto* call = std::get_if<Call>(&layer.queues[q].commands[c]);
      if (call == nullptr) continue;
      for (std::size_t p = 0; p < call->parameters.size(); ++p) {
        Call changed = *call;
        changed.parameters[p] *= 2;
        expect_refused(q, c, changed);
      }
      if (call->function == Function::swiglu) {
        Call changed = *call;
        std::swap(changed.operands[0], changed.operands[1]);
        expect_refused(q, c, changed);
      }
    }
  }
  EXPECT_EQ(tried, 12U);  // 1 of each norm and append, 2 of each rope, 3 of attention, swiglu
}

TEST(Layer, RefusesWhatRanksDoNotDivide) {
  const auto code = [](const PassRequest& request) {
    const auto layer = plan_layer(request, machine());
    return layer ? std::string() : layer.error().code;
  };
  EXPECT_EQ(code(pass(3)), "layer.shape");
  EXPECT_EQ(code(pass(9)), "layer.ranks");
  EXPECT_EQ(code(pass(8, 12)), "layer.shape");
  PassRequest request = pass(2);
  request.shape.heads = 12;
  EXPECT_EQ(code(request), "layer.shape");
  request = pass(2);
  request.sequences = 3;
  EXPECT_EQ(code(request), "layer.shape");
  request = pass(2, 0);
  EXPECT_EQ(code(request), "layer.shape");
  request = experts_pass(2);
  request.shape.top_k = 9;
  EXPECT_EQ(code(request), "layer.shape");
  request = experts_pass(8);
  request.shape.experts = 4;
  EXPECT_EQ(code(request), "layer.shape");
}

}  // namespace
}  // namespace cortado::plan::layer_test
