#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"

namespace cortado {
namespace {

/// Builds the tree from the parser's events.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(const JsonRules& rules) : rules_(rules) {}

  bool null() override { return place(nullptr); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(number_integer_t value) override { return place(value); }
  bool number_unsigned(number_unsigned_t value) override { return place(value); }
  bool number_float(number_float_t value, const string_t&) override { return place(value); }
  bool string(string_t& value) override { return place(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    known_ = open_.back().known(key);
    if (known_ && !rules_.repeated_keys) return refuse(fmt::format("the key \"{}\" appears twice in one object", key));
    key_ = std::move(key);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    position_ = position;
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what is wrong"
    const std::string what = error.what();
    const std::size_t start = what.find("parse error");
    const std::size_t colon = what.find(": ", start == std::string::npos ? 0 : start);
    return refuse(colon == std::string::npos ? what : what.substr(colon + 2));
  }

  Json take_root() { return std::move(root_); }
  JsonError take_error() { return {std::move(error_), position_}; }

 private:
  /// An object or list that is not closed yet.
  struct Open {
    Json* value;  // stable: a container is inserted into its parent before anything follows it there
    std::unordered_set<std::string> keys{};

    /// Few keys are compared one by one; with a million keys in one object, that must not take a million times as long.
    bool known(const std::string& key) {
      constexpr std::size_t kFew = 32;
      if (value->size() < kFew) return value->contains(key);
      if (keys.empty()) {
        for (const Json::Member& member : value->members()) keys.insert(member.key);
      }
      return !keys.insert(key).second;
    }
  };

  Json* insert(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.push_back(std::move(value));
    if (known_) return &(parent[key_] = std::move(value));
    return &parent.add(std::move(key_), std::move(value));
  }

  bool place(Json value) {
    insert(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (open_.size() == rules_.most_nesting) {
      return refuse(fmt::format("the text is nested deeper than {}", rules_.most_nesting));
    }
    open_.push_back({insert(std::move(container))});
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

  const JsonRules& rules_;
  Json root_;
  std::vector<Open> open_;
  std::string key_;
  bool known_ = false;  // whether its object already has the key
  std::string error_;
  std::size_t position_ = 0;
};

class JsonTextWriter {
 public:
  JsonTextWriter(int indent, bool ascii) : indent_(indent), ascii_(ascii) {}

  void put(const Json& value, int depth) {
    if (value.is_object()) {
      put_all(value.members(), '{', '}', depth, [&](const Json::Member& member) {
        put_text(member.key);
        out_ += indent_ < 0 ? ":" : ": ";
        put(member.value, depth + 1);
      });
    } else if (value.is_array()) {
      put_all(value, '[', ']', depth, [&](const Json& item) { put(item, depth + 1); });
    } else if (value.is_string()) {
      put_text(value.text());
    } else if (value.is_number_unsigned()) {
      out_ += fmt::format_int(value.whole()).c_str();
    } else if (value.is_number_integer()) {
      out_ += fmt::format_int(value.integer()).c_str();
    } else if (value.is_number()) {
      put_number(value.number());
    } else if (value.is_boolean()) {
      out_ += value.boolean() ? "true" : "false";
    } else {
      out_ += "null";
    }
  }

  std::string take() { return std::move(out_); }

 private:
  template <class All, class Put>
  void put_all(const All& all, char open, char close, int depth, Put&& put_one) {
    out_ += open;
    bool first = true;
    for (const auto& one : all) {
      if (!first) out_ += ',';
      first = false;
      new_line(depth + 1);
      put_one(one);
    }
    if (!first) new_line(depth);
    out_ += close;
  }

  void new_line(int depth) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(depth) * static_cast<std::size_t>(indent_), ' ');
  }

  void put_text(const std::string& text) {
    const bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
    if (plain) {
      out_ += '"';
      out_ += text;
      out_ += '"';
    } else {
      out_ += nlohmann::json(text).dump(-1, ' ', ascii_, nlohmann::json::error_handler_t::replace);
    }
  }

  /// The shortest form that reads back as the same number; null if it is not a finite number.
  void put_number(double number) {
    if (!std::isfinite(number)) {
      out_ += "null";
      return;
    }
    std::array<char, 64> digits;
    out_.append(digits.data(), nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), number));
  }

  std::string out_;
  int indent_;
  bool ascii_;
};

}  // namespace

Json::Json(std::string text) : kind_(Kind::text) {
  text_ = new std::string(std::move(text));
}

Json::Json(std::initializer_list<Part> parts) {
  const bool pairs = std::ranges::all_of(parts, [](const Part& part) {
    return part.value_.is_array() && part.value_.size() == 2 && part.value_[std::size_t{0}].is_string();
  });
  *this = pairs ? object() : array();
  for (const Part& part : parts) {
    if (pairs) {
      (*this)[part.value_[std::size_t{0}].text()] = std::move(part.value_[std::size_t{1}]);
    } else {
      push_back(std::move(part.value_));
    }
  }
}

Json::Json(const Json& other) : kind_(other.kind_), whole_(other.whole_) {
  if (kind_ == Kind::text) text_ = new std::string(*other.text_);
  if (kind_ == Kind::array) items_ = new std::vector<Json>(*other.items_);
  if (kind_ == Kind::object) members_ = new std::vector<Member>(*other.members_);
}

void Json::destroy() {
  if (kind_ == Kind::text) delete text_;
  if (kind_ == Kind::array) delete items_;
  if (kind_ == Kind::object) delete members_;
}

Json Json::array() {
  Json made;
  made.items_ = new std::vector<Json>;
  made.kind_ = Kind::array;
  return made;
}

Json Json::object() {
  Json made;
  made.members_ = new std::vector<Member>;
  made.kind_ = Kind::object;
  return made;
}

Expected<Json, JsonError> Json::parse(std::string_view text, const JsonRules& rules) {
  TreeBuilder builder(rules);
  if (nlohmann::json::sax_parse(text, &builder)) return builder.take_root();
  return Unexpected(builder.take_error());
}

double Json::number() const {
  if (kind_ == Kind::number) return number_;
  return kind_ == Kind::whole ? static_cast<double>(whole_) : static_cast<double>(integer_);
}

std::size_t Json::size() const {
  return is_array() ? items_->size() : is_object() ? members_->size() : 0;
}

Json* Json::begin() {
  return is_array() ? items_->data() : nullptr;
}
Json* Json::end() {
  return is_array() ? items_->data() + items_->size() : nullptr;
}
const Json* Json::begin() const {
  return is_array() ? items_->data() : nullptr;
}
const Json* Json::end() const {
  return is_array() ? items_->data() + items_->size() : nullptr;
}

Json& Json::push_back(Json item) {
  if (is_null()) *this = array();
  CORTADO_CHECK(is_array(), "an item is added to JSON that is no list");
  return items_->emplace_back(std::move(item));
}

const std::vector<Json::Member>& Json::members() const {
  static const std::vector<Member> none;
  return is_object() ? *members_ : none;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  CORTADO_CHECK(is_object(), "a key is added to JSON that is no object");
  for (Member& member : *members_) {
    if (member.key == key) return member.value;
  }
  return members_->emplace_back(Member{std::string(key), {}}).value;
}

Json& Json::add(std::string key, Json value) {
  CORTADO_CHECK(is_object(), "a key is added to JSON that is no object");
  return members_->emplace_back(Member{std::move(key), std::move(value)}).value;
}

const Json* Json::find(std::string_view key) const {
  for (const Member& member : members()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

void Json::update(const Json& other) {
  for (const Member& member : other.members()) (*this)[member.key] = member.value;
}

void Json::erase(std::string_view key) {
  if (is_object()) std::erase_if(*members_, [&](const Member& member) { return member.key == key; });
}

std::string Json::dump(int indent, bool ascii) const {
  JsonTextWriter writer(indent, ascii);
  writer.put(*this, 0);
  return writer.take();
}

}  // namespace cortado
