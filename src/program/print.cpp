#include "program/print.hpp"

#include <cinttypes>
#include <cstdio>

#include "program/fields.hpp"

namespace longshore {
namespace {

template <class T>
std::string text(const T& value) {
  char out[48];
  if constexpr (std::is_same_v<T, float>)
    std::snprintf(out, sizeof out, "%.9g", static_cast<double>(value));
  else if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>)
    std::snprintf(out, sizeof out, "%d", static_cast<int>(value));
  else
    std::snprintf(out, sizeof out, "%lld", static_cast<long long>(value));
  return out;
}

const char* name(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::op:
      return "op";
    case Step::Kind::view:
      return "view";
    case Step::Kind::wait:
      return "wait";
    case Step::Kind::signal:
      return "signal";
    case Step::Kind::clean:
      return "clean";
    case Step::Kind::invalidate:
      return "invalidate";
    case Step::Kind::copy:
      return "copy";
  }
  return "?";
}

std::string list(const std::vector<std::uint32_t>& ids) {
  std::string out = "(";
  for (std::size_t i = 0; i < ids.size(); i++) {
    if (i > 0) out += ", ";
    out += ids[i] == no_index ? std::string("-") : std::to_string(ids[i]);
  }
  return out + ")";
}

std::string layer(std::uint32_t index) {
  return index == no_index ? std::string() : " layer=" + std::to_string(index);
}

}  // namespace

const char* name(Dataflow flow) noexcept {
  switch (flow) {
    case Dataflow::weight_stationary:
      return "weight_stationary";
    case Dataflow::output_stationary:
      return "output_stationary";
    case Dataflow::input_stationary:
      return "input_stationary";
    case Dataflow::block:
      return "block";
  }
  return "?";
}

const char* name(VectorFunction function) noexcept {
  static constexpr const char* names[] = {"add",          "multiply", "table",  "max_pool",
                                          "average_pool", "reduce",   "resize", "requantise",
                                          "copy",         "fill"};
  static_assert(std::size(names) == vector_function_count);
  const auto i = static_cast<std::size_t>(function);
  return i < std::size(names) ? names[i] : "?";
}

const char* name(Queue queue) noexcept {
  switch (queue) {
    case Queue::dma_in:
      return "dma_in";
    case Queue::dma_out:
      return "dma_out";
    case Queue::mac:
      return "mac";
    case Queue::vector:
      return "vector";
  }
  return "?";
}

const char* name(const Operation& operation) noexcept {
  static constexpr const char* names[] = {"dma",   "fill",       "copy", "conv",   "eltwise",
                                          "table", "requantise", "pool", "reduce", "resize",
                                          "wait",  "signal",     "mark", "end"};
  static_assert(std::size(names) == operation_count);
  static_assert(std::variant_size_v<Operation> == operation_count);
  const std::size_t i = operation.index();
  return i < std::size(names) ? names[i] : "?";
}

std::string print(const Instruction& instruction) {
  std::string out = std::string(name(instruction.queue)) + "." + std::to_string(instruction.core) +
                    " " + name(instruction.operation);
  std::visit(
      [&]<class O>(const O& operation) {
        const O defaults;
        std::vector<std::string> usual;
        each_field(defaults,
                   [&](const char*, Role, const auto& member) { usual.push_back(text(member)); });
        std::size_t i = 0;
        each_field(operation, [&](const char* field, Role role, const auto& member) {
          const std::string shown = text(member);
          if (shown != usual[i++] || role == Role::semaphore)
            out += " " + std::string(field) + "=" + shown;
        });
      },
      instruction.operation);
  return out + layer(instruction.layer);
}

std::string print(const Step& step) {
  std::string out = name(step.kind);
  switch (step.kind) {
    case Step::Kind::op:
    case Step::Kind::view:
    case Step::Kind::copy:
      if (!step.name.empty()) out += " ";
      out += (step.domain.empty() ? step.name : step.domain + "." + step.name) + list(step.inputs) +
             " -> " + list(step.outputs);
      break;
    case Step::Kind::wait:
    case Step::Kind::signal:
      out += " " + std::to_string(step.semaphore);
      break;
    case Step::Kind::clean:
    case Step::Kind::invalidate:
      out += " " + std::to_string(step.offset) + "+" + std::to_string(step.bytes);
      break;
  }
  return out + layer(step.layer);
}

std::string print(const Program& program) {
  std::string out = "program arena=" + std::to_string(program.arena_bytes) + " constants=" +
                    std::to_string(program.constants ? program.constants->size() : 0) + "\n";
  for (std::size_t i = 0; i < program.values.size(); i++) {
    static constexpr const char* storages[] = {"input",   "constant", "arena",
                                               "dynamic", "captured", "view"};
    const ProgramValue& v = program.values[i];
    out += "value " + std::to_string(i) + " " + v.name + " " +
           storages[static_cast<std::size_t>(v.storage)] + "+" + std::to_string(v.offset) + "\n";
  }
  for (std::size_t i = 0; i < program.layers.size(); i++)
    out += "layer " + std::to_string(i) + " " + program.layers[i] + "\n";
  for (std::size_t i = 0; i < program.steps.size(); i++)
    out += "cpu[" + std::to_string(i) + "] " + print(program.steps[i]) + "\n";
  for (int q = 0; q < queue_count; q++)
    for (std::size_t i = 0; i < program.queues[q].size(); i++)
      out += std::string(name(static_cast<Queue>(q))) + "[" + std::to_string(i) + "] " +
             print(program.queues[q][i]) + "\n";
  return out;
}

}  // namespace longshore
