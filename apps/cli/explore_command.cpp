// cortado explore: serves the page with the simulator to the browser of this computer.
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>

#include "command.hpp"

namespace cortado::cli {
namespace {

constexpr Example kExploreExamples[] = {
    {"cortado explore --port 8080",
     "every strategy's timeline at http://127.0.0.1:8080/, computed by the page itself"}};

/// The program that serves it, in the same folder as this one.
std::string page_server() {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return (here / "cortado-explore").string();
}

Result<Exit> run_explore(const Arguments& arguments, Console&) {
  CORTADO_RETURN_IF_ERROR(arguments.check({}));
  std::string program = page_server();
  std::string port = arguments.text("--port");
  char* const words[] = {program.data(), port.data(), nullptr};
  ::execv(program.c_str(), words);
  return fail(system_error("explore.start", "execv " + program, errno,
                           "this build has no explorer: install libcpp-httplib-dev and rebuild, or use ./run explore"));
}

}  // namespace

constinit const Subcommand kExploreCommand{"explore",
                                           "Explore interactively: serve the simulator as a web page on this computer",
                                           kExploreExamples, run_explore};

}  // namespace cortado::cli
