#include "explore/server.hpp"

#include <httplib.h>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace cortado::explore {
namespace server_test {

/// "hello" as gzip -n writes it.
constexpr std::string_view kHello{
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00", 25};

std::string bundle() {
  return fmt::format("/index.html text/html {}\n{}/assets/a.js text/javascript {}\n{}", kHello.size(), kHello,
                     kHello.size(), kHello);
}

TEST(Bundle, HasFilesByPath) {
  const std::string text = bundle();
  const auto page = read_bundle(text);
  ASSERT_TRUE(page) << to_string(page.error());
  EXPECT_EQ(page->size(), 2U);
  EXPECT_EQ(page->at("/assets/a.js").type, "text/javascript");
  EXPECT_EQ(page->at("/assets/a.js").content, kHello);
}

TEST(Bundle, RefusesDamage) {
  const std::string text = bundle();
  for (const std::string& wrong : {text.substr(0, text.size() - 1), std::string("/index.html text/html 9x\n"),
                                   std::string("/index.html 3\nabc"), std::string()}) {
    const auto page = read_bundle(wrong);
    ASSERT_FALSE(page);
    EXPECT_EQ(page.error().code, "explore.page");
  }
}

class Served : public testing::Test {
 protected:
  void SetUp() override {
    page_ = read_bundle(text_).value();
    server_ = std::make_unique<PageServer>(page_);
    port_ = server_->listen(0).value();
    thread_ = std::thread([this] { server_->serve(); });
    ASSERT_TRUE(get("/"));  // it runs, so that stop() ends it
  }
  void TearDown() override {
    server_->stop();
    thread_.join();
  }

  httplib::Result get(const std::string& path, const httplib::Headers& headers = {}) {
    httplib::Client client("127.0.0.1", port_);
    return client.Get(path, headers);
  }
  std::string own() const { return fmt::format("127.0.0.1:{}", port_); }

  std::string text_ = bundle();
  Page page_;
  std::unique_ptr<PageServer> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(Served, GivesFilesOfThePageOnly) {
  const auto index = get("/");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->status, 200);
  EXPECT_EQ(index->body, "hello");
  EXPECT_EQ(index->get_header_value("Content-Type"), "text/html");
  EXPECT_EQ(get("/assets/a.js")->status, 200);
  for (const char* const path : {"/b.js", "/../etc/passwd", "/etc/passwd", "/assets/a.js/", "//assets/a.js"}) {
    EXPECT_EQ(get(path)->status, 404) << path;
  }
}

TEST_F(Served, LetsBrowsersKeepOnlyFilesNamedByTheirContent) {
  EXPECT_EQ(get("/")->get_header_value("Cache-Control"), "no-cache");
  EXPECT_EQ(get("/assets/a.js")->get_header_value("Cache-Control"), "max-age=31536000, immutable");
}

TEST_F(Served, RefusesForeignHostsAndOrigins) {
  EXPECT_EQ(get("/", {{"Host", "evil.example"}})->status, 403);
  EXPECT_EQ(get("/", {{"Host", fmt::format("evil.example:{}", port_)}})->status, 403);
  EXPECT_EQ(get("/", {{"Host", "127.0.0.1:1"}})->status, 403);
  EXPECT_EQ(get("/", {{"Origin", "http://evil.example"}})->status, 403);
  EXPECT_EQ(get("/", {{"Origin", "null"}})->status, 403);
  EXPECT_EQ(get("/", {{"Origin", "http://" + own()}})->status, 200);
  EXPECT_EQ(get("/", {{"Host", fmt::format("localhost:{}", port_)}})->status, 200);
}

TEST_F(Served, TakesNothing) {
  httplib::Client client("127.0.0.1", port_);
  EXPECT_EQ(client.Post("/", "x", "text/plain")->status, 405);
  EXPECT_EQ(client.Delete("/index.html")->status, 405);
}

TEST_F(Served, SaysThatAPortIsTaken) {
  PageServer other(page_);
  const auto taken = other.listen(port_);
  if (taken) GTEST_FAIL() << "two servers have port " << port_;
  EXPECT_EQ(taken.error().code, "explore.port");
}

}  // namespace server_test
}  // namespace cortado::explore
