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
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cortado/expected.hpp"

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
