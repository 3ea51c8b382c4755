#include "reproduce/published/products.hpp"

#include "reproduce/published/embedded.hpp"
#include "reproduce/published/reader.hpp"

namespace cortado::published {
namespace {

constexpr std::size_t kWithoutUnits = 4;  // m, n, k, us

std::optional<MeasuredProduct> read_point(const toml::node& node) {
  const toml::array* row = node.as_array();
  if (row == nullptr || row->size() < kWithoutUnits || row->size() > kWithoutUnits + 1) return std::nullopt;
  std::vector<double> numbers;
  for (const toml::node& cell : *row) {
    const auto number = cell.value<double>();
    if (!number || !(*number > 0) || *number > 1e12) return std::nullopt;
    numbers.push_back(*number);
  }
  const auto whole = [&](std::size_t i) { return static_cast<std::uint64_t>(numbers[i]); };
  MeasuredProduct point{.m = whole(0), .n = whole(1), .k = whole(2), .us = numbers[3]};
  if (numbers.size() > kWithoutUnits) point.units = static_cast<std::uint32_t>(whole(kWithoutUnits));
  return point;
}

}  // namespace

Result<ProductList> parse_products(const std::string& text, const std::string& file) {
  CORTADO_ASSIGN_OR_RETURN(const toml::table root, parse_toml(text, file));
  Reader in(root, file);
  ProductList list{
      in.text("name"), in.text("title"),       in.text("machine"),       in.text("dtype"),         in.source(),
      in.used_for(),   in.number("goal_mean"), in.number_if("goal_p90"), in.number_if("burst_ms"), {}};
  const toml::array* points = in.array("points");
  if (in.error()) return fail(*in.error());
  for (const toml::node& node : *points) {
    const auto point = read_point(node);
    if (!point) {
      in.refuse("points", "must be lists of m, n, k, microseconds and, if not all, compute units");
      return fail(*in.error());
    }
    list.points.push_back(*point);
  }
  return list;
}

Result<std::vector<ProductList>> load_products() {
  std::vector<ProductList> lists;
  for (const auto& [name, text] : internal::embedded_products()) {
    const std::string file = fmt::format("published/products/{}.toml", name);
    CORTADO_ASSIGN_OR_RETURN(lists.emplace_back(), parse_products(std::string(text), file));
  }
  return lists;
}

}  // namespace cortado::published
