#include <iterator>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/json.hpp"
#include "ir/command_table.hpp"
#include "ir/json_fields.hpp"

namespace cortado {
namespace {

/// Lists of these have one line per item; other lists are on one line.
template <class T>
constexpr bool kOneLineEach =
    std::is_same_v<T, Buffer> || std::is_same_v<T, SignalInfo> || std::is_same_v<T, Queue> ||
    std::is_same_v<T, Command> || std::is_same_v<T, Tracker> || std::is_same_v<T, Clause> ||
    std::is_same_v<T, ProductClause> || std::is_same_v<T, FormulaValue> || std::is_same_v<T, FormulaClause>;

class JsonWriter {
 public:
  template <class T>
  void field(std::string_view key, const T& value) {
    out_ += first_ ? "" : separator_;
    first_ = false;
    fmt::format_to(std::back_inserter(out_), "\"{}\": ", key);
    put(value);
  }

  template <class T>
  void field(std::string_view key, const std::optional<T>& value) {
    if (value) field(key, *value);
  }

  template <class T>
  void field(std::string_view key, const T& value, const std::type_identity_t<T>& fallback) {
    if (value != fallback) field(key, value);
  }

  std::string document(const Program& program) && {
    indent_ = 2;
    out_ = "{\n  ";
    separator_ = ",\n  ";
    field("schema", std::string(json::kSchemaName));
    field("version", std::uint32_t{kProgramSchema});
    json::describe(*this, program);
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  /// An object on one line; `fields` calls field().
  template <class Fields>
  void object(Fields fields) {
    const bool first = std::exchange(first_, true);
    const std::string_view separator = std::exchange(separator_, ", ");
    out_ += '{';
    fields();
    out_ += '}';
    first_ = first;
    separator_ = separator;
  }

  void put(bool value) { out_ += value ? "true" : "false"; }
  void put(std::int32_t value) { out_ += fmt::format_int(value).c_str(); }
  void put(std::uint32_t value) { out_ += fmt::format_int(value).c_str(); }
  void put(std::uint64_t value) { out_ += fmt::format_int(value).c_str(); }
  void put(Bytes value) { put(value.value); }

  template <class Tag>
  void put(Id<Tag> id) {
    put(id.value);
  }

  /// Bytes that are not UTF-8 cannot appear in JSON; U+FFFD replaces them.
  void put(const std::string& text) { out_ += Json(text).dump(); }

  template <class E>
  requires std::is_enum_v<E>
  void put(E value) { fmt::format_to(std::back_inserter(out_), "\"{}\"", to_string(value)); }

  void put(const Region& region) {
    object([&] {
      field("buffer", region.buffer);
      field("offset", region.offset);
      if (region.rows == 1 && region.pitch == Bytes{}) {
        field("bytes", region.width);
      } else {
        field("width", region.width);
        field("rows", region.rows);
        field("pitch", region.pitch);
      }
    });
  }

  void put(const Command& command) {
    object([&] {
      field(json::kCommandKey, std::string(info(command).name));
      std::visit([this](const auto& fields) { json::describe(*this, fields); }, command);
    });
  }

  template <class T>
  void put(const std::vector<T>& items) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    indent_ += 2;
    const std::string between = kOneLineEach<T> ? "\n" + std::string(indent_, ' ') : "";
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += kOneLineEach<T> ? "," : ", ";
      out_ += between;
      put(items[i]);
    }
    indent_ -= 2;
    if (kOneLineEach<T>) out_ += "\n" + std::string(indent_, ' ');
    out_ += ']';
  }

  template <class T>
  requires requires(JsonWriter& writer, const T& value) { json::describe(writer, value); }
  void put(const T& value) {
    object([&] { json::describe(*this, value); });
  }

  std::string out_;
  bool first_ = true;
  std::string_view separator_;
  std::size_t indent_ = 0;
};

}  // namespace

std::string to_json(const Program& program) {
  return JsonWriter().document(program);
}

}  // namespace cortado
