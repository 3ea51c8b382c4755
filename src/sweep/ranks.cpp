#include "sweep/ranks.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sweep/mpi/module.hpp"
#include "sweep/worker.hpp"

namespace cortado::sweep {
namespace {

constexpr const char* kModuleFile = "cortado-mpi.so";
constexpr std::chrono::microseconds kListening{100'000};

// The first byte of a message tells what it is.
constexpr char kHello = 'h';  // question, tables and columns, each on a line; lists are separated by tabs
constexpr char kTasks = 't';
constexpr char kStop = 's';  // points that were not begun stay undone
constexpr char kEnd = 'e';

Unexpected<Diagnostic> mpi_error(const char* text) {
  return fail(About::environment, "sweep.mpi", fmt::format("MPI: {}", text), "run the same command again to resume");
}

/// Beside the program, or where it is installed.
std::vector<std::string> places_of_module() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::string> places;
  for (const char* folder : {".", "../lib/cortado", "../lib/x86_64-linux-gnu/cortado", "../lib64/cortado"}) {
    places.push_back((program / folder / kModuleFile).string());
  }
  return places;
}

}  // namespace

bool Ranks::are_there() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

Result<std::unique_ptr<Ranks>> Ranks::start() {
  void* library = nullptr;
  for (const std::string& place : places_of_module()) {
    if (library == nullptr) library = ::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  if (library == nullptr) {
    return fail(About::environment, "sweep.mpi", fmt::format("mpirun started cortado, but {}", ::dlerror()),
                "build cortado where MPI is installed, or run it without mpirun");
  }
  const auto module = reinterpret_cast<const CortadoMpi* (*)()>(::dlsym(library, "cortado_mpi"));
  if (module == nullptr) return mpi_error("the MPI module belongs to another version of cortado");
  int rank = 0;
  int size = 1;
  if (const char* error = module()->start(&rank, &size)) return mpi_error(error);
  return std::make_unique<Ranks>(*module(), rank, size);
}

Ranks::~Ranks() {
  mpi_->stop();
}

Status Ranks::send(int to, std::string_view bytes) {
  if (const char* error = mpi_->send(to, bytes.data(), bytes.size())) return mpi_error(error);
  return {};
}

Result<std::optional<Ranks::Message>> Ranks::receive(std::chrono::microseconds most) {
  int from = -1;
  const void* bytes = nullptr;
  std::size_t size = 0;
  if (const char* error = mpi_->receive(&from, &bytes, &size, static_cast<long>(most.count()))) return mpi_error(error);
  if (from < 0) return std::optional<Message>{};
  if (bytes == nullptr) return std::optional<Message>{{.from = from, .gone = true}};
  return std::optional<Message>{{from, std::string(static_cast<const char*>(bytes), size)}};
}

RankCrew::RankCrew(Ranks& ranks, const Question& question, const std::vector<std::string>& tables,
                   const std::vector<std::string>& columns)
    : ranks_(ranks), in_hand_(static_cast<std::size_t>(ranks.size() - 1)) {
  tell_all(fmt::format("{}{}\n{}\n{}", kHello, question.name(), join(tables, "\t"), join(columns, "\t")));
}

RankCrew::~RankCrew() {
  if (given_ > 0) stop();
  while (given_ > 0 && next(std::chrono::milliseconds(100))) {  // nobody can end whose batch is still on its way
  }
  tell_all(std::string(1, kEnd));
}

void RankCrew::tell_all(const std::string& bytes) {
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    const Status sent = ranks_.send(rank, bytes);
    if (told_) told_ = sent;
  }
}

Status RankCrew::give(std::size_t worker, std::vector<Task> tasks) {
  CORTADO_RETURN_IF_ERROR(told_);
  CORTADO_ASSIGN_OR_RETURN(worker, living_after(worker));
  ++given_;
  const std::string& batch = in_hand_[worker].batches.emplace_back(kTasks + to_bytes(tasks));
  return ranks_.send(static_cast<int>(worker) + 1, batch);
}

/// The worker, or the next one that is alive.
Result<std::size_t> RankCrew::living_after(std::size_t worker) const {
  for (std::size_t i = 0; i < in_hand_.size(); ++i) {
    const std::size_t candidate = (worker + i) % in_hand_.size();
    if (!in_hand_[candidate].gone) return candidate;
  }
  return mpi_error("all ranks but 0 have died");
}

/// Sends the batches of a dead rank to the ranks after it, in turn.
Status RankCrew::hand_on(std::size_t worker) {
  in_hand_[worker].gone = true;
  std::size_t to = worker;
  for (std::string& batch : std::exchange(in_hand_[worker].batches, {})) {
    CORTADO_ASSIGN_OR_RETURN(to, living_after(to + 1));
    in_hand_[to].batches.push_back(std::move(batch));
    CORTADO_RETURN_IF_ERROR(ranks_.send(static_cast<int>(to) + 1, in_hand_[to].batches.back()));
  }
  return {};
}

Result<std::optional<Crew::Returned>> RankCrew::next(std::chrono::milliseconds most) {
  CORTADO_RETURN_IF_ERROR(living_after(0));
  CORTADO_ASSIGN_OR_RETURN(const std::optional<Ranks::Message> message, ranks_.receive(most));
  if (!message) return std::optional<Returned>{};
  const auto worker = static_cast<std::size_t>(message->from - 1);
  if (message->gone) {
    CORTADO_RETURN_IF_ERROR(hand_on(worker));
    return std::optional<Returned>{};
  }
  if (in_hand_[worker].gone) return std::optional<Returned>{};  // sent before it died: others do this batch again
  --given_;
  in_hand_[worker].batches.pop_front();
  auto batch = batch_of(message->bytes);
  if (!batch)
    return mpi_error(fmt::format("rank {} sent something that is not a batch of points", message->from).c_str());
  return std::optional<Returned>{{worker, *std::move(batch)}};
}

void RankCrew::stop() {
  tell_all(std::string(1, kStop));
}

void dismiss(Ranks& ranks) {
  for (int rank = 1; rank < ranks.size(); ++rank) static_cast<void>(ranks.send(rank, std::string(1, kEnd)));
}

Status work_for_rank_0(Ranks& ranks, const FindQuestion& find, const std::function<bool()>& stopped) {
  std::unique_ptr<Question> question;
  std::optional<Worker> worker;
  bool stopping = false;
  for (;;) {
    CORTADO_ASSIGN_OR_RETURN(const std::optional<Ranks::Message> message, ranks.receive(kListening));
    if (!message) continue;
    if (message->gone) return mpi_error("rank 0 has died");
    const std::string_view content = std::string_view(message->bytes).substr(1);
    switch (message->bytes.front()) {
      case kHello: {
        const std::vector<std::string> lines = split(content, '\n');
        CORTADO_ASSIGN_OR_RETURN(question, find(lines.at(0)));
        worker.emplace(*question, lines.size() > 1 ? split(lines[1], '\t') : std::vector<std::string>{},
                       lines.size() > 2 ? split(lines[2], '\t') : std::vector<std::string>{});
        break;
      }
      case kTasks: {
        const auto tasks = tasks_of(content);
        if (!tasks || !worker) return mpi_error("rank 0 sent something that is not a list of points");
        const Batch batch = worker->work(*tasks, [&] { return stopping || stopped(); });
        CORTADO_RETURN_IF_ERROR(ranks.send(0, to_bytes(batch)));
        break;
      }
      case kStop:
        stopping = true;
        break;
      default:
        return {};
    }
  }
}

}  // namespace cortado::sweep
