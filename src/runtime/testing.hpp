// What the tests of communicators share: every operation, compared with plain loops.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "cortado/communicator.hpp"

namespace cortado::runtime::testing {

using RankFunction = std::function<void(Communicator&)>;

template <class T>
auto bytes_of(std::vector<T>& data) {
  return std::as_writable_bytes(std::span(data));
}
template <class T>
requires std::is_arithmetic_v<T>
auto bytes_of(T& value) {
  if constexpr (std::is_const_v<T>) {
    return std::as_bytes(std::span(&value, 1));
  } else {
    return std::as_writable_bytes(std::span(&value, 1));
  }
}

/// Element i of what a rank sends in round `round`: small integers, so that all sums are exact.
template <class T>
T element(std::uint32_t rank, std::uint64_t i, std::uint32_t round) {
  return static_cast<T>((rank * 7 + i * 3 + round) % 13);
}

template <class T>
std::vector<T> elements(std::uint32_t rank, std::uint64_t count, std::uint32_t round) {
  std::vector<T> data(count);
  for (std::uint64_t i = 0; i < count; ++i) data[i] = element<T>(rank, i, round);
  return data;
}

/// All operations on blocks of `n` elements; returns what was wrong, or an empty string.
template <class T>
std::string check_all(Communicator& comm, Element type, std::uint64_t n, std::uint32_t round) {
  const std::uint32_t me = comm.rank();
  const std::uint32_t ranks = comm.ranks();
  const std::uint32_t root = round % ranks;
  std::string wrong;
  const auto expect = [&](const char* what, const Status& status, const std::vector<T>& got,
                          const std::function<T(std::uint64_t)>& right) {
    if (!status) {
      wrong += fmt::format("{}: {}; ", what, to_string(status.error()));
      return;
    }
    for (std::uint64_t i = 0; i < got.size(); ++i) {
      if (got[i] == right(i)) continue;
      wrong += fmt::format("{} of {} elements of {}: element {} is wrong; ", what, n, static_cast<int>(type), i);
      return;
    }
  };
  const auto total = [&](std::uint64_t i) {
    T sum{};
    for (std::uint32_t r = 0; r < ranks; ++r) sum = static_cast<T>(sum + element<T>(r, i, round));
    return sum;
  };

  std::vector<T> one = elements<T>(me, n, round);
  std::vector<T> all(n * ranks);
  const auto gathered = [&](std::uint64_t i) { return element<T>(static_cast<std::uint32_t>(i / n), i % n, round); };
  expect("all-gather", comm.run(all_gather(bytes_of(one), bytes_of(all))), all, gathered);
  all.assign(n * ranks, T{});
  std::copy(one.begin(), one.end(), all.begin() + static_cast<std::ptrdiff_t>(me * n));
  expect("all-gather in place",
         comm.run(all_gather(bytes_of(all).subspan(me * n * sizeof(T), n * sizeof(T)), bytes_of(all))), all, gathered);

  std::vector<T> blocks = elements<T>(me, n * ranks, round);
  const auto exchanged = [&](std::uint64_t i) {
    return element<T>(static_cast<std::uint32_t>(i / n), me * n + i % n, round);
  };
  expect("all-to-all", comm.run(all_to_all(bytes_of(blocks), bytes_of(all))), all, exchanged);
  std::vector<T> swapped = blocks;
  expect("all-to-all in place", comm.run(all_to_all(bytes_of(swapped), bytes_of(swapped))), swapped, exchanged);

  // Rank a sends the first a + b + n of its elements to rank b.
  std::vector<std::uint64_t> counts(ranks);
  std::vector<T> ragged;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    counts[r] = (me + r + n) * sizeof(T);
    for (std::uint64_t i = 0; i < me + r + n; ++i) ragged.push_back(element<T>(me, i + r, round));
  }
  std::vector<T> ragged_in(ragged.size());
  std::vector<T> ragged_right;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint64_t i = 0; i < me + r + n; ++i) ragged_right.push_back(element<T>(r, i + me, round));
  }
  expect("all-to-all with counts", comm.run(all_to_all_v(bytes_of(ragged), counts, bytes_of(ragged_in), counts)),
         ragged_in, [&](std::uint64_t i) { return ragged_right[i]; });

  // Rank r contributes n + r elements.
  std::vector<std::uint64_t> given(ranks);
  std::vector<T> all_given;
  std::uint64_t own_at = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    given[r] = (n + r) * sizeof(T);
    if (r < me) own_at += given[r];
    for (std::uint64_t i = 0; i < n + r; ++i) all_given.push_back(element<T>(r, i, round));
  }
  const auto given_right = [&](std::uint64_t i) { return all_given[i]; };
  std::vector<T> own_given = elements<T>(me, n + me, round);
  std::vector<T> gathered_given(all_given.size());
  expect("all-gather with counts", comm.run(all_gather_v(bytes_of(own_given), bytes_of(gathered_given), given)),
         gathered_given, given_right);
  gathered_given.assign(all_given.size(), T{});
  const auto own_block = bytes_of(gathered_given).subspan(own_at, given[me]);
  std::copy_n(bytes_of(own_given).begin(), given[me], own_block.begin());
  expect("all-gather with counts in place", comm.run(all_gather_v(own_block, bytes_of(gathered_given), given)),
         gathered_given, given_right);

  std::vector<T> sum(n);
  expect("reduce-scatter", comm.run(reduce_scatter(type, bytes_of(blocks), bytes_of(sum))), sum,
         [&](std::uint64_t i) { return total(me * n + i); });
  std::vector<T> in_place = blocks;
  const Status scattered =
      comm.run(reduce_scatter(type, bytes_of(in_place), bytes_of(in_place).subspan(me * n * sizeof(T), n * sizeof(T))));
  std::copy_n(in_place.begin() + static_cast<std::ptrdiff_t>(me * n), n, sum.begin());
  expect("reduce-scatter in place", scattered, sum, [&](std::uint64_t i) { return total(me * n + i); });

  expect("all-reduce", comm.run(all_reduce(type, bytes_of(one), bytes_of(sum))), sum, total);
  sum = one;
  expect("all-reduce in place", comm.run(all_reduce(type, bytes_of(sum), bytes_of(sum))), sum, total);
  sum = one;
  expect("maximum", comm.run(all_reduce(type, bytes_of(sum), bytes_of(sum), Reduction::max)), sum,
         [&](std::uint64_t i) {
           T largest{};
           for (std::uint32_t r = 0; r < ranks; ++r) largest = std::max(largest, element<T>(r, i, round));
           return largest;
         });

  sum = one;
  expect("minimum", comm.run(all_reduce(type, bytes_of(sum), bytes_of(sum), Reduction::min)), sum,
         [&](std::uint64_t i) {
           T least = element<T>(0, i, round);
           for (std::uint32_t r = 1; r < ranks; ++r) least = std::min(least, element<T>(r, i, round));
           return least;
         });

  std::vector<T> shared = one;
  expect("broadcast", comm.run(broadcast(bytes_of(shared), root)), shared,
         [&](std::uint64_t i) { return element<T>(root, i, round); });
  std::vector<T> at_root(me == root ? n * ranks : 0);
  expect("gather", comm.run(gather(bytes_of(one), bytes_of(at_root), root)), at_root, gathered);
  at_root.assign(me == root ? n * ranks : 0, T{});
  Sent own_part = bytes_of(one);
  if (me == root) {
    std::copy(one.begin(), one.end(), at_root.begin() + static_cast<std::ptrdiff_t>(me * n));
    own_part = bytes_of(at_root).subspan(me * n * sizeof(T), n * sizeof(T));
  }
  expect("gather in place", comm.run(gather(own_part, bytes_of(at_root), root)), at_root, gathered);
  std::vector<T> of_root = me == root ? blocks : std::vector<T>{};
  expect("scatter", comm.run(scatter(bytes_of(of_root), bytes_of(sum), root)), sum,
         [&](std::uint64_t i) { return element<T>(root, me * n + i, round); });

  if (ranks > 1) {
    const std::uint32_t next = (me + 1) % ranks;
    const std::uint32_t before = (me + ranks - 1) % ranks;
    const Work sent = comm.start(send(bytes_of(one), next));
    const Work received = comm.start(recv(bytes_of(sum), before));
    Status status = sent.wait();
    if (status) status = received.wait();
    expect("send and recv", status, sum, [&](std::uint64_t i) { return element<T>(before, i, round); });
  }
  return wrong;
}

/// All operations on elements of several types and sizes: odd ones, none, and more than fit in a slot.
inline std::string conformance(Communicator& comm) {
  std::string wrong;
  std::uint32_t round = 0;
  for (const std::uint64_t n : {3U, 0U, 257U, 20'011U}) {
    wrong += check_all<float>(comm, Element::f32, n, ++round);
    if (n > 300) continue;
    wrong += check_all<std::uint8_t>(comm, Element::u8, n, ++round);
    wrong += check_all<std::int8_t>(comm, Element::i8, n, ++round);
    wrong += check_all<std::int32_t>(comm, Element::i32, n, ++round);
    wrong += check_all<std::int64_t>(comm, Element::i64, n, ++round);
    wrong += check_all<double>(comm, Element::f64, n, ++round);
  }
  return wrong;
}

}  // namespace cortado::runtime::testing
