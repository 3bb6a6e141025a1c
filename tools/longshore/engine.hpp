// What `run` and `bench` have in common: a model made ready to run somewhere.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate.hpp"
#include "compile/bundle_file.hpp"
#include "model_options.hpp"
#include "run/context.hpp"

namespace longshore {

struct EngineOptions {
  ModelOptions model;
  InputOptions inputs;
  CalibrateOptions calibrate;  // for int8
  std::string precision;       // "": as the file has it
  std::string on = "auto";
  int threads = 0;  // 0: as many as the process may use
  /// Inputs that are the same as if a file were given, by name.
  std::map<std::string, Tensor> given;
  /// Inputs that start with zeros unless a file is given.
  std::vector<std::string> zero;
};

/// --precision, --on, --threads, the model's and the inputs' options.
void add_engine_options(CommandLine&, EngineOptions&);
/// --on auto, cpu, reference or sim.
void add_on_option(CommandLine&, std::string& on);

/// A model, its inputs, and the thing that runs it.
class ModelEngine {
 public:
  explicit ModelEngine(const EngineOptions&);

  const std::string& where() const { return where_; }  // cpu, reference or sim
  /// Whose clock a measured time is: this machine's in any case; of sim it is the simulator's work.
  std::string clock() const;
  const std::string& precision() const { return precision_; }
  int threads() const { return threads_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  /// The target that a bundle was built for; empty for models.
  const std::string& target() const { return target_; }
  /// What the target takes, as `build` predicts it, in ms; for bundles, after a run.
  std::optional<double> predicted_ms() const;
  /// Predicted time of one run on the target, for --on sim.
  const Timing* timing() const { return context_ ? context_->timing() : nullptr; }
  /// The program of --on cpu and sim.
  const Program* program() const { return context_ ? &context_->program() : nullptr; }
  std::uint64_t memory_bytes() const { return context_ ? context_->memory_bytes() : 0; }

  /// Another tensor for an input, of the type and dims that it had.
  void set_input(std::size_t i, Tensor tensor);
  /// Runs once; outputs() then has the results.
  void run();
  std::vector<Tensor> outputs() const;

 private:
  void load(const EngineOptions&, const ReadResult&);
  /// The bundle's own program, if that is what runs.
  std::optional<Program> shipped(const EngineOptions&, std::optional<compile::BundleFile>);
  void start(Program);

  Graph graph_;
  std::string path_, where_, precision_, target_;
  int threads_ = 1;
  double host_us_ = 0;  // of a bundle for the CPU: the sum of its steps' prices
  std::vector<Tensor> inputs_, reference_;
  std::vector<TensorView> views_;
  std::optional<Context> context_;
};

}  // namespace longshore
