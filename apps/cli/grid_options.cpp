#include "grid_options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cortado/base/text.hpp"

namespace cortado::cli {

void GridOptions::add_to(CLI::App& app) {
  options_ = {
      app.add_option("--variant", variants_, "Names separated by commas, auto, or all")
          ->type_name("NAMES")
          ->capture_default_str(),
      app.add_option("--sizes,--bytes", sizes_, "Whole buffer: FIRST:LAST (doubling), or sizes separated by commas")
          ->type_name("SIZES")
          ->capture_default_str(),
      app.add_option("--prelaunch", prelaunch_, "both, on or off")->type_name("WHICH")->capture_default_str()};
  collective_options_.add_to(app);
}

Status GridOptions::fill(const std::string& collective, pipeline::BenchRequest& request) const {
  CORTADO_ASSIGN_OR_RETURN(const Collective named, find_collective(collective));
  CORTADO_ASSIGN_OR_RETURN(request.base, collective_options_.request(named));
  request.in_place = collective_options_.in_place();
  CORTADO_ASSIGN_OR_RETURN(request.sizes, parse_sizes(sizes_));
  if (prelaunch_ == "both") {
    request.prelaunch = {false, true};
  } else if (prelaunch_ == "on" || prelaunch_ == "off") {
    request.prelaunch = {prelaunch_ == "on"};
  } else {
    return fail("usage.prelaunch", fmt::format("--prelaunch {} is not known", prelaunch_), "give both, on or off");
  }
  return fill_variants(request);
}

Status GridOptions::fill_variants(pipeline::BenchRequest& request) const {
  if (variants_ == "all") return automatic().check(false);
  std::vector<std::string> known{kAutoVariant};
  for (const VariantInfo& info : list_variants(request.base.collective)) known.push_back(info.variant);
  const std::vector<std::string> variants = split_names(variants_);
  for (const std::string& variant : variants) {
    if (std::find(known.begin(), known.end(), variant) != known.end()) continue;
    return fail("usage.variant", fmt::format("{} has no variant '{}'", request.base.collective, variant),
                "variants are all, " + join(known));
  }
  request.variants = variants;
  request.among = automatic().among();
  return automatic().check(std::find(variants.begin(), variants.end(), kAutoVariant) != variants.end());
}

std::string GridOptions::first_given() const {
  for (const CLI::Option* option : options_) {
    if (option->count() > 0) return option->get_name();
  }
  return collective_options_.first_given();
}

}  // namespace cortado::cli
