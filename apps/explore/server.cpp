#include "explore/server.hpp"

#include <httplib.h>
#include <string>
#include <sys/socket.h>

#include <fmt/format.h>

namespace cortado::explore {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kNotAllowed = 405;

/// Another site could make its name point here (DNS rebinding); its Host or Origin gives it away.
bool is_own(const std::string& host, std::uint16_t port) {
  for (const char* const name : {"127.0.0.1", "localhost"}) {
    if (host == fmt::format("{}:{}", name, port)) return true;
  }
  return false;
}

void refuse(httplib::Response& response, int status, const char* why) {
  response.status = status;
  response.set_content(why, "text/plain");
}

}  // namespace

struct PageServer::Impl {
  explicit Impl(const Page& files) : page(files) {}

  httplib::Server::HandlerResponse handle(const httplib::Request& request, httplib::Response& response) const {
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Cross-Origin-Resource-Policy", "same-origin");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("X-Frame-Options", "DENY");
    answer(request, response);
    return httplib::Server::HandlerResponse::Handled;
  }

  void answer(const httplib::Request& request, httplib::Response& response) const {
    if (!is_own(request.get_header_value("Host"), port)) return refuse(response, kForbidden, "foreign host\n");
    if (request.has_header("Origin")) {
      const std::string origin = request.get_header_value("Origin");
      constexpr std::string_view kScheme = "http://";
      const bool own = origin.starts_with(kScheme) && is_own(origin.substr(kScheme.size()), port);
      if (!own) return refuse(response, kForbidden, "foreign origin\n");
    }
    if (request.method != "GET" && request.method != "HEAD") return refuse(response, kNotAllowed, "GET only\n");
    const auto file = page.find(request.path == "/" ? std::string("/index.html") : request.path);
    if (file == page.end()) return refuse(response, kNotFound, "no such file\n");
    response.set_header("Content-Encoding", "gzip");
    // Names of assets contain a hash of their content, so a browser may keep them, and the code it compiled from the
    // module.
    const bool asset = request.path.starts_with("/assets/");
    response.set_header("Cache-Control", asset ? "max-age=31536000, immutable" : "no-cache");
    // A provider of known length is sent as it is; httplib would compress a body once more.
    const std::string_view content = file->second.content;
    response.set_content_provider(content.size(), std::string(file->second.type),
                                  [content](std::size_t from, std::size_t bytes, httplib::DataSink& sink) {
                                    return sink.write(content.data() + from, bytes);
                                  });
  }

  const Page& page;
  httplib::Server server;
  std::uint16_t port = 0;
};

PageServer::PageServer(const Page& page) : impl_(std::make_unique<Impl>(page)) {
  // Without SO_REUSEPORT, which httplib sets: a port belongs to one server.
  impl_->server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  impl_->server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return impl_->handle(request, response);
  });
}

PageServer::~PageServer() = default;

Result<std::uint16_t> PageServer::listen(std::uint16_t port) {
  const int bound =
      port == 0 ? impl_->server.bind_to_any_port(kLoopback) : (impl_->server.bind_to_port(kLoopback, port) ? port : -1);
  if (bound <= 0) {
    return fail("explore.port", fmt::format("port {} of {} is not available", port, kLoopback),
                "use another one with --port; 0 picks any free port");
  }
  impl_->port = static_cast<std::uint16_t>(bound);
  return impl_->port;
}

void PageServer::serve() {
  impl_->server.listen_after_bind();
}

void PageServer::stop() {
  impl_->server.stop();
}

}  // namespace cortado::explore
