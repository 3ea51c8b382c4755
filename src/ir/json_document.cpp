#include "ir/json_document.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cortado::json {
namespace {

using nlohmann::json;

/// A program nests 7 deep: queues, queue, commands, command, sources, region, and the document itself.
constexpr std::size_t kMaxDepth = 32;

/// Builds the tree from the parser's events.
class TreeBuilder final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return place(nullptr); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const string_t&) override { return place(value); }
  bool string(string_t& value) override { return place(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    if (open_.back()->contains(key)) return refuse(fmt::format("the key \"{}\" stands twice in one object", key));
    key_ = std::move(key);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    position_ = position;
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what is wrong"
    const std::string what = error.what();
    const std::size_t start = what.find("parse error");
    const std::size_t colon = what.find(": ", start == std::string::npos ? 0 : start);
    return refuse(colon == std::string::npos ? what : what.substr(colon + 2));
  }

  json take_root() { return std::move(root_); }
  const std::string& error() const { return error_; }
  std::size_t position() const { return position_; }

 private:
  json* insert(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  bool place(json value) {
    insert(std::move(value));
    return true;
  }

  bool open(json container) {
    if (open_.size() == kMaxDepth) return refuse(fmt::format("the text nests deeper than {}", kMaxDepth));
    open_.push_back(insert(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  bool refuse(std::string message) {
    error_ = std::move(message);
    return false;
  }

  json root_;
  std::vector<json*> open_;  // stable: a container is inserted into its parent before anything follows it there
  std::string key_;
  std::string error_;
  std::size_t position_ = 0;
};

/// Printable and short, whatever the text had.
std::string printable(std::string message) {
  constexpr std::size_t kLongest = 160;
  if (message.size() > kLongest) message = message.substr(0, kLongest) + "...";
  std::replace_if(
      message.begin(), message.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return message;
}

}  // namespace

Result<json> parse_document(std::string_view text, const std::string& file) {
  TreeBuilder builder;
  if (json::sax_parse(text, &builder)) return builder.take_root();
  Diagnostic diagnostic{"program.json", printable(builder.error()), {}, {}};
  diagnostic.place.file = file;
  if (const std::size_t position = std::min(builder.position(), text.size()); position > 0) {
    const std::string_view before = text.substr(0, position - 1);
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    diagnostic.place.line = static_cast<std::uint32_t>(1 + std::count(before.begin(), before.end(), '\n'));
    diagnostic.message = fmt::format("column {}: {}", before.size() - line_start + 1, diagnostic.message);
  } else if (text.empty()) {
    diagnostic.message = "the text is empty";
  }
  return fail(std::move(diagnostic));
}

}  // namespace cortado::json
