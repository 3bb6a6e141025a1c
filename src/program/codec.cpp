#include "program/codec.hpp"

#include <utility>

#include "base/limits.hpp"
#include "program/fields.hpp"
#include "tensor/codec.hpp"

namespace longshore {

template <>
inline constexpr unsigned enumerators<Storage> = 6;
template <>
inline constexpr unsigned enumerators<Step::Kind> = 6;
template <>
inline constexpr unsigned enumerators<Queue> = queue_count;
template <>
inline constexpr unsigned enumerators<Dram> = 2;
template <>
inline constexpr unsigned enumerators<Dataflow> = 4;
template <>
inline constexpr unsigned enumerators<Eltwise::Function> = 3;
template <>
inline constexpr unsigned enumerators<Pool::Function> = 2;

namespace {

template <class A>
void fields(A& a, Machine& m) {
  a.number(m.present);
  if (!m.present) return;
  a.text(m.name);
  Machine::each(m, [&](const char*, const char*, auto& x) { a.number(x); });
}

template <class A>
void fields(A& a, ProgramValue& v) {
  a.text(v.name);
  a.number(v.dtype);
  longshore::fields(a, v.shape, true);
  a.number(v.known_rank);
  a.number(v.fixed_shape);
  numbers(a, v.scale);
  numbers(a, v.zero_point);
  std::int32_t axis = v.axis;
  a.number(axis);
  v.axis = axis;
  a.number(v.storage);
  a.number(v.offset);
  a.number(v.view_of);
  if constexpr (A::reading) {
    if (a.ok() && v.scale.size() != v.zero_point.size())
      a.fault("a value has scales without zero points");
  }
}

template <std::size_t i = 0>
Operation operation_of_kind(std::size_t kind) {
  if constexpr (i < std::variant_size_v<Operation>) {
    if (i == kind) return Operation(std::in_place_index<i>);
    return operation_of_kind<i + 1>(kind);
  } else {
    return End{};
  }
}

template <class A>
void fields(A& a, Instruction& in) {
  a.number(in.queue);
  a.number(in.core);
  a.number(in.layer);
  auto kind = static_cast<std::uint8_t>(in.operation.index());
  a.number(kind);
  if constexpr (A::reading) {
    if (!a.ok()) return;
    if (kind >= std::variant_size_v<Operation>) return a.fault("an instruction is not known");
    in.operation = operation_of_kind(kind);
  }
  std::visit([&](auto& o) { each_field(o, [&](const char*, Role, auto& x) { a.number(x); }); },
             in.operation);
}

template <class A>
void fields(A& a, Program& p, int depth);

template <class A>
void fields(A& a, Step& s, int depth) {
  a.number(s.kind);
  a.text(s.domain);
  a.text(s.name);
  longshore::fields(a, s.attributes);
  numbers(a, s.inputs);
  numbers(a, s.outputs);
  a.list(s.nested, 16, [&](NestedProgram& n) {
    a.text(n.name);
    numbers(a, n.captures);
    fields(a, n.program, depth + 1);
  });
  a.number(s.semaphore);
  a.number(s.offset);
  a.number(s.bytes);
  a.number(s.layer);
  a.number(s.cost_us);
}

template <class A>
void fields(A& a, Program& p, int depth) {
  if constexpr (A::reading) {
    if (depth > deepest_nesting) return a.fault("programs are nested too deep");
  }
  fields(a, p.machine);
  a.number(p.numbers);
  a.list(p.values, 32, [&](ProgramValue& v) { fields(a, v); });
  numbers(a, p.inputs);
  numbers(a, p.outputs);
  numbers(a, p.captured);
  a.list(p.steps, 32, [&](Step& s) { fields(a, s, depth); });
  for (std::vector<Instruction>& queue : p.queues)
    a.list(queue, 7, [&](Instruction& i) { fields(a, i); });
  texts(a, p.layers);
  a.number(p.arena_bytes);
  a.number(p.arena_lower_bound);
}

void set_constants(Program& p, const SharedBlob& constants) {
  p.constants = constants;
  for (Step& s : p.steps)
    for (NestedProgram& n : s.nested) set_constants(n.program, constants);
}

}  // namespace

std::vector<std::byte> encode(const Program& p) {
  Encoder encoder;
  fields(encoder, const_cast<Program&>(p), 0);  // an Encoder only reads
  return encoder.take();
}

Result<Program> decode_program(std::span<const std::byte> bytes, const SharedBlob& constants) {
  Decoder decoder(bytes);
  Program p;
  fields(decoder, p, 0);
  decoder.finish();
  if (!decoder.ok())
    return Status::error(Code::bad_model, "the program: %s", decoder.status().text());
  set_constants(p, constants);
  return p;
}

}  // namespace longshore
