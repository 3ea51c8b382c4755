#include "pipeline/gemm_bench.hpp"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "plan/c3.hpp"

namespace cortado::pipeline {
namespace gemm_bench_test {

TEST(GemmShapes, AreListedOrInAFile) {
  const auto listed = parse_gemm_shapes("4096x2048x1024,1x32x256", {.dtype = DType::f16});
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->size(), 2U);
  EXPECT_EQ(listed->front(), (GemmShape{.m = 4096, .n = 2048, .k = 1024, .dtype = DType::f16}));

  const std::string path = testing::TempDir() + "gemm_shapes.csv";
  std::ofstream(path) << "us,k,n,m\n1.5,3,2,1\n\n9,300,200,100\n";
  const auto read = parse_gemm_shapes(path, {});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ(read->back(), (GemmShape{.m = 100, .n = 200, .k = 300, .dtype = DType::bf16}));
  std::ofstream(path) << "\xEF\xBB\xBFm, n ,k,dtype\r\n1,2,3,f16\r\n4,5,6, f8\r\n";
  const auto typed = parse_gemm_shapes(path, {});
  ASSERT_TRUE(typed);
  ASSERT_EQ(typed->size(), 2U);
  EXPECT_EQ(typed->front().dtype, DType::f16);
  EXPECT_EQ(typed->back(), (GemmShape{.m = 4, .n = 5, .k = 6, .dtype = DType::f8, .result = DType::bf16}));
  std::ofstream(path) << "m,n,k,dtype\n1,2,3,f17\n";
  EXPECT_FALSE(parse_gemm_shapes(path, {}));
  std::remove(path.c_str());
}

TEST(GemmShapes, HaveTypesScalesAndGroups) {
  const auto listed = parse_gemm_shapes("128+64+64+0x512x1024", {.dtype = DType::f8, .scale_block = 128});
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->front(), (GemmShape{.m = 256,
                                        .n = 512,
                                        .k = 1024,
                                        .dtype = DType::f8,
                                        .result = DType::bf16,
                                        .scale_block = 128,
                                        .groups = {{128, 1}, {64, 2}}}));
  const auto batch = parse_gemm_shapes("16x512x1024", {.dtype = DType::i8, .batch = 8});
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->front().m, 128U);
  EXPECT_EQ(batch->front().groups, (std::vector<RowGroup>{{16, 8}}));
  EXPECT_EQ(batch->front().result, DType::i32);

  const std::string path = testing::TempDir() + "gemm_columns.csv";
  std::ofstream(path)
      << "m,n,k,dtype,out_dtype,batch,scale_block\n1,2,3,bf16,f32,,\n4,5,6,,,2,\n7+8,9,10,f8,f32,1,64\n";
  const auto read = parse_gemm_shapes(path, {});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ(read->at(0), (GemmShape{.m = 1, .n = 2, .k = 3, .result = DType::f32}));
  EXPECT_EQ(read->at(1), (GemmShape{.m = 8, .n = 5, .k = 6, .groups = {{4, 2}}}));
  EXPECT_EQ(read->at(2).result, DType::f32);
  EXPECT_EQ(read->at(2).scale_block, 64U);
  std::remove(path.c_str());
}

TEST(GemmShapes, ErrorsOfFilesNameTheLine) {
  const std::string path = testing::TempDir() + "gemm_wrong.csv";
  const auto refusal = [&](const char* text) {
    std::ofstream(path) << text;
    const auto shapes = parse_gemm_shapes(path, {});
    EXPECT_FALSE(shapes) << text;
    return shapes ? Diagnostic{} : shapes.error();
  };
  for (const char* text :
       {"m,n,k\n1,2,3\n1,2,x\n", "m,n,k\n1,2,3\n1,2\n", "m,n,k\n1,2,3\n1,2,3,4\n", "m,n,k\n\n-1,2,3\n",
        "m,n,k,batch\n1,2,3,1\n1,2,3,0\n", "m,n,k,dtype\n1,2,3,bf16\n1,2,3,f17\n", "m,n,k,batch\n1,2,3,1\n1+1,2,3,2\n",
        "m,n,k\n1,2,3\n,2,3\n"}) {
    const Diagnostic diagnostic = refusal(text);
    EXPECT_EQ(diagnostic.code, "gemm.file") << text;
    EXPECT_EQ(diagnostic.place.file, path);
    EXPECT_EQ(diagnostic.place.line, 3U) << text;
  }
  EXPECT_EQ(refusal("m,n,m\n1,2,3\n").place.line, 1U);
  EXPECT_EQ(refusal("m,n\n1,2\n").place.line, 1U);
  std::remove(path.c_str());
}

TEST(GemmShapes, WrongOnesAreRefused) {
  for (const char* text : {"", "12x3", "1x2x3x4", "ax2x3", "1x2x", "1+x2x3", "+1x2x3", "no-such-file.csv"}) {
    EXPECT_FALSE(parse_gemm_shapes(text, {})) << text;
  }
}

TEST(GemmBench, RowsSayWhatTakesLongest) {
  const Machine machine = load_machine("h100-8").value();
  const auto report = predict_gemms({{.m = 8192, .n = 8192, .k = 8192, .dtype = DType::bf16},
                                     {.m = 16, .n = 57344, .k = 8192, .dtype = DType::bf16},
                                     {.m = 1, .n = 32, .k = 256, .dtype = DType::bf16}},
                                    machine);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->rows[0].bound, "compute");
  EXPECT_EQ(report->rows[1].bound, "memory");
  EXPECT_EQ(report->rows[2].bound, "start");
  for (const GemmBenchRow& row : report->rows) {
    EXPECT_NEAR(row.tflops * row.time_us * 1e6, flops(row.shape), 1e-6 * flops(row.shape));
    EXPECT_GT(row.watts.value_or(0), machine.power->idle_w());
  }
}

TEST(GemmBench, RefusesWhatTheMachineCannotDo) {
  const Machine machine = load_machine("h100-8").value();
  EXPECT_FALSE(predict_gemms({{.m = 0, .n = 1, .k = 1, .dtype = DType::bf16}}, machine));
  EXPECT_FALSE(predict_gemms({{.m = 64, .n = 64, .k = 64, .dtype = DType::bf16}}, machine, 133));
}

// The same model prices a GEMM alone here and its workgroups in the simulator, which has launch, flag and poll on top.
TEST(GemmBench, IsWhatTheSimulatorTakesForAGemmAlone) {
  for (const char* name : {"h100-8", "mi300x-8", "mi355x-8"}) {
    const Machine machine = load_machine(name).value();
    for (const GemmShape& shape : {GemmShape{4096, 4096, 4096, DType::bf16}, GemmShape{64, 28672, 8192, DType::bf16},
                                   GemmShape{300, 512, 7168, DType::bf16}, GemmShape{20000, 1000, 512, DType::bf16}}) {
      const double alone = predict_gemms({shape}, machine).value().rows.front().time_us;
      const auto run = predict(plan_gemms({shape}, {}, 1, machine), machine);
      ASSERT_TRUE(run) << name;
      const CoreTiming& cores = machine.timing->cores;
      const double host = microseconds(cores.launch + cores.flag + machine.timing->host.poll);
      EXPECT_NEAR(microseconds(run->time) - host, alone, 0.01 + 1e-3 * alone) << name << " " << to_string(shape);
    }
  }
}

}  // namespace gemm_bench_test
}  // namespace cortado::pipeline
