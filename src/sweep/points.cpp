// The points of a spec, filtered.
#include <fmt/format.h>

#include "base/text.hpp"
#include "sweep/axis_columns.hpp"
#include "sweep/store.hpp"

namespace cortado::sweep {

Result<PointFilter> PointFilter::of(const Spec& spec) {
  CORTADO_ASSIGN_OR_RETURN(Database database, Database::open(":memory:", Database::Access::create));
  PointFilter filter(std::move(database));
  if (spec.filters.empty()) return filter;
  std::vector<std::string> columns;
  std::vector<std::string> names;
  for (const Axis* axis : spec.axes()) {
    names.push_back(axis->name);
    columns.push_back(fmt::format("?{} AS {}", names.size(), sql_name(axis->name)));
  }
  const std::string point = fmt::format("(SELECT {})", join(columns));
  std::vector<std::string> all;
  for (const std::string& one : spec.filters) {
    // Complete by itself, "a) OR (b" is not, and between parentheses, "a LIMIT 1" is not.
    const auto alone = filter.database_.prepare(fmt::format("SELECT 1 FROM {} WHERE {}", point, one));
    const auto inside = filter.database_.prepare(fmt::format("SELECT ({}) FROM {}", one, point));
    if (!alone || !inside || inside->columns() != 1) {
      const std::string why = !alone ? alone.error().message : !inside ? inside.error().message : "";
      return fail(
          {"sweep.filter", fmt::format("\"{}\" is not a condition: {}", one, why),
           fmt::format("use an SQL expression over the axes {}; put names with dots in double quotes", join(names)),
           in_file(spec.file, 0, "filters")});
    }
    all.push_back(fmt::format("({})", one));
  }
  CORTADO_ASSIGN_OR_RETURN(filter.statement_,
                           filter.database_.prepare(fmt::format("SELECT {} FROM {}", join(all, " AND "), point)));
  return filter;
}

Result<bool> PointFilter::keeps(const std::vector<Value>& values) {
  if (!statement_) return true;
  for (std::size_t i = 0; i < values.size(); ++i) bind_value(*statement_, static_cast<int>(i), values[i]);
  CORTADO_ASSIGN_OR_RETURN(const bool row, statement_->step());
  const bool kept = row && statement_->whole(0) != 0;
  CORTADO_RETURN_IF_ERROR(statement_->run());
  return kept;
}

Status for_each_point(const Spec& spec, const std::function<Status(const std::vector<Value>&)>& each) {
  CORTADO_ASSIGN_OR_RETURN(PointFilter filter, PointFilter::of(spec));
  for (std::uint64_t place = 0; place < spec.size(); ++place) {
    const std::vector<Value> values = spec.values_at(place);
    CORTADO_ASSIGN_OR_RETURN(const bool kept, filter.keeps(values));
    if (kept) CORTADO_RETURN_IF_ERROR(each(values));
  }
  return {};
}

}  // namespace cortado::sweep
