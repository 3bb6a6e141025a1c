#include "run/context.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/guard.hpp"
#include "run/frame.hpp"
#include "sim/simulate.hpp"

namespace longshore {

/// One program that this context can run.
struct Instance {
  std::shared_ptr<const LoadedModel> model;
  std::vector<Shape> dims;  // of the inputs it was made for; empty: the model's own program
  Frame frame;
  std::optional<Simulator> simulator;  // of a program with an NPU
};

struct Context::State {
  std::shared_ptr<const LoadedModel> model;
  std::unique_ptr<ThreadPool> own_pool;
  Workplace workplace;  // of all instances: only one of them runs at a time
  std::vector<std::unique_ptr<Instance>> instances;  // used last at the end
  Instance* current = nullptr;
  StepObserver observer;
  std::vector<TensorView> inputs;  // of this run, states included
  /// As Program::states: what a run reads, and where it leaves what the next one reads.
  std::vector<Buffer> states, next_states;

  const std::vector<StateSlot>& slots() const { return model->program.states; }
  const ProgramValue& state_value(std::size_t i) const {
    return model->program.values[model->program.inputs[slots()[i].input]];
  }
  Status run(std::span<const TensorView> given);
  Status select();
  Status keep_states() noexcept;
  void reset() noexcept;
};

namespace {

void need_scratch(const LoadedProgram& program, int threads, std::vector<std::uint64_t>& scratch) {
  std::uint64_t& most = scratch[static_cast<std::size_t>(program.depth)];
  for (const LoadedStep& step : program.steps) {
    if (step.kernel) most = std::max<std::uint64_t>(most, step.kernel->scratch_bytes(threads));
    for (const auto& nested : step.nested) need_scratch(*nested, threads, scratch);
  }
}

/// Grows the workplace to what this model needs as well.
Status make_instance(std::shared_ptr<const LoadedModel> model, Workplace& workplace,
                     Instance& out) {
  out.model = std::move(model);
  std::vector<std::uint64_t> scratch = out.model->scratch_bytes;
  need_scratch(out.model->main, workplace.pool->threads(), scratch);
  if (workplace.levels.size() < scratch.size()) workplace.levels.resize(scratch.size());
  for (std::size_t i = 0; i < scratch.size(); i++) {
    Level& level = workplace.levels[i];
    LONGSHORE_TRY(level.arena.renew(out.model->arena_bytes[i], workplace.budget));
    LONGSHORE_TRY(level.scratch.renew(scratch[i], workplace.budget));
  }
  LONGSHORE_TRY(make_frame(out.model->main, workplace, out.frame));
  if (!out.model->program.machine.present) return {};
  Result<Simulator> simulator = Simulator::create(out.model->program);
  if (!simulator.ok()) return simulator.status();
  out.simulator.emplace(std::move(*simulator));
  return {};
}

/// Runs the CPU's steps of an NPU program when the simulator says so.
class StepHost final : public Host {
 public:
  StepHost(Frame& frame, Workplace& workplace, const StepObserver* observer)
      : frame_(frame), workplace_(workplace), observer_(observer) {}
  Status run_step(const Step&, std::size_t index, std::span<std::byte>) noexcept override {
    return longshore::run_step(frame_, workplace_, index, observer_);
  }

 private:
  Frame& frame_;
  Workplace& workplace_;
  const StepObserver* observer_;
};

Status run_instance(Instance& instance, Workplace& workplace,
                    const StepObserver* observer) noexcept {
  Frame& f = instance.frame;
  if (!instance.simulator) return run_frame(f, workplace, observer);
  const Program& p = f.program();
  show_arena(f, workplace);
  for (std::size_t i = 0; i < p.steps.size(); i++)
    if (p.steps[i].kind == Step::Kind::view) LONGSHORE_TRY(run_step(f, workplace, i));
  StepHost host(f, workplace, observer);
  return instance.simulator->run(std::span(workplace.levels[0].arena.data(), p.arena_bytes), host);
}

Status check_inputs(const Program& p, std::span<const TensorView> inputs) noexcept {
  if (inputs.size() != p.inputs.size())
    return Status::error(Code::bad_argument, "%zu inputs are given, the program takes %zu",
                         inputs.size(), p.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); i++) {
    const ProgramValue& v = p.values[p.inputs[i]];
    const TensorView& in = inputs[i];
    if (!in.present())
      return Status::error(Code::bad_argument, "input '%.80s' is missing", v.name.c_str());
    if (in.dtype != v.dtype)
      return Status::error(Code::bad_argument, "input '%.80s' is %s, found %s", v.name.c_str(),
                           name(v.dtype).data(), name(in.dtype).data());
    if (checked_elements(in.shape) < 0)
      return Status::error(Code::bad_argument, "input '%.80s' has impossible dims", v.name.c_str());
    if (!v.known_rank) continue;
    if (in.shape.rank != v.shape.rank)
      return Status::error(Code::bad_argument, "input '%.80s' has rank %d, found %d",
                           v.name.c_str(), v.shape.rank, in.shape.rank);
    for (int d = 0; d < v.shape.rank; d++)
      if (v.shape[d] >= 0 && v.shape[d] != in.shape[d])
        return Status::error(Code::bad_argument, "input '%.80s': dimension %d is %lld, found %lld",
                             v.name.c_str(), d, static_cast<long long>(v.shape[d]),
                             static_cast<long long>(in.shape[d]));
  }
  return {};
}

/// Zero in the type's own codes.
template <class T>
void fill_codes(std::byte* to, std::int64_t n, const ProgramValue& v) noexcept {
  const QuantView q = v.quant();
  for (std::int64_t i = 0; i < n; i++) {
    const auto at = static_cast<std::size_t>(quant_index(q, v.shape, i));
    const T code = static_cast<T>(v.quantisation.zero_point[at]);
    std::memcpy(to + static_cast<std::size_t>(i) * sizeof code, &code, sizeof code);
  }
}

}  // namespace

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> Context::create(const Model& model, int threads) {
  return guarded([&]() -> Result<Context> {
    auto state = std::make_unique<State>();
    state->model = model.loaded_;
    if (threads != 0) state->own_pool = std::make_unique<ThreadPool>(threads);
    state->workplace.pool = threads == 0 ? &ThreadPool::shared() : state->own_pool.get();
    state->workplace.budget.limit = state->model->options.memory_limit_bytes;
    state->inputs.resize(state->model->program.inputs.size());
    state->states.resize(state->slots().size());
    state->next_states.resize(state->states.size());
    for (std::size_t i = 0; i < state->states.size(); i++)
      for (Buffer* buffer : {&state->states[i], &state->next_states[i]})
        LONGSHORE_TRY(buffer->reserve(
            std::max(state->slots()[i].capacity, value_bytes(state->state_value(i))),
            state->workplace.budget));
    state->reset();
    if (!(state->model->open_dims && state->model->options.specialise)) {
      state->instances.push_back(std::make_unique<Instance>());
      LONGSHORE_TRY(make_instance(state->model, state->workplace, *state->instances.back()));
      state->current = state->instances.back().get();
    }
    return Context(std::move(state));
  });
}

Status Context::run(std::span<const TensorView> inputs) noexcept {
  return guarded([&] { return state_->run(inputs); });
}

void Context::reset() noexcept { state_->reset(); }

Status Context::State::run(std::span<const TensorView> given) {
  if (given.size() == inputs.size()) {
    std::ranges::copy(given, inputs.begin());
    for (std::size_t i = 0; i < states.size(); i++) {
      TensorView& in = inputs[slots()[i].input];
      const ProgramValue& v = state_value(i);
      if (!in.present()) in = {v.dtype, v.shape, states[i].data(), {}};
    }
    given = inputs;
  }
  LONGSHORE_TRY(check_inputs(model->program, given));
  LONGSHORE_TRY(select());
  Frame& f = current->frame;
  const Program& p = f.program();
  for (std::size_t i = 0; i < given.size(); i++) {
    f.views[p.inputs[i]] = given[i];
    f.views[p.inputs[i]].quant = p.values[p.inputs[i]].quant();
  }
  LONGSHORE_TRY(run_instance(*current, workplace, observer.done ? &observer : nullptr));
  return keep_states();
}

/// Makes the program for the dims of `inputs` the current one.
Status Context::State::select() {
  if (!(model->open_dims && model->options.specialise)) return {};
  if (current && same_dims(current->dims, inputs)) return {};
  current = nullptr;
  const auto known = std::ranges::find_if(
      instances, [&](const auto& instance) { return same_dims(instance->dims, inputs); });
  if (known != instances.end()) {
    std::rotate(known, known + 1, instances.end());
  } else {
    Result<std::shared_ptr<const LoadedModel>> special = special_model(*model, inputs);
    if (!special.ok()) return special.status();
    LONGSHORE_TRY(check_inputs((*special)->program, inputs));
    auto fresh = std::make_unique<Instance>();
    for (const TensorView& in : inputs) fresh->dims.push_back(in.shape);
    if (instances.size() >= most_specials) instances.erase(instances.begin());
    LONGSHORE_TRY(make_instance(*special, workplace, *fresh));
    instances.push_back(std::move(fresh));
  }
  current = instances.back().get();
  return {};
}

/// Only after a run that succeeded: a state stays what it was otherwise.
Status Context::State::keep_states() noexcept {
  const Frame& f = current->frame;
  for (std::size_t i = 0; i < states.size(); i++) {
    const TensorView& out = f.views[f.program().outputs[slots()[i].output]];
    const ProgramValue& v = state_value(i);
    if (out.dtype != v.dtype || !(out.shape == v.shape))
      return Status::error(Code::bad_model, "state '%.80s' has other dims after the run",
                           v.name.c_str());
  }
  // Into other memory: an output may show a state's input.
  for (std::size_t i = 0; i < states.size(); i++) {
    const TensorView& out = f.views[f.program().outputs[slots()[i].output]];
    if (out.bytes() > 0) std::memcpy(next_states[i].data(), out.data, out.bytes());
  }
  states.swap(next_states);
  return {};
}

void Context::State::reset() noexcept {
  for (std::size_t i = 0; i < states.size(); i++) {
    const ProgramValue& v = state_value(i);
    std::byte* to = states[i].data();
    std::memset(to, 0, states[i].capacity());
    if (!v.quantisation.present()) continue;
    const std::int64_t n = v.shape.elements();
    size_bytes(v.dtype) == 1   ? fill_codes<std::int8_t>(to, n, v)
    : size_bytes(v.dtype) == 2 ? fill_codes<std::int16_t>(to, n, v)
                               : fill_codes<std::int32_t>(to, n, v);
  }
}

std::size_t Context::output_count() const noexcept { return state_->model->program.outputs.size(); }

TensorView Context::output(std::size_t i) const noexcept {
  if (!state_->current) return {};
  const Frame& f = state_->current->frame;
  return i < f.program().outputs.size() ? f.views[f.program().outputs[i]] : TensorView{};
}

void Context::observe(StepObserver observer) noexcept { state_->observer = observer; }

const Timing* Context::timing() const noexcept {
  const Instance* instance = state_->current;
  return instance && instance->simulator ? &instance->simulator->timing() : nullptr;
}

const Program& Context::program() const noexcept {
  return state_->current ? state_->current->model->program : state_->model->program;
}

std::uint64_t Context::memory_bytes() const noexcept { return state_->workplace.budget.used; }

}  // namespace longshore
