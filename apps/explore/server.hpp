// Serves the page on the loopback interface, and nothing else: no files of this computer, no other hosts or origins.
#pragma once

#include <cstdint>
#include <memory>

#include "cortado/result.hpp"

#include "explore/page.hpp"

namespace cortado::explore {

class PageServer {
 public:
  /// The page must outlive the server.
  explicit PageServer(const Page& page);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// Takes a port of 127.0.0.1; 0 takes any free one. Returns the port.
  Result<std::uint16_t> listen(std::uint16_t port);

  /// Answers until stop() is called by another thread.
  void serve();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cortado::explore
