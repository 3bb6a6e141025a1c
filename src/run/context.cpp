#include "run/context.hpp"

#include <algorithm>
#include <optional>

#include "run/frame.hpp"
#include "sim/simulate.hpp"

namespace longshore {

/// One program that this context can run, with its memory.
struct Instance {
  std::shared_ptr<const LoadedModel> model;
  std::vector<Shape> dims;  // of the inputs it was made for; empty: the model's own program
  Workplace workplace;
  Frame frame;
  std::optional<Simulator> simulator;  // of a program with an NPU
};

struct Context::State {
  std::shared_ptr<const LoadedModel> model;
  ThreadPool pool;
  std::vector<std::unique_ptr<Instance>> instances;  // newest last
  Instance* current = nullptr;
  StepObserver observer;

  explicit State(int threads) : pool(threads) {}
};

namespace {

constexpr std::size_t most_instances = 8;

void need_scratch(const LoadedProgram& program, int threads, std::vector<std::uint64_t>& scratch) {
  std::uint64_t& most = scratch[static_cast<std::size_t>(program.depth)];
  for (const LoadedStep& step : program.steps) {
    if (step.kernel) most = std::max<std::uint64_t>(most, step.kernel->scratch_bytes(threads));
    for (const auto& nested : step.nested) need_scratch(*nested, threads, scratch);
  }
}

Status make_instance(std::shared_ptr<const LoadedModel> model, ThreadPool& pool, Instance& out) {
  out.model = std::move(model);
  out.workplace.pool = &pool;
  out.workplace.budget.limit = out.model->options.memory_limit_bytes;
  std::vector<std::uint64_t> scratch = out.model->scratch_bytes;
  need_scratch(out.model->main, pool.threads(), scratch);
  out.workplace.levels.resize(scratch.size());
  for (std::size_t i = 0; i < scratch.size(); i++) {
    LONGSHORE_TRY(
        out.workplace.levels[i].arena.reserve(out.model->arena_bytes[i], out.workplace.budget));
    LONGSHORE_TRY(out.workplace.levels[i].scratch.reserve(scratch[i], out.workplace.budget));
  }
  LONGSHORE_TRY(make_frame(out.model->main, out.workplace, out.frame));
  if (!out.model->program.machine.present) return {};
  Result<Simulator> simulator = Simulator::create(out.model->program);
  if (!simulator.ok()) return simulator.status();
  out.simulator.emplace(std::move(*simulator));
  return {};
}

/// Runs the CPU's steps of an NPU program when the simulator says so.
class StepHost final : public Host {
 public:
  StepHost(Instance& instance, const StepObserver* observer)
      : instance_(instance), observer_(observer) {}
  Status run_step(const Step&, std::size_t index, std::span<std::byte>) noexcept override {
    return longshore::run_step(instance_.frame, instance_.workplace, index, observer_);
  }

 private:
  Instance& instance_;
  const StepObserver* observer_;
};

Status run_instance(Instance& instance, const StepObserver* observer) noexcept {
  Frame& f = instance.frame;
  if (!instance.simulator) return run_frame(f, instance.workplace, observer);
  const Program& p = f.program();
  for (std::size_t i = 0; i < p.steps.size(); i++)
    if (p.steps[i].kind == Step::Kind::view) LONGSHORE_TRY(run_step(f, instance.workplace, i));
  StepHost host(instance, observer);
  return instance.simulator->run(
      std::span(instance.workplace.levels[0].arena.data(), p.arena_bytes), host);
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

bool same_dims(const std::vector<Shape>& dims, std::span<const TensorView> inputs) noexcept {
  return std::equal(dims.begin(), dims.end(), inputs.begin(), inputs.end(),
                    [](const Shape& s, const TensorView& t) { return s == t.shape; });
}

/// The program for these dims, from the model's cache or made now.
Result<std::shared_ptr<const LoadedModel>> special(const LoadedModel& model,
                                                   std::span<const TensorView> inputs) {
  {
    const std::lock_guard lock(model.mutex);
    for (const LoadedModel::Special& s : model.specials)
      if (same_dims(s.dims, inputs)) return s.model;
  }
  std::vector<Shape> dims;
  for (const TensorView& in : inputs) dims.push_back(in.shape);
  Result<Program> program = model.options.specialise(dims);
  if (!program.ok()) return program.status();
  LoadOptions options = model.options;
  options.specialise = nullptr;
  options.operators = model.operators;
  Result<std::shared_ptr<const LoadedModel>> made = load_model(std::move(*program), options);
  if (!made.ok()) return made.status();
  const std::lock_guard lock(model.mutex);
  if (model.specials.size() >= LoadedModel::most_specials)
    model.specials.erase(model.specials.begin());
  model.specials.push_back({std::move(dims), *made});
  return *made;
}

}  // namespace

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> Context::create(const Model& model, int threads) {
  auto state = std::make_unique<State>(threads);
  state->model = model.loaded_;
  if (!(model.loaded_->open_dims && model.loaded_->options.specialise)) {
    state->instances.push_back(std::make_unique<Instance>());
    state->current = state->instances.back().get();
    const Status status = make_instance(model.loaded_, state->pool, *state->current);
    if (!status.ok()) return status;
  }
  return Context(std::move(state));
}

Status Context::run(std::span<const TensorView> inputs) noexcept {
  State& s = *state_;
  LONGSHORE_TRY(check_inputs(s.model->program, inputs));
  if (s.model->open_dims && s.model->options.specialise &&
      !(s.current && same_dims(s.current->dims, inputs))) {
    s.current = nullptr;
    for (const auto& instance : s.instances)
      if (same_dims(instance->dims, inputs)) s.current = instance.get();
    if (!s.current) {
      Result<std::shared_ptr<const LoadedModel>> model = special(*s.model, inputs);
      if (!model.ok()) return model.status();
      LONGSHORE_TRY(check_inputs((*model)->program, inputs));
      auto fresh = std::make_unique<Instance>();
      LONGSHORE_TRY(make_instance(*model, s.pool, *fresh));
      for (const TensorView& in : inputs) fresh->dims.push_back(in.shape);
      if (s.instances.size() >= most_instances) s.instances.erase(s.instances.begin());
      s.instances.push_back(std::move(fresh));
      s.current = s.instances.back().get();
    }
  }
  Frame& f = s.current->frame;
  const Program& p = f.program();
  for (std::size_t i = 0; i < inputs.size(); i++) {
    f.views[p.inputs[i]] = inputs[i];
    f.views[p.inputs[i]].quant = p.values[p.inputs[i]].quant();
  }
  return run_instance(*s.current, s.observer.done ? &s.observer : nullptr);
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

std::uint64_t Context::memory_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& instance : state_->instances) bytes += instance->workplace.budget.used;
  return bytes;
}

}  // namespace longshore
