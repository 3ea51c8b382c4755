// A sweep of many processes: rank 0 hands out points and writes, the others do them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
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
  /// Over a module that was started.
  Ranks(const CortadoMpi& mpi, int rank, int size) : mpi_(&mpi), rank_(rank), size_(size) {}
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  struct Message {
    int from = 0;
    std::string bytes{};
    bool gone = false;  ///< the rank has died; there are no bytes
  };
  /// Messages to a dead rank are lost.
  Status send(int to, std::string_view bytes);
  Result<std::optional<Message>> receive(std::chrono::microseconds most);

 private:
  const CortadoMpi* mpi_;
  int rank_;
  int size_;
};

/// Ranks 1, 2, ... as workers. They are told to end when it is destroyed. If a rank dies and MPI survives that, the
/// others take over its batches.
class RankCrew : public Crew {
 public:
  /// `ranks` outlives it.
  RankCrew(Ranks& ranks, const Question& question, const std::vector<std::string>& tables,
           const std::vector<std::string>& columns);
  ~RankCrew() override;

  std::size_t workers() const override { return static_cast<std::size_t>(ranks_.size() - 1); }
  std::size_t lost() const override {
    return static_cast<std::size_t>(std::ranges::count(in_hand_, true, &InHand::gone));
  }
  Status give(std::size_t worker, std::vector<Task> tasks) override;
  Result<std::optional<Returned>> next(std::chrono::milliseconds most) override;
  void stop() override;

 private:
  /// Batches that were sent to a worker and have not come back, in order; as bytes, since they may be sent again.
  struct InHand {
    std::deque<std::string> batches;
    bool gone = false;
  };

  void tell_all(const std::string& bytes);
  Status hand_on(std::size_t worker);
  Result<std::size_t> living_after(std::size_t worker) const;

  Ranks& ranks_;
  Status told_{};
  std::vector<InHand> in_hand_;  // by worker
  std::size_t given_ = 0;        // batches that have not come back
};

using FindQuestion = std::function<Result<std::unique_ptr<Question>>(const std::string&)>;

/// What a rank other than 0 does until it is told to end; `stopped` ends it, too, after the point under way.
Status work_for_rank_0(Ranks& ranks, const FindQuestion& find, const std::function<bool()>& stopped);

/// For rank 0, where there is nothing to do: the others are not to wait.
void dismiss(Ranks& ranks);

}  // namespace cortado::sweep
