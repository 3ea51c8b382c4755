#include <chrono>
#include <climits>
#include <cstring>
#include <list>
#include <mpi.h>
#include <thread>
#include <vector>

#include "sweep/mpi/module.hpp"

namespace {

constexpr int kTag = 21;
/// Others need the core that a spinning MPI_Recv would take.
constexpr std::chrono::microseconds kNap{200};

struct Sent {
  std::vector<char> bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct State {
  std::list<Sent> sending;
  std::vector<char> received;
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

/// Forgets what has arrived.
const char* progress() {
  std::list<Sent>& sending = state().sending;
  for (auto sent = sending.begin(); sent != sending.end();) {
    int done = 0;
    if (const char* error = text_of(MPI_Test(&sent->request, &done, MPI_STATUS_IGNORE))) return error;
    sent = done != 0 ? sending.erase(sent) : std::next(sent);
  }
  return nullptr;
}

const char* start(int* rank, int* size) {
  int provided = 0;
  if (const char* error = text_of(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided))) return error;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const char* error = text_of(MPI_Comm_rank(MPI_COMM_WORLD, rank))) return error;
  return text_of(MPI_Comm_size(MPI_COMM_WORLD, size));
}

const char* send(int to, const void* bytes, std::size_t size) {
  if (size > INT_MAX) return "a message of more than 2 GiB";
  Sent& sent = state().sending.emplace_back();
  const char* const begin = static_cast<const char*>(bytes);
  sent.bytes.assign(begin, begin + size);
  const int code =
      MPI_Isend(sent.bytes.data(), static_cast<int>(size), MPI_BYTE, to, kTag, MPI_COMM_WORLD, &sent.request);
  if (const char* error = text_of(code)) return error;
  return progress();
}

const char* receive(int* from, const void** bytes, std::size_t* size, long microseconds) {
  *from = -1;
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  for (;;) {
    if (const char* error = progress()) return error;
    int there = 0;
    MPI_Status status;
    if (const char* error = text_of(MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status))) return error;
    if (there != 0) {
      int count = 0;
      if (const char* error = text_of(MPI_Get_count(&status, MPI_BYTE, &count))) return error;
      state().received.resize(static_cast<std::size_t>(count));
      const int code = MPI_Recv(state().received.data(), count, MPI_BYTE, status.MPI_SOURCE, kTag, MPI_COMM_WORLD,
                                MPI_STATUS_IGNORE);
      if (const char* error = text_of(code)) return error;
      *from = status.MPI_SOURCE;
      *bytes = state().received.data();
      *size = state().received.size();
      return nullptr;
    }
    if (std::chrono::steady_clock::now() >= until) return nullptr;
    std::this_thread::sleep_for(kNap);
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
