// A sweep of many processes: rank 0 hands out points and writes, the others do them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cortado/result.hpp"

#include "sweep/crew.hpp"
#include "sweep/question.hpp"

struct CortadoMpi;

namespace cortado::sweep {

/// This process as one of several that mpirun started. MPI is loaded by it.
class Ranks {
 public:
  /// Whether mpirun, or srun, started this process.
  static bool are_there();
  /// Refuses builds without MPI (sweep.mpi). Once in a process.
  static Result<std::unique_ptr<Ranks>> start();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  struct Message {
    int from = 0;
    std::string bytes;
  };
  Status send(int to, std::string_view bytes);
  Result<std::optional<Message>> receive(std::chrono::microseconds most);

 private:
  Ranks(const CortadoMpi* mpi, int rank, int size) : mpi_(mpi), rank_(rank), size_(size) {}

  const CortadoMpi* mpi_;
  int rank_;
  int size_;
};

/// Ranks 1, 2, ... as workers. They are told to end when it goes.
class RankCrew : public Crew {
 public:
  /// `ranks` outlives it.
  RankCrew(Ranks& ranks, const Question& question, const std::vector<std::string>& tables,
           const std::vector<std::string>& columns);
  ~RankCrew() override;

  std::size_t workers() const override { return static_cast<std::size_t>(ranks_.size() - 1); }
  Status give(std::size_t worker, std::vector<Task> tasks) override;
  Result<std::optional<Returned>> next(std::chrono::milliseconds most) override;
  void stop() override;

 private:
  void tell_all(const std::string& bytes);

  Ranks& ranks_;
  Status told_{};
  std::size_t given_ = 0;  // batches that have not come back
};

using FindQuestion = std::function<Result<std::unique_ptr<Question>>(const std::string&)>;

/// What a rank other than 0 does until it is told to end; `stopped` ends it, too, after the point under way.
Status work_for_rank_0(Ranks& ranks, const FindQuestion& find, const std::function<bool()>& stopped);

/// For rank 0, where there is nothing to do: the others are not to wait.
void dismiss(Ranks& ranks);

}  // namespace cortado::sweep
