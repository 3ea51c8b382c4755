#include "pipeline/choose/content_key.hpp"

#include <fmt/format.h>

namespace cortado::pipeline {

ContentHash& ContentHash::add(std::string_view text) {
  for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return *this;
}

std::string ContentHash::text() const {
  return fmt::format("{:016x}", hash_);
}

ContentHash& add_content(const Machine& machine, ContentHash& hash) {
  hash.add(machine.name).add("\n");
  for (const Provenance& entry : machine.provenance) hash.add(entry.key).add(" = ").add(entry.value).add("\n");
  return hash;
}

}  // namespace cortado::pipeline
