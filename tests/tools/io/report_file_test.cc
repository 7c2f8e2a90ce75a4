#include "tools/io/report_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <future>

#include <nlohmann/json.hpp>

#include "tests/tools/io/support.h"
#include "tools/io/file.h"

namespace restride::io {
namespace {

bool is_object(const nlohmann::ordered_json& file) { return file.is_object(); }

TEST(ReportFile, ReplacesAFileWholeAndLeavesNothingBesideIt) {
  TemporaryFolder folder;
  write_file(folder / "r.json", "{\"an\":\"older and longer report\"}");
  write_file(folder / "r.json.part", "the user's own");
  require_report(folder / "r.json", is_object);
  EXPECT_EQ(read_file(folder / "r.json"), "{\"an\":\"older and longer report\"}");
  write_report(folder / "r.json", "{}\n");
  EXPECT_EQ(read_file(folder / "r.json"), "{}\n");
  EXPECT_EQ(read_file(folder / "r.json.part"), "the user's own");
  EXPECT_EQ(folder.files(), 2u);
}

TEST(ReportFile, ReplacesNothingButAReport) {
  TemporaryFolder folder;
  write_file(folder / "notes.md", "precious");
  const auto refusal = [&](const char* name) {
    return message_of<IoError>([&] { require_report(folder / name, is_object); });
  };
  EXPECT_NE(refusal("notes.md").find("holds no JSON"), std::string::npos);
  EXPECT_EQ(read_file(folder / "notes.md"), "precious");
  write_file(folder / "list.json", "[1]");
  EXPECT_NE(refusal("list.json").find("other JSON than this command's"), std::string::npos);
  EXPECT_EQ(read_file(folder / "list.json"), "[1]");
  write_file(folder / "deep.json", std::string(1000, '['));
  EXPECT_NE(refusal("deep.json").find("holds no JSON"), std::string::npos);
  write_file(folder / "empty", "");  // as mktemp makes it
  require_report(folder / "empty", is_object);
}

TEST(ReportFile, FollowsLinksAlsoToAFileThatDoesNotExistYet) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("real", folder / "link");
  for (const char* text : {"first", "second"}) {
    write_report(folder / "link", text);
    EXPECT_EQ(read_file(folder / "real"), text);
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  }
}

TEST(ReportFile, WritesIntoAPipeAndLeavesItAPipe) {
  TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(is_stream(pipe));
  require_report(pipe, is_object);
  auto reader = std::async(std::launch::async, [&] { return read_file(pipe); });
  write_report(pipe, "{}\n");
  EXPECT_EQ(reader.get(), "{}\n");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(ReportFile, WritesIntoADeviceAndLeavesItADevice) {
  TemporaryFolder folder;
  const std::string null = folder / "null";  // a node of its own: no test may touch the machine's
  if (::mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) GTEST_SKIP() << "making a device node needs root";
  if (!Fd(::open(null.c_str(), O_WRONLY))) GTEST_SKIP() << "device nodes do not work here";
  require_report(null, is_object);
  write_report(null, "{}\n");
  EXPECT_TRUE(std::filesystem::is_character_file(null));
}

TEST(ReportFile, SaysWhatCannotBeWritten) {
  TemporaryFolder folder;
  EXPECT_NE(message_of<IoError>([&] { require_report(folder / "no/such/r.json", is_object); }).find("no/such"),
            std::string::npos);
  EXPECT_NE(message_of<IoError>([&] { write_report(folder / "", "{}"); }).find("directory"), std::string::npos);
  EXPECT_EQ(folder.files(), 0u);
}

}  // namespace
}  // namespace restride::io
