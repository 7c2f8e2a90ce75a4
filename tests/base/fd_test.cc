#include "src/base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <vector>

#include <restride/error.hpp>

#include "tests/support/files.h"
#include "tests/support/throws.h"

namespace restride::base {
namespace {

using test::holds;
using test::message_of;
using test::TemporaryFolder;

std::string message_for(int reason) {
  errno = reason;
  return write_message("out.npy", 1 << 20);
}

TEST(WriteMessage, AsksForSpaceOnlyWhereSpaceIsShort) {
  for (const int reason : {ENOSPC, EDQUOT})
    EXPECT_TRUE(holds(message_for(reason), "cannot write out.npy: ", "1048576 bytes", "free some space"));
  for (const int reason : {EFBIG, EIO, EPERM})
    EXPECT_EQ(message_for(reason).find("free some space"), std::string::npos) << message_for(reason);
  EXPECT_TRUE(holds(message_for(EFBIG), "1048576 bytes", "its file system holds no such file"));
}

TEST(WriteFully, NamesTheLimitOnTheSizeOfFiles) {
  TemporaryFolder folder;
  const Fd file(::open((folder / "out").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::vector<std::uint8_t> bytes(3000);
  const std::string message = message_of<IoError>([&] { write_fully(file.get(), 0, bytes, "out.npy"); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(holds(message, "3000 bytes are needed", "limited to 1000 bytes", "ulimit -f"));
  EXPECT_EQ(message.find("free some space"), std::string::npos);
}

}  // namespace
}  // namespace restride::base
