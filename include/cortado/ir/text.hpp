// Text forms of a program: a listing for people and JSON for files.
#pragma once

#include <string>
#include <string_view>

#include "cortado/base/result.hpp"
#include "cortado/ir/program.hpp"

namespace cortado {

/// Names of enumerators as they stand in JSON and on the command line.
std::string_view to_string(DType dtype);
std::string_view to_string(QueueKind kind);
std::string_view to_string(QueueRole role);
std::string_view to_string(BufferRole role);
std::string_view to_string(CopyOp op);
std::string_view to_string(Compare compare);
std::string_view to_string(SignalOp op);
std::string_view to_string(KernelOp op);
inline std::string_view to_string(Function function) {
  return info(function).name;
}
std::string_view to_string(Protocol protocol);
/// Also takes fp32, fp16 and fp8.
Result<DType> parse_dtype(std::string_view name);

/// One line: "copy in0[0+128] -> out3[0+128]".
std::string to_string(const Program& program, const Command& command);
std::string to_string(const Program& program, const Region& region);

/// The whole program, one line a command, grouped by queue.
std::string listing(const Program& program);

inline constexpr int kProgramSchema = 1;

/// JSON with "schema": "cortado.program" and "version": kProgramSchema. parse_program(to_json(p)) == p, and
/// to_json(parse_program(text)) is canonical. One line a buffer, signal and command, so that files can be read and
/// diffed.
std::string to_json(const Program& program);

/// Refuses anything that is not exactly a program: wrong schema or version, missing, unknown or mistyped keys, numbers
/// out of range, with the key (queues[3].commands[0].src.offset) and, for broken JSON, the line. Ids are not resolved
/// here: that is the verifier's rule. `file` is only for the place in the Diagnostic.
Result<Program> parse_program(std::string_view text, const std::string& file = {});

/// A program from a file, or from standard input for "-".
Result<Program> load_program(const std::string& path);

}  // namespace cortado
