// Output of the program: results on standard output, everything else on standard error.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cortado/result.hpp"
#include "cortado/target.hpp"

#include "stage_clock.hpp"

namespace cortado::cli {

/// Exit codes of every subcommand.
enum class Exit {
  ok = 0,
  failed = 1,  ///< what was checked failed: verification refused, wrong bytes, a fault, a time-out, points of a sweep
  usage = 2,   ///< wrong arguments, wrong input files, or a problem of the environment
  interrupted = 130,  ///< stopped by an interrupt, after showing what was finished
};

/// Control characters other than line feed and tab are escaped in everything it prints: names in files and on the
/// command line may have them.
class Console {
 public:
  Console() = default;
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console() { end_stage(); }

  /// A result. If the reader of the pipe is gone, the text is dropped; that is not an error.
  void out(std::string_view text);

  /// "cortado: <line>" on standard error.
  void talk(std::string_view line);

  /// "cortado: error: <code>: <place>: <message> (hint: ...)", one line.
  void error(const Diagnostic& diagnostic);

  /// All errors, and the exit code they mean.
  Exit failure(const Failure& failure);

  /// The current step of the command: "proving". It is shown, with the elapsed seconds, after two seconds and until
  /// there is a result or an error; nothing if standard error is not a terminal.
  void stage(std::string name);

  /// Progress of the stage. May be called by any thread, as often as needed.
  void stage_at(std::uint64_t done, std::uint64_t of);

  /// A line on standard error that the next one overwrites; nothing if that is not a terminal.
  void progress(std::string_view line);
  void clear_progress() { progress({}); }

  /// Nobody reads the results any more.
  bool reader_gone() const { return reader_gone_; }

  /// An error while writing the results, other than a reader that is gone.
  Status status() const { return status_; }

 private:
  void end_stage();

  bool reader_gone_ = false;
  Status status_{};
  std::mutex line_mutex_;    // of standard error
  bool line_shown_ = false;  // a line of progress is on the terminal
  std::unique_ptr<StageClock> stage_;
};

}  // namespace cortado::cli
