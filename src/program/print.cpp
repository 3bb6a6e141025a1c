#include "program/print.hpp"

#include <cinttypes>
#include <cstdio>

#include "program/instruction_def.hpp"

namespace longshore {
namespace {

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
    case Dataflow::micro_block:
      return "micro_block";
  }
  return "?";
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

std::string queue_name(const Machine& machine, std::uint32_t core, Queue queue) {
  std::string out = name(queue);
  if (machine.cores > 1) out += "." + std::to_string(core);
  return out;
}

std::string print_field(const Field& field, const void* operands) {
  return visit_field(field, operands, [&]<class T>(const T& value) -> std::string {
    char out[48];
    if constexpr (std::is_same_v<T, float>)
      std::snprintf(out, sizeof out, "%.9g", static_cast<double>(value));
    else if (field.role == Role::dtype)
      return std::string(name(DType(value)));
    else
      std::snprintf(out, sizeof out, "%lld", static_cast<long long>(value));
    return out;
  });
}

std::string print(const Instruction& instruction) {
  const Operation& operation = instruction.operation;
  const InstructionDef& def = operation.def();
  std::string out = std::string(name(instruction.queue)) + "." + std::to_string(instruction.core) +
                    " " + def.name;
  for (const Field& f : def.fields) {
    const std::string shown = print_field(f, operation.operands());
    if (shown != print_field(f, def.operands.defaults) || f.role == Role::semaphore)
      out += " " + std::string(f.name) + "=" + shown;
  }
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
