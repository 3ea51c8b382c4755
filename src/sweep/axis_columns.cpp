#include "sweep/axis_columns.hpp"

#include <string_view>
#include <type_traits>
#include <variant>

namespace cortado::sweep {

std::vector<std::string> axis_columns(const Spec& spec) {
  std::vector<std::string> columns;
  for (const Axis* axis : spec.axes()) columns.push_back(sql_name(axis->name));
  return columns;
}

void bind_value(Statement& statement, int at, const Value& value) {
  std::visit(
      [&](const auto& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::string>) {
          statement.bind(at, std::string_view(one));
        } else {
          statement.bind(at, one);
        }
      },
      value);
}

std::string text_of_column(const Statement& row, int at) {
  const report::Cell::Value value = row.value(at);
  const auto* const real = std::get_if<double>(&value);
  return real != nullptr ? text_of(Value{*real}) : row.text(at);
}

}  // namespace cortado::sweep
