#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cortado/program.hpp"

#include "base/file.hpp"
#include "base/text.hpp"
#include "ir/command_table.hpp"
#include "ir/json_document.hpp"
#include "ir/json_fields.hpp"

namespace cortado {
namespace {

constexpr std::uint32_t kMaxRanks = 65536;

template <class E>
inline constexpr E kLast{};
template <>
inline constexpr DType kLast<DType> = DType::f8;
template <>
inline constexpr CopyOp kLast<CopyOp> = CopyOp::add;
template <>
inline constexpr Compare kLast<Compare> = Compare::eq;
template <>
inline constexpr SignalOp kLast<SignalOp> = SignalOp::set;
template <>
inline constexpr KernelOp kLast<KernelOp> = KernelOp::scatter_rows;
template <>
inline constexpr Function kLast<Function> = Function::scale;
template <>
inline constexpr BufferRole kLast<BufferRole> = BufferRole::scratch;
template <>
inline constexpr QueueKind kLast<QueueKind> = QueueKind::host;
template <>
inline constexpr QueueRole kLast<QueueRole> = QueueRole::control;
template <>
inline constexpr Protocol kLast<Protocol> = Protocol::multicast;
template <>
inline constexpr Submission kLast<Submission> = Submission::batch;
template <>
inline constexpr Packing kLast<Packing> = Packing::indirect;

/// The command at the given index of the table, its fields at their defaults.
Command make_command(std::size_t index) {
  return [index]<std::size_t... I>(std::index_sequence<I...>) {
    static constexpr std::array<Command (*)(), sizeof...(I)> kMakers{[] { return Command(std::in_place_index<I>); }...};
    return kMakers[index]();
  }
  (std::make_index_sequence<std::variant_size_v<Command>>());
}

/// A value of the tree and the path to it; the path becomes text only in a message.
struct Cursor {
  const Json& value;
  const Cursor* parent = nullptr;
  std::string_view key{};
  std::size_t index = 0;

  std::string path() const {
    if (parent == nullptr) return {};
    const std::string front = parent->path();
    if (parent->value.is_array()) return fmt::format("{}[{}]", front, index);
    return front.empty() ? std::string(key) : fmt::format("{}.{}", front, key);
  }
};

/// The value as messages show it.
std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  constexpr std::size_t kLongest = 40;
  if (value.is_string() && value.text().size() > kLongest) {
    return fmt::format("a string of {} bytes", value.text().size());
  }
  return value.dump();
}

/// Keeps the first error; after it every read returns at once.
class JsonReader {
 public:
  explicit JsonReader(std::string file) : file_(std::move(file)) {}

  bool failed() const { return error_.has_value(); }
  Unexpected<Diagnostic> take_error() { return fail(std::move(*error_)); }

  void refuse(const Cursor& at, std::string message, std::string hint = {}, std::string code = "program.key") {
    if (failed()) return;
    error_ = Diagnostic{std::move(code), std::move(message), std::move(hint)};
    error_->place.file = file_;
    error_->place.key = at.path();
  }

  void wrong_type(const Cursor& at, std::string_view wanted) {
    refuse(at, fmt::format("is {}, not {}", shown(at.value), wanted));
  }

  template <class T>
  requires std::is_integral_v<T>
  void get(const Cursor& at, T& out) {
    constexpr T kMin = std::numeric_limits<T>::min();
    constexpr T kMax = std::numeric_limits<T>::max();
    const Json& value = at.value;
    if (value.is_number_unsigned() && std::in_range<T>(value.whole())) {
      out = static_cast<T>(value.whole());
    } else if (value.is_number_integer() && !value.is_number_unsigned() && std::in_range<T>(value.integer())) {
      out = static_cast<T>(value.integer());
    } else {
      wrong_type(at, fmt::format("a whole number from {} to {}", kMin, kMax));
    }
  }

  void get(const Cursor& at, bool& out) {
    if (at.value.is_boolean()) {
      out = at.value.boolean();
    } else {
      wrong_type(at, "true or false");
    }
  }

  void get(const Cursor& at, std::string& out) {
    if (at.value.is_string()) {
      out = at.value.text();
    } else {
      wrong_type(at, "a string");
    }
  }

  void get(const Cursor& at, Bytes& out) { get(at, out.value); }

  template <class Tag>
  void get(const Cursor& at, Id<Tag>& out) {
    get(at, out.value);
  }

  template <class T>
  void get(const Cursor& at, std::optional<T>& out) {
    get(at, out.emplace());
  }

  template <class E>
  requires std::is_enum_v<E>
  void get(const Cursor& at, E& out) {
    std::vector<std::string> names;
    for (int i = 0; i <= static_cast<int>(kLast<E>); ++i) names.emplace_back(to_string(static_cast<E>(i)));
    if (const auto index = name_index(at, names)) out = static_cast<E>(*index);
  }

  /// The index of the name that the text is; if it is none of them, an error and no index.
  template <class Names>
  std::optional<std::size_t> name_index(const Cursor& at, const Names& names) {
    std::string text;
    get(at, text);
    if (failed()) return std::nullopt;
    const auto found = std::find(names.begin(), names.end(), text);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    const std::vector<std::string> known(names.begin(), names.end());
    refuse(at, fmt::format("is {}, not one of {}", shown(at.value), join(known)), did_you_mean(text, known));
    return std::nullopt;
  }

  template <class T>
  void get(const Cursor& at, std::vector<T>& out) {
    if (!at.value.is_array()) return wrong_type(at, "a list");
    out.reserve(at.value.size());
    for (std::size_t i = 0; i < at.value.size() && !failed(); ++i) {
      get(Cursor{at.value[i], &at, {}, i}, out.emplace_back());
    }
  }

  void get(const Cursor& at, Region& out);
  void get(const Cursor& at, Command& out);

  /// Any part that json_fields.hpp describes.
  template <class T>
  void get(const Cursor& at, T& out);

 private:
  std::string file_;
  std::optional<Diagnostic> error_;
};

/// The archive that reads the fields of one object.
class ObjectReader {
 public:
  ObjectReader(JsonReader& reader, const Cursor& at) : reader_(reader), at_(at) {
    if (!at.value.is_object()) reader.wrong_type(at, "an object");
  }

  bool has(std::string_view key) const { return at_.value.is_object() && at_.value.contains(key); }

  template <class T>
  void field(std::string_view key, T& out) {
    if (!read(key, out) && missing_.empty()) missing_ = key;
  }

  template <class T>
  void field(std::string_view key, std::optional<T>& out) {
    read(key, out);
  }

  template <class T>
  void field(std::string_view key, T& out, const std::type_identity_t<T>& fallback) {
    if (!read(key, out)) out = fallback;
  }

  /// Marks a key that the caller has already read.
  void accept(std::string_view key) { asked_.emplace_back(key); }

  /// Rejects keys that no field asked for, then missing keys: a misspelt key is both, and the first message says
  /// more.
  void finish() {
    if (reader_.failed()) return;
    for (const auto& [key, value] : at_.value.members()) {
      if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
      return reader_.refuse(Cursor{value, &at_, key}, "unknown key",
                            did_you_mean(key, asked_, "known keys: " + join(asked_)));
    }
    if (!missing_.empty()) reader_.refuse(Cursor{at_.value, &at_, missing_}, "the key is missing");
  }

 private:
  template <class T>
  bool read(std::string_view key, T& out) {
    asked_.emplace_back(key);
    if (reader_.failed()) return true;
    const Json* const found = at_.value.find(key);
    if (found == nullptr) return false;
    reader_.get(Cursor{*found, &at_, key}, out);
    return true;
  }

  JsonReader& reader_;
  const Cursor& at_;
  std::vector<std::string> asked_;
  std::string_view missing_;
};

template <class T>
void JsonReader::get(const Cursor& at, T& out) {
  ObjectReader object(*this, at);
  json::describe(object, out);
  object.finish();
}

void JsonReader::get(const Cursor& at, Region& out) {
  ObjectReader object(*this, at);
  object.field("buffer", out.buffer);
  object.field("offset", out.offset);
  if (object.has("bytes")) {
    object.field("bytes", out.width);
    out.rows = 1;
    out.pitch = {};
  } else if (object.has("width") || object.has("rows") || object.has("pitch")) {
    object.field("width", out.width);
    object.field("rows", out.rows);
    object.field("pitch", out.pitch);
  } else {
    object.field("bytes", out.width);
  }
  object.finish();
}

void JsonReader::get(const Cursor& at, Command& out) {
  ObjectReader object(*this, at);
  if (failed()) return;
  const Json* const found = at.value.find(json::kCommandKey);
  if (found == nullptr) {
    return refuse(Cursor{at.value, &at, json::kCommandKey}, "the key is missing");
  }
  std::array<std::string_view, kCommandTable.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kCommandTable[i].name;
  const auto index = name_index(Cursor{*found, &at, json::kCommandKey}, names);
  if (!index) return;
  object.accept(json::kCommandKey);
  out = make_command(*index);
  std::visit([&object](auto& fields) { json::describe(object, fields); }, out);
  object.finish();
}

/// Whether the document is a program of this version, checked before anything else.
void check_schema(JsonReader& reader, const Cursor& root) {
  constexpr const char* kCode = "program.schema";
  const auto refuse = [&](std::string_view key, std::string message, std::string hint = {}) {
    reader.refuse(Cursor{root.value, &root, key}, std::move(message), std::move(hint), kCode);
  };
  const std::string expected = fmt::format("a program has \"schema\": \"{}\"", json::kSchemaName);
  if (!root.value.is_object()) {
    return reader.refuse(root, fmt::format("the document is {}, not a program", shown(root.value)), expected, kCode);
  }
  const Json* const schema = root.value.find("schema");
  if (schema == nullptr) return refuse("schema", "the key is missing", expected);
  if (!schema->is_string() || schema->text() != json::kSchemaName)
    return refuse("schema", fmt::format("is {}", shown(*schema)), expected);
  const Json* const version = root.value.find("version");
  if (version == nullptr)
    return refuse("version", "the key is missing", fmt::format("this Cortado reads {}", kProgramSchema));
  if (version->is_number_unsigned() && version->whole() == kProgramSchema) return;
  if (version->is_number_unsigned() && version->whole() > kProgramSchema) {
    return refuse("version",
                  fmt::format("version {} is newer than this Cortado, which reads {}", version->dump(), kProgramSchema),
                  "use a newer Cortado, or plan the program again with this one");
  }
  refuse("version", fmt::format("is {}, not {}", shown(*version), kProgramSchema));
}

}  // namespace

Result<Program> parse_program(std::string_view text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(const Json document, json::parse_document(text, file));
  JsonReader reader(file);
  const Cursor root{document};
  Program program;
  check_schema(reader, root);
  if (reader.failed()) return reader.take_error();
  ObjectReader object(reader, root);
  object.accept("schema");
  object.accept("version");
  json::describe(object, program);
  object.finish();
  if (program.ranks > kMaxRanks) {
    reader.refuse(Cursor{document, &root, "ranks"}, fmt::format("is {}", program.ranks),
                  fmt::format("a program can have at most {} ranks", kMaxRanks));
  }
  if (reader.failed()) return reader.take_error();
  return program;
}

Result<Program> load_program(const std::string& path) {
  constexpr SizeLimit kPrograms{Bytes{1ULL << 30}, "programs"};  // one for 512 ranks has 90 MB
  CORTADO_ASSIGN_OR_RETURN(const std::string text, read_file(path, kPrograms));
  return parse_program(text, path == "-" ? "standard input" : path);
}

}  // namespace cortado
