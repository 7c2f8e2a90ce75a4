// Planning by measured times: opt-in, recorded, and never able to choose what the planner did not offer.
#include "src/api/measure.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <restride/restride.hpp>

namespace restride {
namespace {

Layout transposed() { return permute(contiguous(DType::kF32, {70, 50}), {1, 0}); }
Layout dense() { return contiguous(DType::kF32, {50, 70}); }

Options with(Measurements* kept, bool measure) {
  Options options;
  options.threads = 1;
  options.measurements = kept;
  options.measure = measure;
  return options;
}

/// The record of `kernel` made the fastest by far.
std::string favour(const Measurements& kept, const std::string& kernel) {
  Measurements out = Measurements::from_json(kept.to_json());
  for (auto& [key, record] : out.state().records)
    for (MeasuredCandidate& k : record) k.time_ns = k.kernel == kernel ? 1 : 1e9;
  return out.to_json();
}

TEST(Measurements, AreMadeOnlyWhenAskedFor) {
  Measurements kept;
  const Plan planned(dense(), transposed(), with(nullptr, false));
  const Plan looked_up(dense(), transposed(), with(&kept, false));
  EXPECT_EQ(kept.size(), 0u);
  EXPECT_EQ(looked_up.family(), planned.family());
  const Plan measured(dense(), transposed(), with(&kept, true));
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_NE(measured.explain().find("measured"), std::string::npos) << measured.explain();
}

TEST(Measurements, DecideThePlansTheyRecord) {
  Measurements kept;
  Plan(dense(), transposed(), with(&kept, true));
  Measurements edited = Measurements::from_json(favour(kept, "gather/units"));
  const Plan plan(dense(), transposed(), with(&edited, false));
  EXPECT_EQ(plan.family(), "gather");
  std::vector<float> src(3500), dst(3500);
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i);
  plan.run(dst.data(), src.data());
  EXPECT_EQ(dst[1], src[50]);
  EXPECT_EQ(dst[70], src[1]);
}

TEST(Measurements, OfOneNumberOfThreadsSayNothingOfAnother) {
  Measurements kept;
  const Layout dst = contiguous(DType::kF32, {512, 300});
  const Layout src = permute(contiguous(DType::kF32, {300, 512}), {1, 0});
  for (const int threads : {1, 2}) {
    Options options = with(&kept, true);
    options.threads = threads;
    Plan(dst, src, options);
    EXPECT_EQ(kept.size(), static_cast<std::size_t>(threads));
  }
}

TEST(Measurements, CannotChooseWhatThePlannerDoesNotOffer) {
  Measurements kept;
  Plan(dense(), transposed(), with(&kept, true));
  Measurements edited = Measurements::from_json(favour(kept, "gather/units"));
  for (auto& [key, record] : edited.state().records)
    for (MeasuredCandidate& k : record) k.params["tile_rows"] = 12345;
  EXPECT_EQ(Plan(dense(), transposed(), with(&edited, false)).family(),
            Plan(dense(), transposed(), with(nullptr, false)).family());
}

TEST(Measurements, DoNotOverruleAForcedFamily) {
  Measurements kept;
  Options options = with(&kept, true);
  options.family = "gather";
  EXPECT_EQ(Plan(dense(), transposed(), options).family(), "gather");
  EXPECT_EQ(kept.size(), 0u);
}

TEST(Measurements, SurviveAFile) {
  Measurements kept;
  Plan(dense(), transposed(), with(&kept, true));
  const std::string path = ::testing::TempDir() + "restride_measurements.json";
  kept.save(path);
  EXPECT_EQ(Measurements::load(path).to_json(), kept.to_json());
  std::remove(path.c_str());
  EXPECT_THROW(Measurements::load(path), IoError);
  EXPECT_THROW(kept.save("/no/such/folder/file.json"), IoError);
}

TEST(Measurements, KeepNamesOfAnyCharactersAndTimesToTheLastBit) {
  const std::string text =
      R"({"records":{"a \"key\"\n\u00e9":[{"kernel":"run/units","params":{"x\\y":-3,"z":1},"time_ns":0.1},)"
      R"({"kernel":"gather/units","params":{},"time_ns":12345678901.25}],"b":[]},"restride_measurements":2})";
  const Measurements kept = Measurements::from_json(text);
  const Measurements again = Measurements::from_json(kept.to_json());
  EXPECT_EQ(again.to_json(), kept.to_json());
  const auto& records = again.state().records;
  ASSERT_EQ(records.size(), 2u);
  const auto& record = records.at("a \"key\"\n\xc3\xa9");
  ASSERT_EQ(record.size(), 2u);
  EXPECT_EQ(record[0].params, (std::map<std::string, std::int64_t>{{"x\\y", -3}, {"z", 1}}));
  EXPECT_EQ(record[0].time_ns, 0.1);
  EXPECT_EQ(record[1].time_ns, 12345678901.25);
}

TEST(Measurements, NameWhatIsWrongWithATextThatHoldsNone) {
  const auto refusal = [](const std::string& text) {
    try {
      Measurements::from_json(text);
    } catch (const ParseError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const auto record = [](const std::string& candidate) {
    return R"({"records":{"a":[)" + candidate + R"(]},"restride_measurements":2})";
  };
  const std::pair<std::string, const char*> table[] = {
      {"", "no valid JSON"},
      {"[]", "no JSON object"},
      {R"({"records":{},"restride_measurements":1})", "not of format 2"},
      {R"({"records":[],"restride_measurements":2})", "no object 'records'"},
      {R"({"records":{"a":{}},"restride_measurements":2})", "'a' is no list"},
      {R"({"records":{"a":[],"a":[]},"restride_measurements":2})", "'a' appears twice"},
      {std::string(1000, '['), "nested deeper than 16 levels"},
      {record("1"), "without a kernel"},
      {record(R"({"kernel":"run/units","params":{}})"), "without a time_ns"},
      {record(R"({"kernel":"run/units","params":{},"time_ns":0})"), "a time of 0 ns"},
      {record(R"({"kernel":"run/units","time_ns":1})"), "without params"},
      {record(R"({"kernel":"run/units","params":{"p":1.5},"time_ns":1})"), "'p' is no integer"},
      {record(R"({"kernel":"run/units","params":{"p":18446744073709551615},"time_ns":1})"), "'p' is no integer"}};
  for (const auto& [text, words] : table) EXPECT_NE(refusal(text).find(words), std::string::npos) << refusal(text);
  EXPECT_NE(refusal(std::string((64 << 20) + 1, ' ')).find("more than 67108864 are refused"), std::string::npos);
}

class MeasurementsFile : public ::testing::Test {
 protected:
  MeasurementsFile() {
    std::string name = ::testing::TempDir() + "restride-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~MeasurementsFile() override { std::filesystem::remove_all(folder_); }
  long files() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }
  std::filesystem::path folder_;
  Measurements kept_;
};

TEST_F(MeasurementsFile, IsWrittenThroughLinks) {
  std::filesystem::create_symlink("real", folder_ / "link");
  for (int round = 0; round < 2; ++round) {  // the file does not exist, then it does
    kept_.save(folder_ / "link");
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
    EXPECT_EQ(Measurements::load(folder_ / "real").to_json(), kept_.to_json());
  }
  std::filesystem::permissions(folder_ / "real", std::filesystem::perms(0640));
  kept_.save(folder_ / "link");
  EXPECT_EQ(std::filesystem::status(folder_ / "real").permissions(), std::filesystem::perms(0640));
  std::filesystem::create_symlink("loop", folder_ / "loop");
  EXPECT_THROW(kept_.save(folder_ / "loop"), IoError);
  EXPECT_EQ(files(), 3);
}

TEST_F(MeasurementsFile, TakesNoRightsOverFromTheFileItReplaces) {
  const std::filesystem::path path = folder_ / "m.json";
  std::ofstream(path).close();
  ASSERT_EQ(::chmod(path.c_str(), 06755), 0);
  kept_.save(path);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0755));
}

TEST_F(MeasurementsFile, MayHaveTheLongestNameThereIs) {
  const std::filesystem::path path = folder_ / std::string(255, 'm');
  for (int round = 0; round < 2; ++round) kept_.save(path);
  EXPECT_EQ(Measurements::load(path).to_json(), kept_.to_json());
  EXPECT_EQ(files(), 1);
}

TEST_F(MeasurementsFile, NeverTakesThePlaceOfWhatIsNoFile) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(kept_.save(folder_ / "pipe"), IoError);
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
  EXPECT_THROW(kept_.save(folder_), IoError);
  EXPECT_EQ(files(), 1);
}

TEST_F(MeasurementsFile, IsNeverAPipeADeviceOrAnotherLargeFile) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  std::ofstream(folder_ / "large").close();
  std::filesystem::resize_file(folder_ / "large", (64 << 20) + 1);
  const std::pair<std::string, const char*> table[] = {{folder_ / "pipe", "no regular file"},
                                                       {"/dev/zero", "no regular file"},
                                                       {folder_, "no regular file"},
                                                       {folder_ / "large", "67108865 bytes"}};
  for (const auto& [path, words] : table) try {
      Measurements::load(path);
      ADD_FAILURE() << "no error: " << path;
    } catch (const IoError& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

TEST_F(MeasurementsFile, LeavesNothingBehindWhenItCannotBeWritten) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(kept_.save(folder_ / "m.json"), IoError);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(files(), 0);
}

TEST_F(MeasurementsFile, SaysWhenItIsEmpty) {
  std::ofstream(folder_ / "m.json").close();
  try {
    Measurements::load(folder_ / "m.json");
    ADD_FAILURE() << "no error";
  } catch (const ParseError& e) {
    EXPECT_NE(std::string(e.what()).find("m.json: it is empty"), std::string::npos) << e.what();
  }
}

TEST(Measurements, RefuseBrokenText) {
  for (const char* text :
       {"", "[]", "{}", R"({"restride_measurements":1,"records":{}})", R"({"restride_measurements":2,"records":[]})",
        R"({"restride_measurements":2,"records":{"k":{}}})",
        R"({"restride_measurements":2,"records":{"k":[{"kernel":"run/units"}]}})",
        R"({"restride_measurements":2,"records":{"k":[{"kernel":"run/units","params":{},"time_ns":-1}]}})",
        R"({"restride_measurements":2,"records":{"k":[{"kernel":"run/units","params":{"a":"b"},"time_ns":1}]}})"})
    EXPECT_THROW(Measurements::from_json(text), ParseError) << text;
}

TEST(Measuring, OfTensorsThatNoMemoryHoldsIsAMemoryErrorBeforeAnythingRuns) {
  const Layout huge = contiguous(DType::kU8, {1 << 20, std::int64_t{1} << 38});
  Measurements kept;
  EXPECT_THROW(Plan(huge, permute(contiguous(DType::kU8, {std::int64_t{1} << 38, 1 << 20}), {1, 0}), with(&kept, true)),
               MemoryError);
  EXPECT_EQ(kept.size(), 0u);
}

TEST(Measurements, ServeCopiesThroughTheCache) {
  Measurements kept;
  std::vector<float> src(3500), dst(3500);
  for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i);
  for (int i = 0; i < 3; ++i)
    copy(Tensor{dst.data(), dense()}, ConstTensor{src.data(), transposed()}, with(&kept, true));
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_EQ(dst[1], src[50]);
}

}  // namespace
}  // namespace restride
