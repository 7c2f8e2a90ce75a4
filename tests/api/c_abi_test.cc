#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <restride/restride.h>
#include <restride/restride.hpp>

#include "tests/api/c_tensors.h"

namespace {

using restride::test::f32_tensor;
using restride::test::Ints;
using restride::test::Transpose;

TEST(CAbi, CopiesATranspose) {
  Transpose t;
  ASSERT_EQ(restride_copy(&t.dst, &t.src, nullptr), RESTRIDE_OK) << restride_last_error();
  t.expect_done();
}

TEST(CAbi, CastsOnTheWay) {
  std::vector<std::uint8_t> in{0, 1, 200, 255};
  std::vector<float> out(4, -1.0f);
  const Ints extents{4};
  restride_tensor src = f32_tensor(in.data(), extents);
  src.dtype = RESTRIDE_U8;
  const restride_tensor dst = f32_tensor(out.data(), extents);
  ASSERT_EQ(restride_copy(&dst, &src, nullptr), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(out, (std::vector<float>{0.0f, 1.0f, 200.0f, 255.0f}));
}

TEST(CAbi, CopiesNothingWhereverItsPointersAre) {
  float host = 1;
  const Ints extents{3, 0};
  for (const restride_device device : {RESTRIDE_DEVICE_AUTO, RESTRIDE_DEVICE_CPU, RESTRIDE_DEVICE_CUDA})
    for (void* data : {static_cast<void*>(&host + 1), static_cast<void*>(nullptr)}) {
      restride_options options = RESTRIDE_OPTIONS_INIT;
      options.device = device;
      const restride_tensor dst = f32_tensor(data, extents), src = f32_tensor(&host, extents);
      EXPECT_EQ(restride_copy(&dst, &src, &options), RESTRIDE_OK) << restride_last_error();
    }
}

TEST(CAbi, RunsAPlanManyTimes) {
  Transpose t;
  restride_plan* plan = nullptr;
  ASSERT_EQ(restride_plan_create(&plan, &t.dst, &t.src, nullptr), RESTRIDE_OK) << restride_last_error();
  for (int i = 0; i < 3; ++i) {
    t.out.assign(12, -1.0f);
    ASSERT_EQ(restride_plan_run(plan, t.out.data(), t.in.data(), nullptr), RESTRIDE_OK);
    t.expect_done();
  }
  std::size_t length = 0;
  char family[32] = "";
  EXPECT_EQ(restride_plan_family(plan, family, sizeof family, &length), RESTRIDE_OK);
  EXPECT_EQ(length, std::strlen(family));
  EXPECT_GT(length, 0u);
  EXPECT_EQ(restride_plan_explain(plan, nullptr, 0, &length), RESTRIDE_OK);
  EXPECT_GT(length, 20u);
  restride_plan_destroy(plan);
}

TEST(CAbi, ReplaysASerialisedPlan) {
  Transpose t;
  restride_plan* plan = nullptr;
  ASSERT_EQ(restride_plan_create(&plan, &t.dst, &t.src, nullptr), RESTRIDE_OK) << restride_last_error();
  std::size_t length = 0;
  ASSERT_EQ(restride_plan_serialize(plan, nullptr, 0, &length), RESTRIDE_OK) << restride_last_error();
  std::string json(length + 1, '\0');
  ASSERT_EQ(restride_plan_serialize(plan, json.data(), json.size(), nullptr), RESTRIDE_OK);
  restride_plan* again = nullptr;
  ASSERT_EQ(restride_plan_deserialize(&again, json.c_str()), RESTRIDE_OK) << restride_last_error();
  ASSERT_EQ(restride_plan_run(again, t.out.data(), t.in.data(), nullptr), RESTRIDE_OK);
  t.expect_done();
  restride_plan_destroy(again);
  restride_plan_destroy(plan);
}

/// Threads of this process.
std::ptrdiff_t live_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(CAbi, RunsASerialisedPlanOnTheThreadsThatItWasMadeWith) {
  const Ints extents{1024, 1024}, src_strides{4, 4096};  // two threads would pay
  std::vector<float> in(1024 * 1024), out(in.size());
  const restride_tensor src = f32_tensor(in.data(), extents, &src_strides), dst = f32_tensor(out.data(), extents);
  restride_options options = RESTRIDE_OPTIONS_INIT;
  options.threads = 1;
  restride_plan *plan = nullptr, *again = nullptr;
  ASSERT_EQ(restride_plan_create(&plan, &dst, &src, &options), RESTRIDE_OK) << restride_last_error();
  std::string json(4096, '\0');
  ASSERT_EQ(restride_plan_serialize(plan, json.data(), json.size(), nullptr), RESTRIDE_OK);
  ASSERT_EQ(restride_plan_deserialize(&again, json.c_str()), RESTRIDE_OK) << restride_last_error();
  const std::ptrdiff_t before = live_threads();
  ASSERT_EQ(restride_plan_run(again, out.data(), in.data(), nullptr), RESTRIDE_OK);
  EXPECT_EQ(live_threads(), before);
  restride_plan_destroy(again);
  restride_plan_destroy(plan);
}

TEST(CAbi, RunsOnTheCallersPool) {
  struct Pool {
    int calls = 0;
    static void parallel(void* context, int tasks, void (*body)(void*, int), void* body_arg) {
      ++static_cast<Pool*>(context)->calls;
      for (int i = 0; i < tasks; ++i) body(body_arg, i);
    }
  } pool;
  // Large enough that two threads pay.
  const std::int64_t n = 1024;
  std::vector<float> in(n * n), out(n * n);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 8191);
  const Ints extents{n, n}, src_strides{4, 4 * n};
  const restride_tensor src = f32_tensor(in.data(), extents, &src_strides), dst = f32_tensor(out.data(), extents);
  restride_plan* plan = nullptr;
  {
    // The structure may go after the plan is made: the plan keeps what it says.
    const restride_executor executor = {sizeof(restride_executor), &Pool::parallel, &pool, 2};
    restride_options options = RESTRIDE_OPTIONS_INIT;
    options.executor = &executor;
    options.threads = 2;
    ASSERT_EQ(restride_plan_create(&plan, &dst, &src, &options), RESTRIDE_OK) << restride_last_error();
  }
  ASSERT_EQ(restride_plan_run(plan, out.data(), in.data(), nullptr), RESTRIDE_OK);
  restride_plan_destroy(plan);
  EXPECT_GT(pool.calls, 0);
  for (std::size_t i : {std::size_t{0}, std::size_t{1}, out.size() / 3, out.size() - 1})
    EXPECT_EQ(out[i], in[(i % n) * n + i / n]);
}

TEST(CAbi, AnswersNullsWithAStatus) {
  Transpose t;
  restride_plan* plan = reinterpret_cast<restride_plan*>(1);
  EXPECT_EQ(restride_copy(nullptr, &t.src, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_copy(&t.dst, nullptr, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_plan_create(nullptr, &t.dst, &t.src, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_plan_create(&plan, nullptr, &t.src, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(restride_plan_run(nullptr, t.out.data(), t.in.data(), nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_plan_explain(nullptr, nullptr, 0, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_plan_deserialize(&plan, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_layout_print(nullptr, nullptr, 0, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_layout_print(&t.src, nullptr, 8, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_layout_parse(nullptr, &t.src, nullptr, nullptr, 0), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_byte_range(&t.src, nullptr, nullptr), RESTRIDE_INVALID_ARGUMENT);
  restride_plan_destroy(nullptr);

  restride_tensor no_data = t.dst;
  no_data.data = nullptr;
  EXPECT_EQ(restride_copy(&no_data, &t.src, nullptr), RESTRIDE_INVALID_ARGUMENT);
  restride_tensor no_extents = t.dst;
  no_extents.extents = nullptr;
  EXPECT_EQ(restride_copy(&no_extents, &t.src, nullptr), RESTRIDE_INVALID_ARGUMENT);
}

TEST(CAbi, AnswersHostileSizesWithAStatus) {
  Transpose t;
  restride_tensor bad = t.src;
  for (std::int32_t rank : {-1, 65, INT32_MAX, INT32_MIN}) {
    bad.rank = rank;
    EXPECT_EQ(restride_copy(&t.dst, &bad, nullptr), RESTRIDE_INVALID_ARGUMENT) << rank;
  }
  const Ints huge{INT64_MAX, INT64_MAX}, negative{-1, 3};
  EXPECT_EQ(restride_copy(&t.dst, (bad = f32_tensor(t.in.data(), huge), &bad), nullptr), RESTRIDE_RANGE);
  EXPECT_EQ(restride_copy(&t.dst, (bad = f32_tensor(t.in.data(), negative), &bad), nullptr), RESTRIDE_INVALID_ARGUMENT);
  const Ints strides{INT64_MAX, INT64_MIN};
  EXPECT_EQ(restride_copy(&t.dst, (bad = f32_tensor(t.in.data(), t.extents, &strides), &bad), nullptr), RESTRIDE_RANGE);
  bad = t.src;
  bad.offset_bytes = INT64_MAX;
  EXPECT_EQ(restride_copy(&t.dst, &bad, nullptr), RESTRIDE_RANGE);
  bad = t.src;
  bad.dtype = 18;
  EXPECT_EQ(restride_copy(&t.dst, &bad, nullptr), RESTRIDE_INVALID_ARGUMENT);
  bad.dtype = RESTRIDE_BYTES;  // with element_bytes 0
  EXPECT_EQ(restride_copy(&t.dst, &bad, nullptr), RESTRIDE_INVALID_ARGUMENT);
  bad = t.src;
  bad.element_bytes = 8;  // of an f32
  EXPECT_EQ(restride_copy(&t.dst, &bad, nullptr), RESTRIDE_INVALID_ARGUMENT);
  for (std::int64_t align : {std::int64_t{-1}, std::int64_t{3}, INT64_MIN}) {
    bad = t.src;
    bad.align_bytes = align;
    restride_plan* plan = nullptr;
    EXPECT_EQ(restride_plan_create(&plan, &t.dst, &bad, nullptr), RESTRIDE_INVALID_ARGUMENT) << align;
  }
}

TEST(CAbi, AnswersTheLimitsOfEveryFieldWithAStatus) {
  const struct {
    const char* field;
    void (*set)(restride_tensor&, Ints& extents, Ints& strides, std::int64_t value);
    restride_dtype dtype = RESTRIDE_F32;
  } table[] = {
      {"extents[0]", [](restride_tensor&, Ints& extents, Ints&, std::int64_t v) { extents[0] = v; }},
      {"extents[1]", [](restride_tensor&, Ints& extents, Ints&, std::int64_t v) { extents[1] = v; }},
      {"strides_bytes[0]", [](restride_tensor&, Ints&, Ints& strides, std::int64_t v) { strides[0] = v; }},
      {"strides_bytes[1]", [](restride_tensor&, Ints&, Ints& strides, std::int64_t v) { strides[1] = v; }},
      {"element_bytes", [](restride_tensor& t, Ints&, Ints&, std::int64_t v) { t.element_bytes = v; }},
      {"element_bytes of bytes", [](restride_tensor& t, Ints&, Ints&, std::int64_t v) { t.element_bytes = v; },
       RESTRIDE_BYTES},
      {"offset_bytes", [](restride_tensor& t, Ints&, Ints&, std::int64_t v) { t.offset_bytes = v; }},
  };
  for (const auto& row : table)
    for (const bool of_dst : {true, false})
      for (const bool with_strides : {true, false})
        for (const std::int64_t value : {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX}) {
          Transpose t;
          Ints extents = t.extents, strides = t.src_strides;
          restride_tensor& bad = of_dst ? t.dst : t.src;
          bad.extents = extents.data();
          if (with_strides || std::string(row.field).rfind("strides", 0) == 0) bad.strides_bytes = strides.data();
          bad.dtype = row.dtype;
          row.set(bad, extents, strides, value);
          SCOPED_TRACE(std::string(of_dst ? "dst." : "src.") + row.field + " = " + std::to_string(value));
          EXPECT_NE(restride_copy(&t.dst, &t.src, nullptr), RESTRIDE_OK);
          restride_plan* plan = nullptr;
          EXPECT_NE(restride_plan_create(&plan, &t.dst, &t.src, nullptr), RESTRIDE_OK);
          std::int64_t first = 0, last = 0;  // a far offset alone is fine where nothing is touched
          const restride_status range = restride_byte_range(&bad, &first, &last);
          EXPECT_EQ(restride_layout_print(&bad, nullptr, 0, nullptr), range);
          EXPECT_TRUE(range != RESTRIDE_OK || bad.offset_bytes == value);
        }
  for (const std::int64_t align : {INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX}) {
    Transpose t;
    t.dst.align_bytes = align;
    restride_plan* plan = nullptr;
    const restride_status status = restride_plan_create(&plan, &t.dst, &t.src, nullptr);
    EXPECT_EQ(status, RESTRIDE_INVALID_ARGUMENT) << align;
  }
}

TEST(CAbi, SaysWhichTensorIsWrong) {
  const Ints negative{-1, 3};
  const struct {
    void (*spoil)(restride_tensor&, const Ints&);
    const char* message;  // behind the tensor's name
  } table[] = {
      {[](restride_tensor& t, const Ints&) { t.rank = 65; }, ".rank must be 0 to 64"},
      {[](restride_tensor& t, const Ints&) { t.extents = nullptr; }, ".extents is NULL"},
      {[](restride_tensor& t, const Ints&) { t.dtype = 18; }, ".dtype is no restride_dtype"},
      {[](restride_tensor& t, const Ints&) { t.dtype = RESTRIDE_BYTES; }, ".element_bytes must be at least 1"},
      {[](restride_tensor& t, const Ints&) { t.struct_size = 8; }, ".struct_size is 8"},
      {[](restride_tensor& t, const Ints& extents) { t.extents = extents.data(); }, ": mode 0 has extent -1"},
  };
  for (const bool of_dst : {true, false}) {
    const std::string name = of_dst ? "dst" : "src";
    for (const auto& row : table) {
      Transpose t;
      row.spoil(of_dst ? t.dst : t.src, negative);
      EXPECT_NE(restride_copy(&t.dst, &t.src, nullptr), RESTRIDE_OK);
      EXPECT_EQ(std::string(restride_last_error()).rfind(name + row.message, 0), 0u) << restride_last_error();
      restride_plan* plan = nullptr;
      EXPECT_NE(restride_plan_create(&plan, &t.dst, &t.src, nullptr), RESTRIDE_OK);
      EXPECT_EQ(std::string(restride_last_error()).rfind(name + row.message, 0), 0u) << restride_last_error();
    }
    const Transpose t;
    EXPECT_NE(restride_copy(of_dst ? nullptr : &t.dst, of_dst ? &t.src : nullptr, nullptr), RESTRIDE_OK);
    EXPECT_EQ(restride_last_error(), name + " is NULL");
  }
}

TEST(CAbi, KeepsBothEndsOfALongMessage) {
  Transpose t;
  const std::string name(1 << 20, 'x');
  restride_options options = RESTRIDE_OPTIONS_INIT;
  options.family = name.c_str();
  EXPECT_EQ(restride_copy(&t.dst, &t.src, &options), RESTRIDE_INVALID_ARGUMENT);
  const std::string words = restride_last_error();
  EXPECT_EQ(words.size(), 1023u);
  EXPECT_EQ(words.rfind("the CPU has no family 'xxx", 0), 0u) << words;
  EXPECT_NE(words.find("x [...] "), std::string::npos) << words;
  EXPECT_NE(words.find("gather/units"), std::string::npos) << "the remedy: " << words;
}

TEST(CAbi, RefusesANegativeCapacity) {
  Transpose t;
  std::int64_t lists[2];
  EXPECT_EQ(restride_layout_parse("f32 (2)", &t.src, lists, lists, -1), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_STREQ(restride_last_error(), "capacity is negative; give arrays of 64, which any layout fits");
}

TEST(CAbi, TellsOldAndNewHeadersApart) {
  Transpose t;
  t.src.struct_size = 0;
  EXPECT_EQ(restride_copy(&t.dst, &t.src, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_NE(std::string(restride_last_error()).find("RESTRIDE_TENSOR_INIT"), std::string::npos);
  t.src.struct_size = sizeof(restride_tensor) + 8;
  EXPECT_EQ(restride_copy(&t.dst, &t.src, nullptr), RESTRIDE_UNSUPPORTED);
  EXPECT_NE(std::string(restride_last_error()).find("a newer header of restride; update the library"),
            std::string::npos);
}

TEST(CAbi, PairsInCOrderWhereAskedOrWhereTheCallerIsOlder) {
  std::vector<float> in{0, 1, 2, 3, 4, 5}, out(6, -1.0f);
  const Ints two_by_three{2, 3}, three_by_two{3, 2};
  const restride_tensor src = f32_tensor(in.data(), two_by_three), dst = f32_tensor(out.data(), three_by_two);
  restride_options options = RESTRIDE_OPTIONS_INIT;
  for (const restride_options* strict : {static_cast<const restride_options*>(nullptr), &std::as_const(options)}) {
    EXPECT_EQ(restride_copy(&dst, &src, strict), RESTRIDE_SHAPE);
    EXPECT_NE(std::string(restride_last_error()).find("(3,2) and (2,3)"), std::string::npos) << restride_last_error();
    restride_plan* plan = nullptr;
    EXPECT_EQ(restride_plan_create(&plan, &dst, &src, strict), RESTRIDE_SHAPE);
  }
  EXPECT_EQ(out, std::vector<float>(6, -1.0f));
  options.reshape = 1;
  EXPECT_EQ(restride_copy(&dst, &src, &options), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(out, in);
  // What a program of before has in the bytes behind its structure is not read.
  options.struct_size = offsetof(restride_options, reshape);
  options.reshape = 0;
  options.reserved = -1;
  out.assign(6, -1.0f);
  EXPECT_EQ(restride_copy(&dst, &src, &options), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(out, in);
  restride_plan* plan = nullptr;
  EXPECT_EQ(restride_plan_create(&plan, &dst, &src, &options), RESTRIDE_OK) << restride_last_error();
  restride_plan_destroy(plan);
  options.struct_size = sizeof options;
  EXPECT_EQ(restride_copy(&dst, &src, &options), RESTRIDE_INVALID_ARGUMENT) << "reserved is not 0";
}

TEST(CAbi, RefusesOptionsItDoesNotKnow) {
  Transpose t;
  const auto status_with = [&](auto change) {
    restride_options options = RESTRIDE_OPTIONS_INIT;
    change(options);
    return restride_copy(&t.dst, &t.src, &options);
  };
  const restride_executor empty = RESTRIDE_EXECUTOR_INIT;
  const restride_executor unsized = {0, [](void*, int, void (*)(void*, int), void*) {}, nullptr, 1};
  EXPECT_EQ(status_with([](auto& o) { o.device = 3; }), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(status_with([](auto& o) { o.threads = -1; }), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(status_with([](auto& o) { o.cuda_device = -3; }), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(status_with([](auto& o) { o.family = "teleport"; }), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(status_with([&](auto& o) { o.executor = &empty; }), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(status_with([&](auto& o) { o.executor = &unsized; }), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(status_with([](auto& o) { o.struct_size = 1; }), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(status_with([](auto&) {}), RESTRIDE_OK);
}

TEST(CAbi, PlansForAGpuThatIsNotThere) {
  Transpose t;
  restride_options options = RESTRIDE_OPTIONS_INIT;
  options.device = RESTRIDE_DEVICE_CUDA;
  options.cuda_device = RESTRIDE_MODEL_DEVICE;
  restride_plan* plan = nullptr;
  ASSERT_EQ(restride_plan_create(&plan, &t.dst, &t.src, &options), RESTRIDE_OK) << restride_last_error();
  EXPECT_EQ(restride_plan_run(plan, t.out.data(), t.in.data(), nullptr), RESTRIDE_DEVICE);
  EXPECT_EQ(t.out, std::vector<float>(12, -1.0f));
  restride_plan_destroy(plan);
}

TEST(CAbi, KeepsTheMessageOfEachThread) {
  Transpose t;
  const Ints other{5};
  const restride_tensor five = f32_tensor(t.in.data(), other);
  ASSERT_EQ(restride_copy(&t.dst, &five, nullptr), RESTRIDE_SHAPE);
  const std::string here = restride_last_error();
  EXPECT_FALSE(here.empty());
  std::thread([] { EXPECT_STREQ(restride_last_error(), ""); }).join();
  ASSERT_EQ(restride_copy(&t.dst, &t.src, nullptr), RESTRIDE_OK);
  EXPECT_EQ(here, restride_last_error()) << "a success keeps the last failure's words";
}

TEST(CAbi, RunsAPlanOnManyPairs) {
  const std::int64_t extents[] = {2, 3}, strides[] = {4, 8};
  restride_tensor d = RESTRIDE_TENSOR_INIT, s = RESTRIDE_TENSOR_INIT;
  d.rank = s.rank = 2;
  d.extents = s.extents = extents;
  s.strides_bytes = strides;
  restride_plan* plan = nullptr;
  ASSERT_EQ(restride_plan_create(&plan, &d, &s, nullptr), RESTRIDE_OK);
  const float a[] = {0, 1, 2, 3, 4, 5}, b[] = {10, 11, 12, 13, 14, 15};
  float to_a[6] = {}, to_b[6] = {};
  void* dst[] = {to_a, to_b};
  const void* src[] = {a, b};
  restride_options options = RESTRIDE_OPTIONS_INIT;
  options.threads = 1;
  for (const restride_options* o : {static_cast<const restride_options*>(nullptr), &std::as_const(options)})
    EXPECT_EQ(restride_plan_run_many(plan, dst, src, 2, o), RESTRIDE_OK);
  EXPECT_EQ(to_a[1], 2);
  EXPECT_EQ(to_b[1], 12);
  EXPECT_EQ(restride_plan_run_many(plan, nullptr, nullptr, 0, nullptr), RESTRIDE_OK);
  EXPECT_EQ(restride_plan_run_many(plan, dst, nullptr, 2, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_plan_run_many(plan, dst, src, -1, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_EQ(restride_plan_run_many(nullptr, dst, src, 2, nullptr), RESTRIDE_INVALID_ARGUMENT);
  dst[1] = nullptr;
  EXPECT_EQ(restride_plan_run_many(plan, dst, src, 2, nullptr), RESTRIDE_INVALID_ARGUMENT);
  EXPECT_STREQ(restride_last_error(), "dst[1] is null; give it memory");
  restride_plan_destroy(plan);
}

TEST(CAbi, RefusesManyPairsBeforeAByteIsWritten) {
  constexpr std::size_t kBytes = 2 * 6 * sizeof(float);  // a pair's, and as many behind
  alignas(16) unsigned char in[2][kBytes], out[2][kBytes], poison[2][kBytes];
  for (std::size_t i = 0; i < sizeof in; ++i) in[i / kBytes][i % kBytes] = static_cast<unsigned char>(i);
  std::memset(poison, 0xee, sizeof poison);
  const Ints extents{2, 3}, strides{4, 8};
  restride_tensor d = f32_tensor(nullptr, extents), s = f32_tensor(nullptr, extents, &strides);
  restride_plan *unaligned = nullptr, *plan = nullptr;
  ASSERT_EQ(restride_plan_create(&unaligned, &d, &s, nullptr), RESTRIDE_OK) << restride_last_error();
  d.align_bytes = 16;
  s.align_bytes = 8;
  ASSERT_EQ(restride_plan_create(&plan, &d, &s, nullptr), RESTRIDE_OK) << restride_last_error();
  const char* const off[] = {
      "[{}] is not a multiple of the 16 bytes that the plan was promised; make the plan with a smaller alignment",
      "[{}] is not a multiple of the 8 bytes that the plan was promised; make the plan with a smaller alignment"};
  for (const std::size_t pair : {0, 1})
    for (const bool of_dst : {true, false})
      for (const bool is_null : {true, false}) {
        void* dst[] = {out[0], out[1]};
        const void* src[] = {in[0], in[1]};
        if (of_dst)
          dst[pair] = is_null ? nullptr : out[pair] + 8;
        else
          src[pair] = is_null ? nullptr : in[pair] + 4;
        std::string words = is_null ? "[{}] is null; give it memory" : off[of_dst ? 0 : 1];
        words.replace(1, 2, std::to_string(pair)).insert(0, of_dst ? "dst" : "src");
        std::memset(out, 0xee, sizeof out);
        EXPECT_EQ(restride_plan_run_many(plan, dst, src, 2, nullptr), RESTRIDE_INVALID_ARGUMENT) << words;
        EXPECT_EQ(restride_last_error(), words);
        EXPECT_EQ(std::memcmp(out, poison, sizeof out), 0) << words;
        // Without a promise the same pointers are as good as others.
        EXPECT_EQ(restride_plan_run_many(unaligned, dst, src, 2, nullptr),
                  is_null ? RESTRIDE_INVALID_ARGUMENT : RESTRIDE_OK);
        EXPECT_EQ(std::memcmp(out, poison, sizeof out) == 0, is_null) << words;
      }
  restride_plan_destroy(plan);
  restride_plan_destroy(unaligned);
}

TEST(CAbi, TakesOptionsOfProgramsOlderThanFreshDestinations) {
  float from[4] = {1, 2, 3, 4}, to[4] = {};
  const std::int64_t extents[] = {4};
  restride_tensor d = RESTRIDE_TENSOR_INIT, s = RESTRIDE_TENSOR_INIT;
  d.rank = s.rank = 1;
  d.extents = s.extents = extents;
  d.data = to;
  s.data = from;
  restride_options options = RESTRIDE_OPTIONS_INIT;
  options.fresh_destination = RESTRIDE_FRESH_PREFAULT;
  options.result = RESTRIDE_RESULT_SOON;
  EXPECT_EQ(restride_copy(&d, &s, &options), RESTRIDE_OK);
  options.result = 3;
  EXPECT_EQ(restride_copy(&d, &s, &options), RESTRIDE_INVALID_ARGUMENT);
  options.result = 0;
  options.fresh_destination = -1;
  EXPECT_EQ(restride_copy(&d, &s, &options), RESTRIDE_INVALID_ARGUMENT);
  options.struct_size = offsetof(restride_options, fresh_destination);  // whatever lies behind is not looked at
  EXPECT_EQ(restride_copy(&d, &s, &options), RESTRIDE_OK);
  EXPECT_EQ(to[3], 4);
}

TEST(CAbi, KnowsSizesNamesAndItsVersion) {
  EXPECT_EQ(restride_dtype_size(RESTRIDE_C128), 16);
  EXPECT_EQ(restride_dtype_size(RESTRIDE_BYTES), 0);
  EXPECT_EQ(restride_dtype_size(-5), 0);
  EXPECT_EQ(restride_version(), restride::version());
  EXPECT_STREQ(restride_status_name(RESTRIDE_OVERLAP), "overlap");
  EXPECT_STREQ(restride_status_name(static_cast<restride_status>(15)), "unknown status");
}

// Programs hold the numbers. The recorded ABI (tests/packaging) has the statuses only: dtype and device travel as
// int32.
TEST(CAbi, DtypesAndDevicesKeepTheirNumbers) {
  const int dtypes[] = {RESTRIDE_BOOL, RESTRIDE_U8,     RESTRIDE_U16,    RESTRIDE_U32, RESTRIDE_U64,  RESTRIDE_I8,
                        RESTRIDE_I16,  RESTRIDE_I32,    RESTRIDE_I64,    RESTRIDE_F16, RESTRIDE_BF16, RESTRIDE_F32,
                        RESTRIDE_F64,  RESTRIDE_F8E4M3, RESTRIDE_F8E5M2, RESTRIDE_C64, RESTRIDE_C128, RESTRIDE_BYTES};
  int number = 0;
  for (const int dtype : dtypes) EXPECT_EQ(dtype, number++);
  EXPECT_EQ(RESTRIDE_DEVICE_AUTO, 0);
  EXPECT_EQ(RESTRIDE_DEVICE_CPU, 1);
  EXPECT_EQ(RESTRIDE_DEVICE_CUDA, 2);
  EXPECT_EQ(RESTRIDE_CURRENT_DEVICE, -1);
  EXPECT_EQ(RESTRIDE_MODEL_DEVICE, -2);
}

}  // namespace
