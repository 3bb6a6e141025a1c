#include "lower/lower.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "program/instructions/dma.hpp"
#include "program/instructions/signal.hpp"
#include "program/instructions/wait.hpp"
#include "base/error.hpp"
#include "lower/task.hpp"
#include "plan/stages.hpp"
#include "sim/schedule.hpp"

namespace longshore::lower {
namespace {

std::uint32_t id(ValueId v) { return v == no_value ? no_index : static_cast<std::uint32_t>(v); }

class Lowering {
 public:
  /// `pack` false: for timing.
  Lowering(const plan::Plan& plan, bool taps, bool pack = true)
      : plan_(plan),
        g_(plan.placement.graph),
        uses_(g_),
        emitter_(start(taps)),
        tasks_(emitter_, plan, pool_, taps_, pack) {}

  Tapped run() {
    for (ValueId v : plan_.staged_inputs) stage(v);
    for (const plan::Item& item : plan_.items)
      item.npu ? tasks_.emit(plan_.tasks[item.index]) : cpu(item.index);
    Emitter::Ranges outputs, taps;
    for (ValueId v : g_.outputs)
      if (const auto r = range(v)) outputs.push_back(*r);
    emitter_.hand_over(outputs, false);
    for (std::uint32_t at : out_.at)
      taps.emplace_back(p().values[at].offset, p().values[at].offset + bytes(p().values[at]));
    emitter_.hand_over(taps, true);
    emitter_.finish();
    out_.first_semaphore = emitter_.first_tap_semaphore();
    set_constants(p(), pool_.finish());
    return std::move(out_);
  }

 private:
  Program& p() { return out_.program; }
  /// Values begin at multiples of 64, and no two share a cache line.
  std::uint64_t whole_lines(std::uint64_t bytes) const {
    const std::uint64_t line =
        std::lcm<std::uint64_t>(64, std::max(plan_.placement.target.machine.cache_line_bytes, 1u));
    return (bytes + line - 1) / line * line;
  }
  static std::uint64_t bytes(const ProgramValue& v) {
    return static_cast<std::uint64_t>(v.shape.elements()) * size_bytes(v.dtype);
  }
  bool npu_node(std::size_t i) const { return plan_.placement.nodes[i].on_npu(); }

  /// The CPU reads or writes it as a value of its own.
  bool cpu_sees(ValueId v) const {
    if (uses_.output[index(v)] || uses_.captured[index(v)]) return true;
    const int def = g_[v].def;
    if (def >= 0 && !npu_node(static_cast<std::size_t>(def))) return true;
    return std::ranges::any_of(uses_.nodes[index(v)],
                               [&](std::size_t user) { return !npu_node(user); });
  }

  /// Everything that does not depend on the order: values and their places.
  Program& start(bool taps) {
    Program& program = out_.program;
    program.machine = plan_.placement.target.machine;
    program.numbers = g_.numbers;
    program.arena_bytes = whole_lines(plan_.arena.bytes);
    program.arena_lower_bound = plan_.arena.lower_bound;
    for (std::size_t i = 0; i < g_.values.size(); i++) program.values.push_back(value(ValueId(i)));
    for (ValueId v : g_.inputs)
      program.inputs.push_back(id(v)), program.values[index(v)].storage = Storage::input;
    for (ValueId v : g_.outputs) program.outputs.push_back(id(v));
    program.states = g_.states;
    for (std::size_t i = 0; i < g_.values.size(); i++) show_views(ValueId(i), program);
    for (const Node& n : g_.nodes) program.layers.push_back(n.origin.name);
    for (ValueId v : plan_.staged_inputs) {
      ProgramValue copy = program.values[index(v)];
      copy.name += " in the arena";
      copy.storage = Storage::arena;
      copy.offset = plan_.arena.offsets[plan_.values[index(v)].buffer];
      program.values.push_back(std::move(copy));
    }
    out_.arena_bytes = program.arena_bytes;
    out_.value_count = program.values.size();
    out_.output_count = program.outputs.size();
    if (taps) add_taps(program);
    return program;
  }

  ProgramValue value(ValueId v) {
    const Value& from = g_[v];
    if (from.constant.present() && !cpu_sees(v)) return hidden(from);
    ProgramValue out = program_value(from, pool_);
    if (from.constant.present() || std::ranges::find(g_.inputs, v) != g_.inputs.end()) return out;
    const plan::View& view = plan_.values[index(v)];
    if (!cpu_sees(v)) return hidden(from);
    out.storage = view.present() ? Storage::arena : Storage::dynamic;
    if (view.present()) out.offset = plan_.arena.offsets[view.buffer] + view.offset;
    return out;
  }
  /// Keeps its number and name; nothing on the CPU may touch it.
  static ProgramValue hidden(const Value& from) {
    ProgramValue out;
    out.name = from.name;
    return out;
  }

  /// A view of a program input on the CPU has no bytes of its own.
  void show_views(ValueId v, Program& program) {
    const Node* def = g_.def(v);
    if (!def || npu_node(static_cast<std::size_t>(g_[v].def)) || !is_view(g_, *def)) return;
    const ProgramValue& source = program.values[index(def->inputs[0])];
    ProgramValue& to = program.values[index(v)];
    if (source.storage == Storage::constant)
      to.storage = Storage::constant, to.offset = source.offset, to.constant = source.constant;
    if (source.storage == Storage::input)
      to.storage = Storage::view, to.view_of = id(def->inputs[0]);
    if (source.storage == Storage::view) to.storage = Storage::view, to.view_of = source.view_of;
  }

  /// A place for every value that the NPU makes bytes of: results of stages, what they are parts
  /// of, and what shows elements of these.
  void add_taps(Program& program) {
    taps_.resize(g_.values.size());
    std::vector<bool> wanted(g_.values.size());
    const auto mark = [&](ValueId v) {
      for (;;) {
        wanted[index(v)] = true;
        if (!plan_.aliases[index(v)].part) return;
        v = plan_.aliases[index(v)].parent;
      }
    };
    for (const plan::Layer& l : plan_.layers)
      for (const plan::Stage& s : l.stages) mark(plan::form_node(plan_, s).result());
    std::vector<bool> by_boxes(g_.values.size());  // tiles write it; other taps share its bytes
    for (const Node& n : g_.nodes)
      for (ValueId v : n.outputs) {
        if (v == no_value) continue;
        const plan::Alias& a = plan_.aliases[index(v)];
        const bool alias =
            a.parent != no_value && !a.part && npu_node(static_cast<std::size_t>(g_[v].def));
        const bool shown = alias && taps_[index(a.parent)].present;
        const bool same = alias && forms::same_walk(g_[v], g_[a.parent]);
        if (wanted[index(v)] || (shown && by_boxes[index(a.parent)] && (!a.full || same))) {
          add_tap(v, program, {});
          by_boxes[index(v)] = true;
        } else if (shown && a.full) {
          add_tap(v, program, taps_[index(a.parent)].offset);
        } else if (alias) {  // of what the CPU made, or of a value under other dims
          out_.without_bytes.push_back(v);
        }
      }
  }

  /// `shared`: it shows the row-major bytes of another tap.
  void add_tap(ValueId v, Program& program, std::optional<std::uint64_t> shared) {
    const std::optional<forms::Extent> e = forms::extent_of(g_[v]);
    if (!e) return;
    const std::uint64_t element = size_bytes(g_[v].type.dtype);
    const std::uint64_t offset = shared.value_or(program.arena_bytes);
    taps_[index(v)] = {offset, {}, true};
    const std::array<std::int64_t, 4> strides = forms::row_major_strides(g_[v]);
    for (std::size_t i = 0; i < 4; i++)
      taps_[index(v)].stride[i] = static_cast<std::uint64_t>(strides[i]) * element;
    ConstantPool none;
    Value copy = g_[v];
    copy.constant = {};
    ProgramValue tap = program_value(copy, none);
    tap.name += " (tap)";
    tap.storage = Storage::arena;
    tap.offset = offset;
    if (!shared)
      program.arena_bytes =
          whole_lines(program.arena_bytes + static_cast<std::uint64_t>(e->elements()) * element);
    out_.values.push_back(v);
    out_.at.push_back(static_cast<std::uint32_t>(program.values.size()));
    program.outputs.push_back(static_cast<std::uint32_t>(program.values.size()));
    program.values.push_back(std::move(tap));
  }

  /// The bytes of a value that the CPU sees in the arena.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> range(ValueId v) {
    if (v == no_value) return {};
    const ProgramValue& value = p().values[index(v)];
    if (value.storage != Storage::arena || value.dtype == DType::undefined) return {};
    return std::pair(value.offset, value.offset + bytes(value));
  }

  /// A graph input that the NPU reads: the caller's memory is out of its reach.
  void stage(ValueId v) {
    const auto at = static_cast<std::size_t>(std::ranges::find(plan_.staged_inputs, v) -
                                             plan_.staged_inputs.begin());
    Step copy;
    copy.kind = Step::Kind::copy;
    copy.inputs = {id(v)};
    copy.outputs = {static_cast<std::uint32_t>(g_.values.size() + at)};
    const ProgramValue& to = p().values[copy.outputs[0]];
    copy.cost_us =
        plan_.placement.target.cpu.step_us +
        static_cast<double>(bytes(to)) / (plan_.placement.target.cpu.bandwidth_gbs * 1e3);
    emitter_.cpu(std::move(copy), {}, {{to.offset, to.offset + bytes(to)}});
  }

  void cpu(std::size_t i) {
    const Node& n = g_.nodes[i];
    add_cpu_step(p(), g_, n, pool_);
    Step step = std::move(p().steps.back());
    p().steps.pop_back();
    step.layer = static_cast<std::uint32_t>(i);
    // 0 where dims are unknown: the report says which nodes have no price.
    step.cost_us =
        step.kind == Step::Kind::view ? 0 : std::max(plan_.placement.nodes[i].cpu_us(), 0.0);
    Emitter::Ranges reads, writes;
    if (step.kind != Step::Kind::view) {
      const auto read = [&](ValueId v) {
        if (const auto r = range(v)) reads.push_back(*r);
      };
      std::ranges::for_each(n.inputs, read);
      for (const Subgraph& s : n.subgraphs) std::ranges::for_each(s.captures, read);
      for (ValueId v : n.outputs)
        if (const auto r = range(v)) writes.push_back(*r);
    }
    emitter_.cpu(std::move(step), reads, writes);
  }

  const plan::Plan& plan_;
  const Graph& g_;
  plan::Uses uses_;
  ConstantPool pool_;
  Tapped out_;
  std::vector<TapPlace> taps_;
  Emitter emitter_;
  TaskEmitter tasks_;
};

/// What a program takes of the memories outside the NPU, where the target says how much there is.
void check_memories(const Program& program) {
  const Machine& m = program.machine;
  if (!m.present) return;
  const std::uint64_t constants = program.constants ? program.constants->size() : 0;
  const bool apart = m.constants_gb_per_s > 0;
  const std::uint64_t needed = program.arena_bytes + (apart ? 0 : constants);
  if (m.dram_bytes > 0 && needed > m.dram_bytes)
    fail(Code::exhausted, apart ? "activations" : "activations and constants", " take ", needed,
         " bytes, but npu.dram.bytes of ", m.name, " is ", m.dram_bytes);
  if (m.constants_bytes > 0 && constants > m.constants_bytes)
    fail(Code::exhausted, "constants take ", constants, " bytes, but npu.constants.bytes of ",
         m.name, " is ", m.constants_bytes);
}

}  // namespace

plan::LayerTime task_time(const plan::Plan& plan, std::span<const plan::Layer> layers,
                          std::span<const plan::TileTask> tiles, bool through_dram) {
  Program program;
  program.machine = plan.placement.target.machine;
  program.numbers = plan.placement.graph.numbers;
  program.arena_bytes = plan.arena.bytes;
  for (const Node& n : plan.placement.graph.nodes) program.layers.push_back(n.origin.name);
  ConstantPool pool;
  Emitter emitter(program, !through_dram);
  const std::vector<TapPlace> no_taps;
  TaskEmitter tasks(emitter, plan, pool, no_taps, false);
  for (const plan::TileTask& task : tiles) tasks.emit(layers[task.layer], task);
  emitter.finish();
  Result<Schedule> schedule = longshore::schedule(program);
  require(schedule.status(), "the simulator cannot time a layer");
  const auto busy = [&](Queue q) {  // of the busiest core
    double most = 0;
    for (std::size_t core = 0; core < program.machine.cores; core++)
      most = std::max(most,
                      schedule->timing.busy_ns[core * queue_count + static_cast<std::size_t>(q)]);
    return most;
  };
  return {busy(Queue::mac), busy(Queue::vector), busy(Queue::dma_in), busy(Queue::dma_out),
          schedule->timing.total_ns};
}

Timing predicted(const plan::Plan& plan) {
  Result<Schedule> timed = schedule(Lowering(plan, false, false).run().program);
  require(timed.status(), "the simulator cannot time a plan");
  return std::move(timed->timing);
}

double predicted_ns(const plan::Plan& plan) {
  try {
    return predicted(plan).total_ns;
  } catch (const Error& e) {
    if (e.code() != Code::unsupported) throw;
    return std::numeric_limits<double>::infinity();  // too many engines wait for each other
  }
}

plan::Plan timed_plan(const Placement& placement, plan::PlanOptions options) {
  options.time = task_time;
  options.total = predicted_ns;
  return plan::make_plan(placement, options);
}

Program lower(const plan::Plan& plan) {
  Program program = Lowering(plan, false).run().program;
  check_memories(program);
  return program;
}

Tapped lower_tapped(const plan::Plan& plan) { return Lowering(plan, true).run(); }

bool is_tap(const Tapped& tapped, const Instruction& i) {
  if (const auto* wait = i.operation.get_if<Wait>())
    return wait->semaphore >= tapped.first_semaphore;
  if (const auto* signal = i.operation.get_if<Signal>())
    return signal->semaphore >= tapped.first_semaphore;
  const auto* dma = i.operation.get_if<Dma>();
  return dma != nullptr && dma->dram == Dram::arena && dma->dram_address >= tapped.arena_bytes;
}

Program remove_taps(const Tapped& tapped) {
  Program p = tapped.program;
  for (std::vector<Instruction>& queue : p.queues)
    std::erase_if(queue, [&](const Instruction& i) { return is_tap(tapped, i); });
  std::erase_if(p.steps, [&](const Step& s) {
    if (s.kind == Step::Kind::wait || s.kind == Step::Kind::signal)
      return s.semaphore >= tapped.first_semaphore;
    return s.kind == Step::Kind::invalidate && s.offset >= tapped.arena_bytes;
  });
  p.values.resize(tapped.value_count);
  p.outputs.resize(tapped.output_count);
  p.arena_bytes = tapped.arena_bytes;
  return p;
}

}  // namespace longshore::lower
