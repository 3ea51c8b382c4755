// A JSON value: what documents are written from and read into.
//
// nlohmann's type does the same, and more, but adds five to seven seconds to the compilation of every batch that uses
// it; here only one file does, for its parser and its formatting of strings and numbers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/result.hpp"

namespace cortado {

struct JsonError {
  std::string message;
  std::size_t position = 0;  ///< in the text, starting at 1; 0 if unknown
};

struct JsonRules {
  std::size_t most_nesting = 64;
  bool repeated_keys = true;  ///< the last one counts
};

class Json {
 public:
  struct Member;
  class Part;

  Json() = default;  ///< null
  Json(std::nullptr_t) {}
  template <std::integral T>
  Json(T value) {
    if constexpr (std::same_as<T, bool>) {
      kind_ = Kind::boolean;
      boolean_ = value;
    } else if constexpr (std::unsigned_integral<T>) {
      kind_ = Kind::whole;
      whole_ = value;
    } else {
      kind_ = Kind::integer;
      integer_ = value;
    }
  }
  Json(double value) : kind_(Kind::number), number_(value) {}
  Json(std::string text);
  Json(std::string_view text) : Json(std::string(text)) {}
  Json(const char* text) : Json(std::string(text)) {}
  template <class T>
  Json(const std::vector<T>& items) : Json(array()) {
    for (const T& item : items) push_back(Json(item));
  }
  /// An object if all parts are pairs that begin with a string, otherwise a list: {{"name", "ag"}, {"ranks", 8}}.
  Json(std::initializer_list<Part> parts);

  Json(const Json& other);
  Json(Json&& other) noexcept : kind_(std::exchange(other.kind_, Kind::null)), whole_(other.whole_) {}
  Json& operator=(Json other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(whole_, other.whole_);
    return *this;
  }
  ~Json() {
    if (kind_ >= Kind::text) destroy();
  }

  static Json array();
  static Json object();
  static Expected<Json, JsonError> parse(std::string_view text, const JsonRules& rules = {});

  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_string() const { return kind_ == Kind::text; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_number() const { return is_number_integer() || kind_ == Kind::number; }
  bool is_number_integer() const { return kind_ == Kind::integer || kind_ == Kind::whole; }
  /// A number read from a text is whole if it has neither a sign nor a decimal point.
  bool is_number_unsigned() const { return kind_ == Kind::whole; }

  // Only valid for values of the respective kind.
  bool boolean() const { return boolean_; }
  const std::string& text() const { return *text_; }
  std::uint64_t whole() const { return whole_; }
  std::int64_t integer() const { return integer_; }
  double number() const;  ///< of any number

  std::size_t size() const;  ///< of a list or an object
  // A list; for everything else, `begin` and `end` are those of an empty list.
  Json* begin();
  Json* end();
  const Json* begin() const;
  const Json* end() const;
  Json& operator[](std::size_t index) { return begin()[index]; }
  const Json& operator[](std::size_t index) const { return begin()[index]; }
  Json& push_back(Json item);  ///< null becomes a list

  // An object.
  const std::vector<Member>& members() const;    ///< in the order in which they were added
  Json& operator[](std::string_view key);        ///< adds it; null becomes an object
  Json& add(std::string key, Json value);        ///< a key that it does not have yet; not checked
  const Json* find(std::string_view key) const;  ///< nullptr if there is none, or if this is not an object
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  void update(const Json& other);  ///< sets all members of the other object
  void erase(std::string_view key);

  /// On one line, or on lines indented by this many spaces. Bytes that are not UTF-8 become U+FFFD.
  std::string dump(int indent = -1, bool ascii = false) const;

 private:
  enum class Kind : std::uint8_t { null, boolean, integer, whole, number, text, array, object };

  void destroy();

  Kind kind_ = Kind::null;
  union {
    std::uint64_t whole_ = 0;
    std::int64_t integer_;
    double number_;
    bool boolean_;
    std::string* text_;
    std::vector<Json>* items_;
    std::vector<Member>* members_;
  };
};

struct Json::Member {
  std::string key;
  Json value;
};

/// An element of a list in braces: unlike the elements of std::initializer_list<Json>, it can be moved from.
class Json::Part {
 public:
  // NOLINTBEGIN(bugprone-forwarding-reference-overload): not for a Part, as the constraint says
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, Part> && std::constructible_from<Json, T>) Part(T&& value)
      : value_(std::forward<T>(value)) {}
  // NOLINTEND(bugprone-forwarding-reference-overload)
  Part(std::initializer_list<Part> parts) : value_(parts) {}

 private:
  friend class Json;
  mutable Json value_;
};

}  // namespace cortado
