#include "json.hpp"

namespace cortado::cli {

Json document(const char* schema, int version) {
  return {{"schema", schema}, {"version", version}};
}

std::string to_text(const Json& json) {
  return json.dump(2) + "\n";
}

Json to_json_value(const Diagnostic& diagnostic) {
  Json json{{"code", diagnostic.code}, {"message", diagnostic.message}};
  if (!diagnostic.hint.empty()) json["hint"] = diagnostic.hint;
  const Place& place = diagnostic.place;
  if (!place.file.empty()) json["file"] = place.file;
  if (place.line > 0) json["line"] = place.line;
  if (!place.key.empty()) json["key"] = place.key;
  if (place.rank) json["rank"] = place.rank->value;
  if (!place.queue.empty()) json["queue"] = place.queue;
  if (place.command) json["command"] = *place.command;
  return json;
}

Json to_json_value(const std::vector<Diagnostic>& diagnostics) {
  Json json = Json::array();
  for (const Diagnostic& diagnostic : diagnostics) json.push_back(to_json_value(diagnostic));
  return json;
}

Json to_json_value(const ProgramCounts& counts) {
  return {{"commands", counts.commands}, {"signals", counts.signals}, {"doorbells", counts.doorbells},
          {"triggers", counts.triggers}, {"waits", counts.waits},     {"kernels", counts.kernels}};
}

}  // namespace cortado::cli
