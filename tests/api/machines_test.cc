#include "src/api/machines.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <restride/restride.hpp>

#include "tests/support/files.h"
#include "tests/support/plan_text.h"
#include "tests/support/throws.h"

namespace restride::api {
namespace {

using test::holds;
using test::message_of;

TEST(MachineFile, HoldsACpuAndGpus) {
  cpu::CpuMachine cpu;
  cpu.name = "my CPU";
  cpu.row_ns = 8;
  const cuda::GpuNumbers gpus[] = {{"my GPU", 8, 9, 250, {}}, {"another", 7, 5, 300, {}}};
  const std::string text = machine_file_text(&cpu, gpus);
  const MachineFile file(text);
  ASSERT_NE(file.cpu(), nullptr);
  EXPECT_EQ(file.cpu()->name, "my CPU");
  EXPECT_EQ(file.cpu()->row_ns, 8);
  ASSERT_EQ(file.gpus().size(), 2U);
  EXPECT_EQ(file.gpus()[1].name, "another");
  EXPECT_EQ(machine_file_text(file.cpu(), file.gpus()), text);
  EXPECT_EQ(MachineFile(machine_file_text(nullptr, {})).cpu(), nullptr);
}

TEST(MachineFile, SaysWhatIsWrongWithIt) {
  const auto why = [](const char* text) { return message_of<ParseError>([&] { MachineFile file(text); }); };
  EXPECT_TRUE(holds(why("[1]"), "no JSON object"));
  EXPECT_TRUE(holds(why("{}"), "no 'restride_machine', the number of its format"));
  EXPECT_TRUE(holds(why(R"({"restride_machine":2})"), "another format than 1, which this version reads"));
  EXPECT_TRUE(holds(why(R"({"restride_machine":1,"gpu":{}})"), "'gpu' is neither 'cpu' nor 'gpus'"));
  EXPECT_TRUE(holds(why(R"({"restride_machine":1,"gpus":{}})"), "'gpus' is no list"));
  EXPECT_TRUE(holds(why(R"({"restride_machine":1,"cpu":{"name":"m","row_ns":-1}})"), "'row_ns'"));
}

/// Sets a variable of the environment for a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* was = std::getenv(name)) before_ = was, set_ = true;
    if (value != nullptr)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }
  ~Variable() { set_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool set_ = false;
};

TEST(MachineFilePath, IsTheNamedOneElseTheUsersOwn) {
  const test::TemporaryFolder folder;
  const Variable named("RESTRIDE_MACHINE", nullptr);
  const Variable config("XDG_CONFIG_HOME", (folder / "config").c_str());
  const Variable home("HOME", (folder / "home").c_str());
  EXPECT_EQ(machine_file_path(), "") << "there is none";
  std::filesystem::create_directories(folder / "config/restride");
  std::filesystem::create_directories(folder / "home/.config/restride");
  test::write_file(folder / "config/restride/machine.json", "{}");
  test::write_file(folder / "home/.config/restride/machine.json", "{}");
  EXPECT_EQ(machine_file_path(), folder / "config/restride/machine.json");
  {
    const Variable relative("XDG_CONFIG_HOME", "config");
    EXPECT_EQ(machine_file_path(), folder / "home/.config/restride/machine.json");
  }
  const Variable other("RESTRIDE_MACHINE", "/no/such/file");
  EXPECT_EQ(machine_file_path(), "/no/such/file") << "asked for by name: it has to be there";
  const Variable none("RESTRIDE_MACHINE", "");
  EXPECT_EQ(machine_file_path(), "");
}

TEST(Machines, AreTheNearestOnesWithoutAFile) {  // RESTRIDE_MACHINE is empty in tests
  EXPECT_EQ(machines().path, "");
  EXPECT_EQ(machines().error, "");
  EXPECT_EQ(machines().cpu, cpu::this_cpu());
  EXPECT_TRUE(
      holds(test::made("f32 (8)", "f32 (8)").explain(), "by the costs of " + std::string(cpu::this_cpu().name)));
}

/// What explain says in a process of its own whose file has this text; ends it.
[[noreturn]] void explain_with(const std::string& path, std::string_view text) {
  test::write_file(path, text);
  ::setenv("RESTRIDE_MACHINE", path.c_str(), 1);
  std::fputs(test::made("f32 (32,64)", "f32 (32,64):(1,32)").explain().c_str(), stderr);
  std::exit(0);
}

TEST(MachinesDeathTest, AreThoseOfTheFileUnlessItIsBroken) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // read once a process
  const test::TemporaryFolder folder;
  const std::string path = folder / "m.json";
  EXPECT_EXIT(explain_with(path, R"({"restride_machine":1,"cpu":{"name":"ENIAC","unit_ns":1000}})"),
              testing::ExitedWithCode(0), "1 thread, by the costs of ENIAC");
  EXPECT_EXIT(explain_with(path, R"({"restride_machine":1,"cpu":{"name":"ENIAC","unit_ns":-1}})"),
              testing::ExitedWithCode(0),
              "by the costs of (AMD|Intel).*\n +.*m.json is not used: 'unit_ns' is no\n? *number");
  EXPECT_EXIT(explain_with(path, ""), testing::ExitedWithCode(0), "m.json is not used: ");
}

TEST(MachinesDeathTest, OfABrokenFileAreALineOfTheLog) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const test::TemporaryFolder folder;
  const std::string path = folder / "m.json";
  const Variable log("RESTRIDE_LOG", "1");
  EXPECT_EXIT(explain_with(path, "{}"), testing::ExitedWithCode(0),
              "restride: machine file .*m.json is not used: no 'restride_machine'");
}

TEST(Plan, RemembersWhoseNumbersChoseItsParameters) {
  const std::string text = test::made("f32 (32,64)", "f32 (32,64):(1,32)", "tile/units").serialize();
  const std::string here = "\"costs\":\"" + std::string(cpu::this_cpu().name) + '"';
  ASSERT_NE(text.find(here), std::string::npos) << text;
  std::string other = text;
  other.replace(other.find(here), here.size(), R"("costs":"Elbrus")");
  const Plan plan = Plan::deserialize(other);
  EXPECT_EQ(plan.serialize(), other);
  EXPECT_TRUE(holds(plan.explain(), "by the costs of Elbrus"));
  std::string none = text;
  none.replace(none.find("," + here), here.size() + 1, "");
  EXPECT_EQ(Plan::deserialize(none).serialize(), text);
  other.replace(other.find("\"Elbrus\""), 8, "7");
  EXPECT_THROW(Plan::deserialize(other), ParseError);
}

}  // namespace
}  // namespace restride::api
