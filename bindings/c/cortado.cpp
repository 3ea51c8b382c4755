#include "cortado/cortado.h"

#include <array>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cortado/communicator.hpp"

struct cortado_comm {
  cortado::Communicator communicator;
  std::string explained{};
  std::map<void*, std::size_t> allocated{};
};

struct cortado_work {
  cortado::Work work;
};

namespace {

std::string& last_error() {
  thread_local std::string error;
  return error;
}

cortado_status number_of(std::string_view code) {
  constexpr std::array<std::pair<std::string_view, cortado_status>, 6> kCodes{{
      {"runtime.arguments", CORTADO_BAD_ARGUMENTS},
      {"runtime.options", CORTADO_BAD_ARGUMENTS},
      {"runtime.mismatch", CORTADO_MISMATCH},
      {"runtime.timeout", CORTADO_TIMEOUT},
      {"runtime.peer", CORTADO_PEER},
      {"runtime.aborted", CORTADO_ABORTED},
  }};
  for (const auto& [name, number] : kCodes) {
    if (name == code) return number;
  }
  return CORTADO_SYSTEM;
}

cortado_status told(const cortado::Status& status) {
  if (status) return CORTADO_OK;
  last_error() = cortado::to_string(status.error());
  return number_of(status.error().code);
}

cortado_status joined(cortado::Result<cortado::Communicator> made, cortado_comm** comm) {
  if (!made) return told(cortado::fail(std::move(made).error()));
  *comm = new cortado_comm{std::move(made).value()};
  return CORTADO_OK;
}

cortado_status run(cortado_comm* comm, cortado::Operation operation, cortado_work** work) {
  if (work == nullptr) return told(comm->communicator.run(operation));
  *work = new cortado_work{comm->communicator.start(std::move(operation))};
  return CORTADO_OK;
}

std::uint64_t sum_of(const std::vector<std::uint64_t>& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

cortado::Sent sent(const void* data, std::size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}
cortado::Received received(void* data, std::size_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}

bool known(cortado_element element, cortado_reduction reduction) {
  const bool all =
      element >= CORTADO_U8 && element <= CORTADO_F8 && reduction >= CORTADO_SUM && reduction <= CORTADO_MAX;
  if (!all) last_error() = "runtime.arguments: unknown element type or reduction";
  return all;
}

}  // namespace

extern "C" {

const char* cortado_error(void) {
  return last_error().c_str();
}

cortado_status cortado_join(const char* name, uint32_t rank, uint32_t ranks, uint32_t timeout_ms, cortado_comm** comm) {
  cortado::CommunicatorOptions options;
  options.name = name == nullptr ? "" : name;
  options.rank = rank;
  options.ranks = ranks;
  if (timeout_ms != 0) options.timeout = std::chrono::milliseconds(timeout_ms);
  return joined(cortado::Communicator::join(options), comm);
}

cortado_status cortado_join_from_environment(cortado_comm** comm) {
  auto options = cortado::options_from_environment();
  if (!options) return told(cortado::fail(std::move(options).error()));
  return joined(cortado::Communicator::join(*options), comm);
}

void cortado_leave(cortado_comm* comm) {
  delete comm;
}

void cortado_abort(cortado_comm* comm, const char* reason) {
  comm->communicator.abort(reason == nullptr ? "" : reason);
}

uint32_t cortado_rank(const cortado_comm* comm) {
  return comm->communicator.rank();
}

uint32_t cortado_ranks(const cortado_comm* comm) {
  return comm->communicator.ranks();
}

const char* cortado_explain(cortado_comm* comm) {
  comm->explained = comm->communicator.explain();
  return comm->explained.c_str();
}

cortado_status cortado_allocate(cortado_comm* comm, size_t bytes, void** memory) {
  const auto part = comm->communicator.allocate({bytes});
  if (!part) return told(cortado::fail(part.error()));
  *memory = part->data();
  comm->allocated[*memory] = bytes;
  return CORTADO_OK;
}

void cortado_release(cortado_comm* comm, void* memory) {
  const auto found = comm->allocated.find(memory);
  if (found == comm->allocated.end()) return;
  comm->communicator.release(received(memory, found->second));
  comm->allocated.erase(found);
}

cortado_status cortado_barrier(cortado_comm* comm, cortado_work** work) {
  return run(comm, cortado::barrier(), work);
}

cortado_status cortado_all_gather(cortado_comm* comm, const void* send, void* recv, size_t bytes, cortado_work** work) {
  const std::size_t ranks = comm->communicator.ranks();
  return run(comm, cortado::all_gather(sent(send, bytes), received(recv, bytes * ranks)), work);
}

cortado_status cortado_all_to_all(cortado_comm* comm, const void* send, void* recv, size_t bytes, cortado_work** work) {
  const std::size_t all = bytes * comm->communicator.ranks();
  return run(comm, cortado::all_to_all(sent(send, all), received(recv, all)), work);
}

cortado_status cortado_all_gather_v(cortado_comm* comm, const void* send, void* recv, const uint64_t* bytes,
                                    cortado_work** work) {
  std::vector<std::uint64_t> counts(bytes, bytes + comm->communicator.ranks());
  const cortado::Sent from = sent(send, counts[comm->communicator.rank()]);
  const cortado::Received to = received(recv, sum_of(counts));
  return run(comm, cortado::all_gather_v(from, to, std::move(counts)), work);
}

cortado_status cortado_all_to_all_v(cortado_comm* comm, const void* send, const uint64_t* send_bytes, void* recv,
                                    const uint64_t* recv_bytes, cortado_work** work) {
  const std::uint32_t ranks = comm->communicator.ranks();
  std::vector<std::uint64_t> out(send_bytes, send_bytes + ranks);
  std::vector<std::uint64_t> in(recv_bytes, recv_bytes + ranks);
  const cortado::Sent from = sent(send, sum_of(out));
  const cortado::Received to = received(recv, sum_of(in));
  return run(comm, cortado::all_to_all_v(from, std::move(out), to, std::move(in)), work);
}

cortado_status cortado_reduce_scatter(cortado_comm* comm, const void* send, void* recv, size_t count,
                                      cortado_element element, cortado_reduction reduction, cortado_work** work) {
  if (!known(element, reduction)) return CORTADO_BAD_ARGUMENTS;
  const auto type = static_cast<cortado::Element>(element);
  const std::size_t bytes = count * cortado::size_of(type).value;
  return run(comm,
             cortado::reduce_scatter(type, sent(send, bytes * comm->communicator.ranks()), received(recv, bytes),
                                     static_cast<cortado::Reduction>(reduction)),
             work);
}

cortado_status cortado_all_reduce(cortado_comm* comm, const void* send, void* recv, size_t count,
                                  cortado_element element, cortado_reduction reduction, cortado_work** work) {
  if (!known(element, reduction)) return CORTADO_BAD_ARGUMENTS;
  const auto type = static_cast<cortado::Element>(element);
  const std::size_t bytes = count * cortado::size_of(type).value;
  return run(
      comm,
      cortado::all_reduce(type, sent(send, bytes), received(recv, bytes), static_cast<cortado::Reduction>(reduction)),
      work);
}

cortado_status cortado_broadcast(cortado_comm* comm, void* buffer, size_t bytes, uint32_t root, cortado_work** work) {
  return run(comm, cortado::broadcast(received(buffer, bytes), root), work);
}

cortado_status cortado_gather(cortado_comm* comm, const void* send, void* recv, size_t bytes, uint32_t root,
                              cortado_work** work) {
  const std::size_t at_root = comm->communicator.rank() == root ? bytes * comm->communicator.ranks() : 0;
  return run(comm, cortado::gather(sent(send, bytes), received(recv, at_root), root), work);
}

cortado_status cortado_scatter(cortado_comm* comm, const void* send, void* recv, size_t bytes, uint32_t root,
                               cortado_work** work) {
  const std::size_t at_root = comm->communicator.rank() == root ? bytes * comm->communicator.ranks() : 0;
  return run(comm, cortado::scatter(sent(send, at_root), received(recv, bytes), root), work);
}

cortado_status cortado_send(cortado_comm* comm, const void* data, size_t bytes, uint32_t to, cortado_work** work) {
  return run(comm, cortado::send(sent(data, bytes), to), work);
}

cortado_status cortado_recv(cortado_comm* comm, void* data, size_t bytes, uint32_t from, cortado_work** work) {
  return run(comm, cortado::recv(received(data, bytes), from), work);
}

int cortado_test(const cortado_work* work) {
  return work->work.test() ? 1 : 0;
}

cortado_status cortado_wait(cortado_work* work) {
  const cortado_status status = told(work->work.wait());
  delete work;
  return status;
}

}  // extern "C"
