#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <list>
#include <mpi.h>
#include <set>
#include <thread>
#include <vector>

#ifdef CORTADO_MPI_OUTLIVES_RANKS
#include <mpi-ext.h>
#endif

#include "sweep/mpi/module.hpp"

namespace {

constexpr int kTag = 21;
/// Others need the core that a spinning MPI_Recv would take: a look costs 20 us, most of it to sleep and to wake up.
/// Who waits longer looks less often. Workers have a batch ahead, so nobody waits for a late answer.
constexpr std::chrono::microseconds kShortestNap{100};
constexpr std::chrono::microseconds kLongestNap{5000};
/// A probe does not always report that a rank has died, so rank 0 asks this often.
constexpr std::chrono::milliseconds kBetweenRollCalls{20};

using Clock = std::chrono::steady_clock;

struct Sent {
  std::vector<char> bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct State {
  int rank = 0;
  std::list<Sent> sending;
  std::vector<char> received;
  std::set<int> told_gone;
  Clock::time_point roll_called = Clock::now();
  char error[MPI_MAX_ERROR_STRING] = {};
};

State& state() {
  static State one;
  return one;
}

const char* text_of(int code) {
  if (code == MPI_SUCCESS) return nullptr;
  int length = 0;
  MPI_Error_string(code, state().error, &length);
  return state().error;
}

/// Whether the error is only that a rank has died.
bool is_of_dead_rank(int code) {
#ifdef CORTADO_MPI_OUTLIVES_RANKS
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  return kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_PROC_FAILED_PENDING;
#else
  static_cast<void>(code);
  return false;
#endif
}

/// A rank that has died and was not reported yet, or -1. Afterwards, messages from any rank can be received again.
int next_gone() {
#ifdef CORTADO_MPI_OUTLIVES_RANKS
  state().roll_called = Clock::now();
  MPI_Group dead = MPI_GROUP_EMPTY;
  MPI_Group all = MPI_GROUP_EMPTY;
  int acknowledged = 0;
  MPIX_Comm_get_failed(MPI_COMM_WORLD, &dead);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  int size = 0;
  MPI_Group_size(dead, &size);
  MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &acknowledged);
  int found = -1;
  for (int i = 0; i < size && found < 0; ++i) {
    int rank = MPI_UNDEFINED;
    MPI_Group_translate_ranks(dead, 1, &i, all, &rank);
    const bool heard = state().rank == 0 || rank == 0;
    if (rank != MPI_UNDEFINED && heard && state().told_gone.insert(rank).second) found = rank;
  }
  MPI_Group_free(&dead);
  MPI_Group_free(&all);
  return found;
#else
  return -1;
#endif
}

/// Forgets messages that have arrived or never will.
const char* progress() {
  std::list<Sent>& sending = state().sending;
  for (auto sent = sending.begin(); sent != sending.end();) {
    int done = 0;
    const int code = MPI_Test(&sent->request, &done, MPI_STATUS_IGNORE);
    const bool lost = is_of_dead_rank(code);
    if (!lost && code != MPI_SUCCESS) return text_of(code);
    sent = done != 0 || lost ? sending.erase(sent) : std::next(sent);
  }
  return nullptr;
}

const char* start(int* rank, int* size) {
  int provided = 0;
  if (const char* error = text_of(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided))) return error;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const char* error = text_of(MPI_Comm_rank(MPI_COMM_WORLD, rank))) return error;
  state().rank = *rank;
  return text_of(MPI_Comm_size(MPI_COMM_WORLD, size));
}

const char* send(int to, const void* bytes, std::size_t size) {
  if (size > INT_MAX) return "a message of more than 2 GiB";
  Sent& sent = state().sending.emplace_back();
  const char* const begin = static_cast<const char*>(bytes);
  sent.bytes.assign(begin, begin + size);
  const int code =
      MPI_Isend(sent.bytes.data(), static_cast<int>(size), MPI_BYTE, to, kTag, MPI_COMM_WORLD, &sent.request);
  if (is_of_dead_rank(code)) {
    state().sending.pop_back();
  } else if (const char* error = text_of(code)) {
    return error;
  }
  return progress();
}

const char* receive(int* from, const void** bytes, std::size_t* size, long microseconds) {
  *from = -1;
  *bytes = nullptr;
  *size = 0;
  const int source = state().rank == 0 ? MPI_ANY_SOURCE : 0;
  const auto until = Clock::now() + std::chrono::microseconds(microseconds);
  for (auto nap = kShortestNap;; nap = std::min(2 * nap, kLongestNap)) {
    if (const char* error = progress()) return error;
    int there = 0;
    MPI_Status status;
    const int probed = MPI_Iprobe(source, kTag, MPI_COMM_WORLD, &there, &status);
    const bool told = is_of_dead_rank(probed);
    if (told || Clock::now() - state().roll_called > kBetweenRollCalls) {
      *from = next_gone();
      if (*from >= 0) return nullptr;
    }
    if (const char* error = told ? nullptr : text_of(probed)) return error;
    if (!told && there != 0) {
      int count = 0;
      if (const char* error = text_of(MPI_Get_count(&status, MPI_BYTE, &count))) return error;
      state().received.resize(static_cast<std::size_t>(count));
      const int code = MPI_Recv(state().received.data(), count, MPI_BYTE, status.MPI_SOURCE, kTag, MPI_COMM_WORLD,
                                MPI_STATUS_IGNORE);
      if (is_of_dead_rank(code)) continue;  // it died in the middle of a message: the next probe reports it
      if (const char* error = text_of(code)) return error;
      *from = status.MPI_SOURCE;
      *bytes = state().received.data();
      *size = state().received.size();
      return nullptr;
    }
    if (Clock::now() >= until) return nullptr;
    std::this_thread::sleep_for(nap);
  }
}

void stop() {
  for (Sent& sent : state().sending) MPI_Wait(&sent.request, MPI_STATUS_IGNORE);
  state().sending.clear();
  MPI_Finalize();
}

constexpr CortadoMpi kModule{start, send, receive, stop};

}  // namespace

const CortadoMpi* cortado_mpi() {
  return &kModule;
}
