// Who writes a database: one process at a time. A file beside the database is locked as long as it lives, and says who
// it is; the lock goes with the process, however that ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "cortado/result.hpp"

namespace cortado::sweep {

/// As the file has it.
struct OwnerNote {
  std::string who;            ///< "process 4711 of user ann on host n12"
  std::int64_t since = 0;     ///< seconds since 1970
  std::int64_t finished = 0;  ///< points at that time
};

class Owner {
 public:
  /// Refuses a database that another process writes, with its name (sweep.owner).
  static Result<Owner> of(const std::string& database);

  Owner(Owner&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  Owner& operator=(Owner&&) = delete;
  ~Owner();

  Status note(std::int64_t finished) const;

 private:
  Owner(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;
};

/// Who writes it now; none if nobody does.
std::optional<OwnerNote> owner_of(const std::string& database);

}  // namespace cortado::sweep
