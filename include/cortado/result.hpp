// Errors as values, and strong types for the quantities and identities that cross module boundaries.
//
// A `Bytes` is never a `Nanoseconds` and a `RankId` never a `QueueId`; the bare number is `.value`.
//
// There are three kinds of failure:
//   - a mistake in the user's input (a file, a flag, a program): a Diagnostic in a Result;
//   - a failure of the environment (no GPU, full disk): a Diagnostic in a Result about `environment`, whose message
//     names the call and the errno;
//   - a broken invariant of Cortado itself: it prints the place and the reason, and aborts, in release builds too.
// Libraries never print and never exit.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cortado {

/// A size or an offset in bytes.
struct Bytes {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.value * n}; }
  friend constexpr Bytes operator*(std::uint64_t n, Bytes a) { return {a.value * n}; }
  friend constexpr Bytes operator/(Bytes a, std::uint64_t n) { return {a.value / n}; }
  constexpr Bytes& operator+=(Bytes b) {
    value += b.value;
    return *this;
  }
};

inline constexpr Bytes operator""_B(unsigned long long n) {
  return {n};
}
inline constexpr Bytes operator""_KiB(unsigned long long n) {
  return {n << 10};
}
inline constexpr Bytes operator""_MiB(unsigned long long n) {
  return {n << 20};
}
inline constexpr Bytes operator""_GiB(unsigned long long n) {
  return {n << 30};
}

/// A time or a duration in integer nanoseconds, so that results repeat bit for bit.
struct Nanoseconds {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Nanoseconds, Nanoseconds) = default;
  friend constexpr Nanoseconds operator+(Nanoseconds a, Nanoseconds b) { return {a.value + b.value}; }
  friend constexpr Nanoseconds operator-(Nanoseconds a, Nanoseconds b) { return {a.value - b.value}; }
};

inline constexpr double microseconds(Nanoseconds t) {
  return static_cast<double>(t.value) / 1e3;
}

inline constexpr double to_seconds(Nanoseconds t) {
  return static_cast<double>(t.value) / 1e9;
}

/// A rate in decimal gigabytes per second.
struct GBps {
  double value = 0;

  friend constexpr auto operator<=>(GBps, GBps) = default;
  constexpr double bytes_per_second() const { return value * 1e9; }
};

/// An index into one of the vectors of a Program or a Machine; a separate type for each kind.
template <class Tag>
struct Id {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(Id, Id) = default;
};

using RankId = Id<struct RankTag>;      ///< a GPU of the program, 0 .. ranks-1
using BufferId = Id<struct BufferTag>;  ///< index into Program::buffers
using SignalId = Id<struct SignalTag>;  ///< index into Program::signals
using QueueId = Id<struct QueueTag>;    ///< index into Program::queues
using EngineId = Id<struct EngineTag>;  ///< physical DMA engine number of a GPU, as the driver counts them

}  // namespace cortado

template <class Tag>
struct std::hash<cortado::Id<Tag>> {
  std::size_t operator()(cortado::Id<Tag> id) const noexcept { return id.value; }
};

// --- A value or an error ---------------------------------------------------------------------------------------------
//
// Expected is the part of the interface of std::expected that is used here. An error is one pointer, and all operations
// on errors are out of line: a thousand places propagate errors, and moving and destroying the five strings of a
// Diagnostic in each of them took 5 % of the compile time.

namespace cortado {

template <class T, class E>
class Expected;

namespace detail {

/// Reports that the value of an error was requested, and aborts.
[[noreturn]] void no_value();

/// Replaces an error that was moved to another Expected.
template <class E>
E* moved_error() {
  return reinterpret_cast<E*>(1);
}

template <class E>
[[gnu::noinline, gnu::cold]] void drop_error(E* error) noexcept {
  if (error != moved_error<E>()) delete error;
}

template <class E>
[[gnu::noinline, gnu::cold, gnu::returns_nonnull]] E* keep_error(std::type_identity_t<E>&& error) {
  return new E(std::move(error));
}

template <class E>
[[gnu::noinline, gnu::cold, gnu::returns_nonnull]] E* copy_error(const E& error) {
  return new E(error);
}

/// Owns an error, or nothing.
template <class E>
class ErrorBox {
 public:
  ErrorBox() = default;
  explicit ErrorBox(E* error) : error_(error) {}
  ErrorBox(ErrorBox&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  ErrorBox(const ErrorBox& other) : error_(other.empty() ? nullptr : copy_error<E>(*other.error_)) {}
  ErrorBox& operator=(ErrorBox other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~ErrorBox() {
    if (error_ != nullptr) drop_error(error_);
  }

  bool empty() const { return error_ == nullptr; }
  E& operator*() const { return *error_; }

  /// Takes the error, if there is one, without becoming empty: a moved-from Expected must not seem to have a value.
  ErrorBox take() {
    ErrorBox taken(error_);
    if (error_ != nullptr) error_ = moved_error<E>();
    return taken;
  }

 private:
  E* error_ = nullptr;
};

template <class T>
inline constexpr bool kIsExpected = false;
template <class T, class E>
inline constexpr bool kIsExpected<Expected<T, E>> = true;

}  // namespace detail

/// An error to be converted to an Expected; the return type of fail().
template <class E>
class Unexpected {
 public:
  explicit Unexpected(E&& error) : box_(detail::keep_error<E>(std::move(error))) {}
  explicit Unexpected(const E& error) : box_(detail::copy_error<E>(error)) {}

  E& value() { return *box_; }
  const E& value() const { return *box_; }

 private:
  template <class T, class Error>
  friend class Expected;
  explicit Unexpected(detail::ErrorBox<E>&& box) : box_(std::move(box)) {}

  detail::ErrorBox<E> box_;
};

/// A T, or an E.
template <class T, class E>
class Expected {
 public:
  using value_type = T;
  using error_type = E;

  Expected() requires std::default_initializable<T> : value_() {}
  Expected(Unexpected<E>&& error) noexcept : error_(std::move(error.box_)) {}
  Expected(const Unexpected<E>& error) : error_(error.box_) {}

  /// Builds the value in place.
  template <class... Arguments>
  requires std::constructible_from<T, Arguments...>
  explicit Expected(std::in_place_t, Arguments&&... arguments) : value_(std::forward<Arguments>(arguments)...) {}

  // NOLINTBEGIN(bugprone-forwarding-reference-overload): not for an Expected, as the constraint says
  template <class U = T>
  requires(!std::same_as<std::remove_cvref_t<U>, Unexpected<E>> && !detail::kIsExpected<std::remove_cvref_t<U>> &&
           std::constructible_from<T, U>) explicit(!std::is_convertible_v<U, T>) Expected(U&& value)
      : value_(static_cast<T>(std::forward<U>(value))) {}
  // NOLINTEND(bugprone-forwarding-reference-overload)

  template <class U>
  requires(!std::same_as<U, T> && std::convertible_to<U, T>) Expected(Expected<U, E>&& other)
      : error_(other.error_.take()) {
    if (has_value()) std::construct_at(&value_, std::move(other.value_));
  }
  template <class U>
  requires(!std::same_as<U, T> && std::convertible_to<const U&, T>) Expected(const Expected<U, E>& other)
      : error_(other.error_) {
    if (has_value()) std::construct_at(&value_, other.value_);
  }

  Expected(const Expected& other) requires std::copy_constructible<T> : error_(other.error_) {
    if (has_value()) std::construct_at(&value_, other.value_);
  }
  Expected(Expected&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : error_(other.error_.take()) {
    if (has_value()) std::construct_at(&value_, std::move(other.value_));
  }
  Expected& operator=(Expected other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (has_value()) std::destroy_at(&value_);
    error_ = other.error_.take();
    if (has_value()) std::construct_at(&value_, std::move(other.value_));
    return *this;
  }
  Expected& operator=(Unexpected<E>&& error) noexcept {
    if (has_value()) std::destroy_at(&value_);
    error_ = std::move(error.box_);
    return *this;
  }
  ~Expected() {
    if (has_value()) std::destroy_at(&value_);
  }

  bool has_value() const { return error_.empty(); }
  explicit operator bool() const { return has_value(); }

  /// Only if it has a value.
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return std::addressof(value_); }
  const T* operator->() const { return std::addressof(value_); }

  /// Aborts if it has none.
  T& value() & {
    if (!has_value()) detail::no_value();
    return value_;
  }
  const T& value() const& {
    if (!has_value()) detail::no_value();
    return value_;
  }
  T&& value() && {
    if (!has_value()) detail::no_value();
    return std::move(value_);
  }

  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? value_ : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(value_) : static_cast<T>(std::forward<U>(other));
  }

  /// Whether it has a value equal to this one.
  template <class U>
  requires(!detail::kIsExpected<U>) friend bool operator==(const Expected& a, const U& b) {
    return a.has_value() && a.value_ == b;
  }

  /// Only if it has an error.
  E& error() & { return *error_; }
  const E& error() const& { return *error_; }
  E&& error() && { return std::move(*error_); }
  /// The error, to be returned as an Expected of another type. Only if it has one.
  Unexpected<E> failure() && { return Unexpected<E>(error_.take()); }

  /// The result of `next` (an Expected) for the value; or the error.
  template <class Next>
  auto and_then(Next&& next) const& -> std::remove_cvref_t<std::invoke_result_t<Next, const T&>> {
    if (!has_value()) return Unexpected<E>(*error_);
    return std::invoke(std::forward<Next>(next), value_);
  }
  /// The value transformed by `change`; or the error.
  template <class Change>
  auto map(Change&& change) const& -> Expected<std::remove_cvref_t<std::invoke_result_t<Change, const T&>>, E> {
    if (!has_value()) return Unexpected<E>(*error_);
    return std::invoke(std::forward<Change>(change), value_);
  }

 private:
  template <class U, class Error>
  friend class Expected;

  union {
    T value_;  ///< alive while there is no error
  };
  detail::ErrorBox<E> error_;
};

/// Success, or an E.
template <class E>
class Expected<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  Expected() = default;
  Expected(Unexpected<E>&& error) noexcept : error_(std::move(error.box_)) {}
  Expected(const Unexpected<E>& error) : error_(error.box_) {}

  bool has_value() const { return error_.empty(); }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (!has_value()) detail::no_value();
  }

  /// Only if it has an error.
  E& error() & { return *error_; }
  const E& error() const& { return *error_; }
  E&& error() && { return std::move(*error_); }
  Unexpected<E> failure() && { return Unexpected<E>(std::move(error_)); }

 private:
  detail::ErrorBox<E> error_;
};

}  // namespace cortado

// --- Errors ----------------------------------------------------------------------------------------------------------

namespace cortado {

/// Where a Diagnostic points: into a file (name, line, key), into a program (rank, queue, command), or nowhere.
struct Place {
  std::string file;
  std::uint32_t line = 0;  ///< 1-based; 0 = unknown
  std::string key;         ///< path inside a JSON or TOML document, e.g. "queues[3].commands[0].src"
  std::optional<RankId> rank;
  std::string queue;                     ///< name of the queue, empty if none
  std::optional<std::uint32_t> command;  ///< index in the queue

  bool operator==(const Place&) const = default;
};

/// What has to change to avoid the error. Code branches on this; codes are for people.
enum class About {
  request,      ///< the request: a flag, a file, a program, a size
  strategy,     ///< the method: another variant, policy or schedule may work
  machine,      ///< the machine or device: the same request may work on another one
  environment,  ///< the computer this runs on
};

struct Diagnostic {
  std::string code;  ///< stable, e.g. "verify.race"; documented in docs/errors.md
  std::string message;
  std::string hint{};  ///< what to do next; may be empty
  Place place{};
  About about = About::request;

  bool operator==(const Diagnostic&) const = default;
};

/// "rank 0, queue dma0.14, command 2" or "ag.json:12 key queues[3]"; empty if the place is unknown.
std::string to_string(const Place& place);

/// One line: "<code>: <place>: <message> (hint: <hint>)". Newlines inside the texts are replaced by spaces.
std::string to_string(const Diagnostic& diagnostic);

template <class T>
using Result = Expected<T, Diagnostic>;
using Status = Result<void>;

// These are not inline: building a thousand errors in place made programs large and slow to compile.

Unexpected<Diagnostic> fail(Diagnostic&& diagnostic);
Unexpected<Diagnostic> fail(const Diagnostic& diagnostic);

/// Passes on an error of another type.
template <class Error>
Unexpected<std::remove_cvref_t<Error>> fail(Error&& error) {
  return Unexpected<std::remove_cvref_t<Error>>(std::forward<Error>(error));
}

/// An error without a place: fail("plan.size", "0 bytes asked for", "give --bytes 1KiB or more").
Unexpected<Diagnostic> fail(std::string_view code, std::string_view message, std::string_view hint = {});
Unexpected<Diagnostic> fail(About about, std::string_view code, std::string_view message, std::string_view hint = {});

/// An environment error from errno: "<call>: <strerror>".
Diagnostic system_error(std::string code, const std::string& call, int errno_value, std::string hint = {});

}  // namespace cortado

#define CORTADO_CONCAT_INNER(a, b) a##b
#define CORTADO_CONCAT(a, b) CORTADO_CONCAT_INNER(a, b)

/// Returns the error of a Status or Result from the enclosing function.
#define CORTADO_RETURN_IF_ERROR(expr)                    \
  do {                                                   \
    if (auto cortado_status = (expr); !cortado_status) { \
      return std::move(cortado_status).failure();        \
    }                                                    \
  } while (false)

/// CORTADO_ASSIGN_OR_RETURN(auto machine, load_machine(name));
#define CORTADO_ASSIGN_OR_RETURN(lhs, expr) \
  CORTADO_ASSIGN_OR_RETURN_INNER(CORTADO_CONCAT(cortado_result_, __LINE__), lhs, expr)
#define CORTADO_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                   \
  if (!result) return std::move(result).failure();        \
  lhs = std::move(result).value()
