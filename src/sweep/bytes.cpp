// Tasks and answers as bytes. Layouts stand once in a batch, in front of the rows that have them.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <variant>

#include "sweep/answer.hpp"

namespace cortado::sweep {
namespace {

using CellValue = report::Cell::Value;

class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { out_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void put_count(std::size_t count) { put(static_cast<std::uint64_t>(count)); }
  void put_text(std::string_view text) {
    put_count(text.size());
    out_.append(text);
  }
  void put_cell(const CellValue& cell) {
    put(static_cast<std::uint8_t>(cell.index()));
    std::visit(
        [this](const auto& value) {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, std::string>) {
            put_text(value);
          } else if constexpr (std::is_same_v<T, report::Cell::List>) {
            put_count(value.size());
            for (const std::string& text : value) put_text(text);
          } else if constexpr (!std::is_same_v<T, std::monostate>) {
            put(value);
          }
        },
        cell);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Reads zeros and empty texts once the bytes have run out; good() tells.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T get() {
    if constexpr (std::is_same_v<T, bool>) {
      return get<std::uint8_t>() != 0;  // whatever byte stands there
    } else {
      T value{};
      if (rest_.size() < sizeof value) {
        good_ = false;
        return value;
      }
      std::memcpy(&value, rest_.data(), sizeof value);
      rest_.remove_prefix(sizeof value);
      return value;
    }
  }
  /// Of things that take at least a byte each.
  std::size_t get_count() {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size()) good_ = false;
    return good_ ? static_cast<std::size_t>(count) : 0;
  }
  std::string get_text() {
    const std::size_t size = get_count();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  CellValue get_cell() {
    switch (get<std::uint8_t>()) {
      case 1:
        return get<bool>();
      case 2:
        return get<std::int64_t>();
      case 3:
        return get<double>();
      case 4:
        return get_text();
      case 5: {
        report::Cell::List list(get_count());
        for (std::string& text : list) text = get_text();
        return list;
      }
      default:
        return {};
    }
  }
  bool good() const { return good_; }
  bool finished() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void put_answer(ByteWriter& out, const Answer& answer, const std::vector<const Layout*>& layouts) {
  out.put_text(answer.machine_hash);
  out.put(answer.failure.has_value());
  if (answer.failure) {
    for (const std::string& text : {answer.failure->code, answer.failure->message, answer.failure->hint}) {
      out.put_text(text);
    }
  }
  out.put_count(answer.tables.size());
  for (const AnswerTable& table : answer.tables) {
    out.put_count(static_cast<std::size_t>(std::ranges::find(layouts, table.layout.get()) - layouts.begin()));
    out.put_count(table.cells.size());
    for (const CellValue& cell : table.cells) out.put_cell(cell);
  }
}

Answer get_answer(ByteReader& in, const std::vector<std::shared_ptr<const Layout>>& layouts, bool& good) {
  Answer answer;
  answer.machine_hash = in.get_text();
  if (in.get<bool>()) {
    Diagnostic failure;
    for (std::string* text : {&failure.code, &failure.message, &failure.hint}) *text = in.get_text();
    answer.failure = std::move(failure);
  }
  answer.tables.resize(in.get_count());
  for (AnswerTable& table : answer.tables) {
    const auto layout = in.get<std::uint64_t>();
    table.cells.resize(in.get_count());
    if (layout >= layouts.size() || layouts[layout]->columns.empty() ||
        table.cells.size() % layouts[layout]->columns.size() != 0) {
      good = false;
      return answer;
    }
    table.layout = layouts[layout];
    for (CellValue& cell : table.cells) cell = in.get_cell();
  }
  return answer;
}

}  // namespace

std::string to_bytes(const std::vector<Task>& tasks) {
  ByteWriter out;
  out.put_count(tasks.size());
  for (const Task& task : tasks) {
    out.put(task.point);
    out.put_count(task.parameters.size());
    for (const Parameter& parameter : task.parameters) {
      out.put_text(parameter.name);
      out.put_text(parameter.text);
    }
  }
  return out.take();
}

std::optional<std::vector<Task>> tasks_of(std::string_view bytes) {
  ByteReader in(bytes);
  std::vector<Task> tasks(in.get_count());
  for (Task& task : tasks) {
    task.point = in.get<std::int64_t>();
    task.parameters.resize(in.get_count());
    for (Parameter& parameter : task.parameters) {
      parameter.name = in.get_text();
      parameter.text = in.get_text();
    }
  }
  return in.finished() ? std::optional(std::move(tasks)) : std::nullopt;
}

std::string to_bytes(const Batch& batch) {
  std::vector<const Layout*> layouts;
  for (const Finished& one : batch.points) {
    for (const AnswerTable& table : one.answer->tables) {
      if (std::ranges::count(layouts, table.layout.get()) == 0) layouts.push_back(table.layout.get());
    }
  }
  ByteWriter out;
  out.put(batch.seconds);
  out.put_count(batch.machines.size());
  for (const MachineRecord& machine : batch.machines) {
    for (const std::string& text : {machine.hash, machine.name, machine.content}) out.put_text(text);
  }
  out.put_count(layouts.size());
  for (const Layout* layout : layouts) {
    out.put_text(layout->table);
    out.put_count(layout->columns.size());
    for (const LayoutColumn& column : layout->columns) {
      out.put_text(column.name);
      out.put_text(column.meaning);
    }
  }
  out.put_count(batch.points.size());
  for (const Finished& one : batch.points) {
    out.put(one.point);
    put_answer(out, *one.answer, layouts);
  }
  return out.take();
}

std::optional<Batch> batch_of(std::string_view bytes) {
  ByteReader in(bytes);
  Batch batch;
  batch.seconds = in.get<double>();
  batch.machines.resize(in.get_count());
  for (MachineRecord& machine : batch.machines) {
    for (std::string* text : {&machine.hash, &machine.name, &machine.content}) *text = in.get_text();
  }
  std::vector<std::shared_ptr<const Layout>> layouts(in.get_count());
  for (auto& layout : layouts) {
    Layout made{in.get_text(), {}};
    made.columns.resize(in.get_count());
    for (LayoutColumn& column : made.columns) {
      column.name = in.get_text();
      column.meaning = in.get_text();
    }
    layout = std::make_shared<const Layout>(std::move(made));
  }
  bool good = true;
  batch.points.resize(in.get_count());
  for (Finished& one : batch.points) {
    one.point = in.get<std::int64_t>();
    one.answer = std::make_shared<const Answer>(get_answer(in, layouts, good));
    if (!good) return std::nullopt;
  }
  return in.finished() ? std::optional(std::move(batch)) : std::nullopt;
}

}  // namespace cortado::sweep
