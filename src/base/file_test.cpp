#include "base/file.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace cortado {
namespace file_test {

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("cortado_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  std::filesystem::path folder_;
};

TEST_F(FileTest, WhatIsWrittenIsRead) {
  const std::string path = folder_ / "a.bin";
  const std::string content("\0line\n\xff", 7);
  ASSERT_TRUE(write_file(path, content).has_value());
  EXPECT_EQ(*read_file(path), content);
  ASSERT_TRUE(write_file(path, "shorter").has_value());
  EXPECT_EQ(*read_file(path), "shorter");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, ALinkStaysALink) {
  const std::string target = folder_ / "target";
  const std::string link = folder_ / "link";
  ASSERT_TRUE(write_file(target, "old").has_value());
  std::filesystem::create_symlink(target, link);
  ASSERT_TRUE(write_file(link, "new").has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(*read_file(target), "new");
}

TEST_F(FileTest, AnExistingFileKeepsItsMode) {
  namespace fs = std::filesystem;
  const std::string path = folder_ / "private";
  for (const auto mode : {fs::perms{0640}, fs::perms{0600}, fs::perms{0755}}) {
    std::ofstream(path) << "old";
    fs::permissions(path, mode);
    ASSERT_TRUE(write_file(path, "new").has_value());
    EXPECT_EQ(fs::status(path).permissions(), mode);
    EXPECT_EQ(*read_file(path), "new");
  }
}

TEST_F(FileTest, ALinkToNothingCreatesItsTarget) {
  namespace fs = std::filesystem;
  fs::create_directory(folder_ / "sub");
  fs::create_symlink("sub/second", folder_ / "first");  // relative to the folder of the link
  fs::create_symlink("target", folder_ / "sub" / "second");
  ASSERT_TRUE(write_file(folder_ / "first", "new").has_value());
  EXPECT_TRUE(fs::is_symlink(folder_ / "first"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "sub" / "second"));
  EXPECT_EQ(*read_file(folder_ / "sub" / "target"), "new");

  fs::create_symlink(folder_ / "absent" / "target", folder_ / "nowhere");
  EXPECT_FALSE(write_file(folder_ / "nowhere", "new").has_value());
  EXPECT_TRUE(fs::is_symlink(folder_ / "nowhere"));
}

TEST_F(FileTest, LinksInACircleAreAnError) {
  namespace fs = std::filesystem;
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  const auto status = write_file(folder_ / "a", "new");
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("Too many levels of symbolic links"), std::string::npos);
  EXPECT_TRUE(fs::is_symlink(folder_ / "a"));
}

TEST_F(FileTest, TooLargeFilesAreRefused) {
  const SizeLimit limit{Bytes{1024}, "small files"};
  const std::string path = folder_ / "file";
  ASSERT_TRUE(write_file(path, std::string(1024, 'x')).has_value());
  EXPECT_EQ(read_file(path, limit)->size(), 1024u);
  ASSERT_TRUE(write_file(path, std::string(1025, 'x')).has_value());
  for (const std::string& large : {path, std::string("/dev/zero")}) {
    const auto content = read_file(large, limit);
    ASSERT_FALSE(content.has_value());
    EXPECT_EQ(to_string(content.error()),
              "file.size: " + large +
                  ": larger than 1KiB, the limit for small files (hint: check that it is the right file)");
  }
}

TEST_F(FileTest, AFailedWriteLeavesNothing) {
  // There is a folder where the file should go, so the last step (rename) fails.
  const std::string path = folder_ / "taken";
  std::filesystem::create_directories(folder_ / "taken" / "inside");
  const auto status = write_file(path, "x");
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().about, About::environment);
  EXPECT_EQ(status.error().place.file, path);
  EXPECT_EQ(files(), 1u);
}

/// Limits files to this size: a write beyond it raises a signal in the middle of write_file().
void limit_file_size(rlim_t bytes, void (*on_limit)(int)) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, on_limit);
}

TEST_F(FileTest, AProcessThatEndsWhileWritingLeavesNothing) {
  const std::string path = folder_ / "large";
  const auto write_until_killed = [&] {
    limit_file_size(4096, [](int) {
      remove_unfinished_file();
      ::_exit(9);
    });
    (void)write_file(path, std::string(1 << 20, 'x'));
  };
  EXPECT_EXIT(write_until_killed(), testing::ExitedWithCode(9), "");
  EXPECT_EQ(files(), 0u);
}

TEST_F(FileTest, NothingIsUnfinishedAfterAWrite) {
  const std::string path = folder_ / "a";
  ASSERT_TRUE(write_file(path, "x").has_value());
  remove_unfinished_file();
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileTest, AMissingFileNamesThePath) {
  const auto content = read_file(folder_ / "absent");
  ASSERT_FALSE(content.has_value());
  EXPECT_NE(to_string(content.error()).find("absent"), std::string::npos);
  EXPECT_NE(to_string(content.error()).find("No such file"), std::string::npos);
}

}  // namespace file_test
}  // namespace cortado
