#include "subcommand.hpp"

namespace cortado::cli {

std::unique_ptr<Subcommand> make_bench();
std::unique_ptr<Subcommand> make_breakdown();
std::unique_ptr<Subcommand> make_calibrate();
std::unique_ptr<Subcommand> make_characterize();
std::unique_ptr<Subcommand> make_compare();
std::unique_ptr<Subcommand> make_decode();
std::unique_ptr<Subcommand> make_demo();
std::unique_ptr<Subcommand> make_encode();
std::unique_ptr<Subcommand> make_explain();
std::unique_ptr<Subcommand> make_list();
std::unique_ptr<Subcommand> make_overlap();
std::unique_ptr<Subcommand> make_plan();
std::unique_ptr<Subcommand> make_power();
std::unique_ptr<Subcommand> make_reproduce();
std::unique_ptr<Subcommand> make_run();
std::unique_ptr<Subcommand> make_show();
std::unique_ptr<Subcommand> make_verify();

std::vector<std::unique_ptr<Subcommand>> make_subcommands() {
  std::vector<std::unique_ptr<Subcommand>> all;
  for (const auto make : {make_demo, make_list, make_show, make_plan, make_verify, make_run, make_bench, make_breakdown,
                          make_explain, make_overlap, make_power, make_characterize, make_calibrate, make_compare,
                          make_reproduce, make_encode, make_decode}) {
    all.push_back(make());
  }
  return all;
}

}  // namespace cortado::cli
