// Runs a fuzz target without a fuzzer: the corpus as it is, then a fixed number of inputs mutated from it. Repeats
// exactly.
//
//   x_replay [--inputs N] [--seed S] FILE|FOLDER...
//
// If the target crashes, the last line on stderr names the input; `--inputs` one above its number and the same seed
// runs up to it again.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>

#include "mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using cortado::fuzz::Input;

// What is running, as text that a signal handler may write.
char current[512] = "nothing";

void on_crash(int signal_number) {
  const char head[] = "\nfuzz replay: the target crashed on ";
  [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, head, sizeof head - 1);
  ignored = write(STDERR_FILENO, current, std::strlen(current));
  ignored = write(STDERR_FILENO, "\n", 1);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

/// Keeps handlers that a sanitizer has installed: their reports are better.
void report_crashes() {
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction old {};
    sigaction(number, nullptr, &old);
    if (old.sa_handler == SIG_DFL) std::signal(number, on_crash);
  }
}

/// The target sees a heap block of the exact size, so that an address sanitizer notices any byte read past it.
void run(const Input& input) {
  const std::unique_ptr<std::uint8_t[]> exact(new std::uint8_t[input.size()]);
  std::copy(input.begin(), input.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

[[noreturn]] void usage(const std::string& why) {
  std::fprintf(stderr, "%s\nusage: x_replay [--inputs N] [--seed S] FILE|FOLDER...\n", why.c_str());
  std::exit(2);
}

std::vector<std::filesystem::path> files_of(const std::vector<std::string>& places) {
  std::vector<std::filesystem::path> files;
  for (const std::string& place : places) {
    if (std::filesystem::is_directory(place)) {
      for (const auto& entry : std::filesystem::directory_iterator(place)) files.push_back(entry.path());
    } else if (std::filesystem::exists(place)) {
      files.emplace_back(place);
    } else {
      usage("no such file or folder: " + place);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long long inputs = 0;
  unsigned long long seed = 1;
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--inputs" || argument == "--seed") {
      if (i + 1 == argc) usage("no number after " + argument);
      (argument == "--inputs" ? inputs : seed) = std::strtoull(argv[++i], nullptr, 10);
    } else {
      places.push_back(argument);
    }
  }

  report_crashes();
  std::vector<Input> seeds;
  std::size_t longest = 0;
  for (const std::filesystem::path& file : files_of(places)) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    longest = std::max(longest, seeds.back().size());
    std::snprintf(current, sizeof current, "file %s", file.c_str());
    run(seeds.back());
  }
  if (seeds.empty()) usage("the corpus is empty");

  cortado::Random random(seed);
  for (unsigned long long number = 0; number < inputs; ++number) {
    std::snprintf(current, sizeof current, "input number %llu of seed %llu", number, seed);
    run(cortado::fuzz::mutate(seeds, longest + 1024, random));
  }
  std::printf("%zu files and %llu mutated inputs, no crash\n", seeds.size(), inputs);
  return 0;
}
