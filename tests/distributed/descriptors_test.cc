#include "src/distributed/descriptors.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include <restride/error.hpp>

namespace restride::distributed {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string text_of(const DescriptorSocket::Parcel& parcel) {
  return {reinterpret_cast<const char*>(parcel.text.data()), parcel.text.size()};
}

int file_with(const std::string& content) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  EXPECT_EQ(write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  return file;
}

std::string content_of(int file) {
  char buffer[64] = {};
  const ssize_t n = pread(file, buffer, sizeof buffer, 0);
  return {buffer, static_cast<std::size_t>(n < 0 ? 0 : n)};
}

TEST(DescriptorSocket, AnotherProcessReadsTheFilesAndIsToldWhoSentThem) {
  DescriptorSocket mine;
  const pid_t child = fork();
  if (child == 0) {
    DescriptorSocket theirs;
    const int files[] = {file_with("one"), file_with("two")};
    _exit(theirs.send(mine.name(), bytes_of("names"), files) ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto parcel = mine.take();  // the sender has ended: its files are here all the same
  ASSERT_TRUE(parcel);
  EXPECT_EQ(parcel->process, child);
  EXPECT_EQ(text_of(*parcel), "names");
  ASSERT_EQ(parcel->files.size(), 2U);
  EXPECT_EQ(content_of(parcel->files[0]), "one");
  EXPECT_EQ(content_of(parcel->files[1]), "two");
  for (int file : parcel->files) close(file);
  EXPECT_FALSE(mine.take());
}

TEST(DescriptorSocket, AFullQueueIsToldAndTakesMoreWhenItHasBeenRead) {
  DescriptorSocket from, to;
  int sent = 0;
  while (sent < 100'000 && from.send(to.name(), bytes_of(std::to_string(sent)), {})) ++sent;
  ASSERT_LT(sent, 100'000);
  for (int i = 0; i < sent; ++i) {
    const auto parcel = to.take();
    ASSERT_TRUE(parcel);
    EXPECT_EQ(text_of(*parcel), std::to_string(i));
  }
  EXPECT_FALSE(to.take());
  EXPECT_TRUE(from.send(to.name(), bytes_of("again"), {}));
}

TEST(DescriptorSocket, AsManyFilesAsOneParcelMayHold) {
  DescriptorSocket from, to;
  const int file = file_with("x");
  const std::vector<int> files(DescriptorSocket::kMostFiles, file);
  ASSERT_TRUE(from.send(to.name(), bytes_of("all"), files));
  const auto parcel = to.take();
  ASSERT_TRUE(parcel);
  EXPECT_EQ(parcel->files.size(), files.size());
  for (int taken : parcel->files) {
    EXPECT_EQ(content_of(taken), "x");
    close(taken);
  }
  close(file);
}

TEST(DescriptorSocket, NamesTheRemedyWhereTheOtherIsGone) {
  DescriptorSocket from;
  DescriptorSocket::Name gone;
  {
    DescriptorSocket to;
    gone = to.name();
  }
  try {
    from.send(gone, bytes_of("text"), {});
    FAIL() << "no error";
  } catch (const UnsupportedError& e) {
    EXPECT_NE(std::string(e.what()).find("cudaMalloc"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace restride::distributed
