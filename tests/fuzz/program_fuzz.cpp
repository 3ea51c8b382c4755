// No text makes the program parser crash or throw; a text that is a program is written back as the same program.
#include "cortado/program.hpp"

#include "base/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cortado;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Program> program = parse_program(text, "fuzz.json");
  if (!program) {
    CORTADO_CHECK(program.error().code.starts_with("program."), "a refusal has a code of this parser");
    CORTADO_CHECK(!program.error().message.empty(), "a refusal says what is wrong");
    CORTADO_CHECK(program.error().place.file == "fuzz.json", "a refusal names the file");
    return 0;
  }
  const std::string canonical = to_json(*program);
  const Result<Program> again = parse_program(canonical);
  CORTADO_CHECK(again.has_value() && *again == *program, "what is written reads back as the same program");
  CORTADO_CHECK(to_json(*again) == canonical, "the written form is canonical");
  return 0;
}
