#include "lab/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace restride::lab {
namespace {

TEST(TasksFor, LeavesOutTheCastForOtherElementsAndTheFaultyRungUnlessNamed) {
  std::set<std::string_view> names;
  for (const Task& task : tasks_for(512, 2, {})) names.insert(task.rung->name);
  EXPECT_TRUE(names.contains("vector"));
  EXPECT_FALSE(names.contains("cpy_strided_f16"));
  EXPECT_FALSE(names.contains("cpy_transpose_batched_race"));
  EXPECT_EQ(tasks_for(512, 4, {"cpy_transpose_batched_race"}).size(), 1u);
}

TEST(TasksFor, NamesTheRungsThatThereAreWhenAskedForAnother) {
  try {
    tasks_for(512, 4, {"fastest"});
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("'fastest'; there are: memcpy, "), std::string::npos) << e.what();
  }
}

TEST(TasksFor, GivesBatchedRungsAsManyElementsInSmallMatrices) {
  const Matrix even = tasks_for(4096, 4, {"cpy_transpose_batched"}).front().shape;
  EXPECT_EQ(even.rows, 256);
  EXPECT_EQ(even.elements(), 4096 * 4096);
  const Matrix odd = tasks_for(4097, 4, {"cpy_transpose_batched"}).front().shape;
  EXPECT_EQ(odd.rows, 255);
  EXPECT_GE(odd.elements(), 4097 * 4097);
}

TEST(Measure, WithoutADeviceGivesTheMapsFiguresAndNoTimes) {
  const std::vector<Row> rows = measure(tasks_for(512, 4, {"memcpy", "naive"}), 512, 4, false, 1);
  ASSERT_EQ(rows.size(), 2u);
  const nlohmann::ordered_json json = to_json(rows);
  EXPECT_EQ(json[1]["rung"], "naive");
  EXPECT_EQ(json[1]["bytes"], 2 * 512 * 512 * 4);
  EXPECT_EQ(json[1]["map"]["store_sectors"], 32.0);
  EXPECT_FALSE(json[1].contains("median_ns"));
  EXPECT_TRUE(json[0]["map"].empty());
  EXPECT_NE(to_text(rows).find("not run"), std::string::npos);
}

TEST(ResultFile, IsToldFromOtherJson) {
  const nlohmann::ordered_json rows = to_json(measure(tasks_for(64, 4, {"naive"}), 64, 4, false, 1));
  EXPECT_TRUE(is_result_file({{"machine", to_json(Device{})}, {"rows", rows}}));
  for (const char* other : {R"([])", R"({"rows":[]})", R"({"machine":{},"cases":[]})", R"({"machine":{},"rows":[1]})"})
    EXPECT_FALSE(is_result_file(nlohmann::ordered_json::parse(other))) << other;
}

TEST(Row, CountsReadAndWrittenBytesOfACast) {
  const std::vector<Row> rows = measure(tasks_for(64, 4, {"cpy_strided_f16"}), 64, 4, false, 1);
  EXPECT_EQ(rows.front().bytes(), 64 * 64 * (4 + 2));
}

}  // namespace
}  // namespace restride::lab
