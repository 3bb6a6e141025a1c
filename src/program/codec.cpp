#include "program/codec.hpp"

#include <algorithm>
#include <utility>

#include "base/guard.hpp"
#include "base/limits.hpp"
#include "program/instruction_def.hpp"
#include "tensor/codec.hpp"

namespace longshore {

template <>
inline constexpr unsigned enumerators<Storage> = 6;
template <>
inline constexpr unsigned enumerators<Step::Kind> = 7;
template <>
inline constexpr unsigned enumerators<Queue> = queue_count;
template <>
inline constexpr unsigned enumerators<Dataflow> = 5;

namespace {

struct VectorPrice {
  std::string name;
  double cycles = 0;
};

/// An instruction as a bundle names it, with the bytes of its fields: another build may know it
/// with other fields.
struct Kind {
  std::string name;
  std::uint32_t bytes = 0;
  const InstructionDef* def = nullptr;
};

std::uint32_t field_bytes(const InstructionDef& def) {
  std::size_t bytes = 0;
  for (const Field& f : def.fields) bytes += size_bytes(f.kind);
  return static_cast<std::uint32_t>(bytes);
}

/// The instructions that a program uses, in the order of their first use.
std::vector<Kind> kinds_of(const Program& p) {
  std::vector<Kind> kinds;
  for (const auto& queue : p.queues)
    for (const Instruction& i : queue) {
      const InstructionDef* def = &i.operation.def();
      if (std::ranges::find(kinds, def, &Kind::def) == kinds.end())
        kinds.push_back({def->name, field_bytes(*def), def});
    }
  return kinds;
}

template <class A>
void fields(A& a, Machine& m) {
  a.number(m.present);
  if (!m.present) return;
  a.text(m.name);
  Machine::each_fixed(m, [&](const char*, const char*, auto& x) { a.number(x); });
  // By name: another build may have other instructions, and what it can do beside is no matter.
  std::vector<VectorPrice> prices;
  if constexpr (!A::reading)
    for (const VectorFunction* f : vector_functions()) prices.push_back({f->name, m.cycles_of(*f)});
  a.list(prices, 12, [&](VectorPrice& p) {
    a.text(p.name);
    a.number(p.cycles);
  });
  if constexpr (A::reading) {
    std::ranges::fill(m.vector_cycles, 0);
    for (const VectorPrice& p : prices)
      for (const VectorFunction* f : vector_functions())
        if (p.name == f->name) m.cycles_of(*f) = p.cycles;
  }
}

template <class A>
void fields(A& a, ProgramValue& v) {
  a.text(v.name);
  a.number(v.dtype);
  longshore::fields(a, v.shape, true);
  a.number(v.known_rank);
  a.number(v.fixed_shape);
  longshore::fields(a, v.quantisation);
  a.number(v.storage);
  a.number(v.offset);
  a.number(v.view_of);
}

template <class A>
void fields(A& a, Kind& k) {
  a.text(k.name);
  a.number(k.bytes);
  if constexpr (A::reading) {
    if (!a.ok()) return;
    k.def = instruction_named(k.name);
    if (k.def == nullptr) return a.fault("an instruction is not known");
    if (field_bytes(*k.def) != k.bytes) a.fault("an instruction has other operands");
  }
}

template <class A>
void fields(A& a, Instruction& in, const std::vector<Kind>& kinds) {
  a.number(in.queue);
  a.number(in.core);
  a.number(in.layer);
  std::uint8_t kind = 0;
  if constexpr (!A::reading)
    kind = static_cast<std::uint8_t>(std::ranges::find(kinds, &in.operation.def(), &Kind::def) -
                                     kinds.begin());
  a.number(kind);
  if constexpr (A::reading) {
    if (!a.ok()) return;
    if (kind >= kinds.size()) return a.fault("an instruction is not known");
    in.operation = Operation(*kinds[kind].def);
  }
  for (const Field& f : in.operation.def().fields)
    visit_field(f, in.operation.operands(), [&]<class T>(T& x) {
      a.number(x);
      if constexpr (A::reading) {
        if constexpr (std::is_same_v<T, std::uint8_t>)
          if (x > f.highest) a.fault("a code is not known");
      }
    });
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
  std::vector<Kind> kinds;
  if constexpr (!A::reading) kinds = kinds_of(p);
  a.list(kinds, 8, [&](Kind& k) { fields(a, k); });
  for (std::vector<Instruction>& queue : p.queues)
    a.list(queue, 7, [&](Instruction& i) { fields(a, i, kinds); });
  texts(a, p.layers);
  a.number(p.arena_bytes);
  a.number(p.arena_lower_bound);
  longshore::fields(a, p.states);
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
  return guarded([&]() -> Result<Program> {
    Decoder decoder(bytes);
    Program p;
    fields(decoder, p, 0);
    decoder.finish();
    if (!decoder.ok())
      return Status::error(Code::bad_model, "the program: %s", decoder.status().text());
    set_constants(p, constants);
    return p;
  });
}

}  // namespace longshore
