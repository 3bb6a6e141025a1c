// From a file or a graph to a program: everyone who turns one into the other goes this way.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/samples.hpp"
#include "compile/source.hpp"
#include "lower/lower.hpp"
#include "plan/plan.hpp"
#include "quantize/lint.hpp"
#include "quantize/quantize.hpp"
#include "read/input_format.hpp"
#include "run/context.hpp"
#include "sim/schedule.hpp"
#include "write/bundle.hpp"

namespace longshore::compile {

/// The stages, in their order.
enum class Stage : std::uint8_t { read, import, optimise, quantise, place, plan, lower };
std::string_view name(Stage);

/// How far the work is. `part` tells passes of a stage apart; it may be empty. `of` is 0 where
/// nobody knows.
struct Progress {
  Stage stage = Stage::read;
  std::string_view part;
  std::size_t done = 0, of = 1;
};

/// The caller's callback said false: nothing was made.
class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "cancelled"; }
};

/// An element of a calibration sample that no range can hold; `compile` turns it into an Error.
struct UnusableSample {
  std::string text;
};

enum class Quantise : std::uint8_t {
  automatic,  // for a target with an NPU, and where samples are given
  always,
  never
};

struct Options {
  Options();
  // Not here: each file that compiles something would have the copying of all that compiled.
  Options(const Options&);
  Options(Options&&) noexcept;
  Options& operator=(const Options&);
  Options& operator=(Options&&) noexcept;
  ~Options();

  // What goes in: a model, or else the file that `source` names.
  Source source;
  std::optional<ReadResult> model;
  /// Where a given model stands already: `place` takes a graph as it is.
  Stage first = Stage::import;
  Stage last = Stage::lower;

  /// Absent: the machine that this runs on, without placement and prices.
  std::optional<Target> target;
  Quantise quantise = Quantise::automatic;
  QuantizeOptions numbers;
  /// Absent: f32_even, or the first mode of the target if it lacks that.
  std::optional<Rounding> rounding;
  /// Empty: random data, which `Compiled::random_calibration` says.
  SamplesFor samples;
  /// Looks at these samples first (quantize/lint.hpp): a finding that is an error stops.
  bool lint = true;
  /// How programs are given pictures, and the numbers that bytes stand for. Samples are floats.
  InputFormat input_format;
  ImageOptions pictures;
  int threads = 1;
  PlaceOptions place;
  /// Nodes whose unit is given: a node's name, an output's name or an operator, true for the NPU.
  /// The last that names a node holds. "*" are all; those that the NPU can run.
  std::vector<std::pair<std::string, bool>> forced;
  std::string choices;  // of compile/choices.hpp, as text for the bundle
  plan::PlanOptions plan;
  bool taps = false;    // makes Compiled::tapped too
  bool verify = true;   // proves the program sound
  bool predict = true;  // fills Compiled::timing

  /// Called at the beginning and end of each stage and in between; false stops with Cancelled. By
  /// one thread at a time.
  std::function<bool(const Progress&)> progress;
  /// Gets what each stage made as text, in order: "read", "optimised", "quantised", "plan",
  /// "program".
  std::function<void(std::string_view name, const std::string& text)> snapshot;
};

/// What came of it, as far as Options::last.
struct Compiled {
  Compiled();
  // Not here: each file that compiles something would have the copying of all that compiled.
  Compiled(const Compiled&);
  Compiled(Compiled&&) noexcept;
  Compiled& operator=(const Compiled&);
  Compiled& operator=(Compiled&&) noexcept;
  ~Compiled();

  ReadResult model;             // as read, its dims closed for a target
  Graph imported, optimised;    // optimised: before it was quantised here
  Graph graph;                  // that the program computes
  bool was_quantised = false;   // before it came here
  bool quantised_here = false;  // by the stage quantise
  bool random_calibration = false;
  std::vector<Finding> findings;  // of what is wrong with the samples
  QuantizeReport quantisation;
  plan::Plan plan;  // for a target without NPU only its placement
  Program program;
  std::optional<lower::Tapped> tapped;
  Timing timing;  // of the simulator; empty without NPU
  /// One sentence each, for people.
  std::vector<std::string> warnings;

  bool npu() const { return program.machine.present; }
  std::string target_text;  // of the target file; empty without NPU
  std::string choices;      // as Options::choices
  std::string pictures;     // how the program's pictures are read: what is not usual of it
  /// Without a report.
  BundleContents bundle() const { return {graph, program, target_text, choices, {}, pictures}; }
};

/// Throws Error for what is wrong with the input, Cancelled where the caller wanted it.
Compiled compile(const Options&);

/// Throws where the verifier refuses a program that was made here: that is our fault, but for
/// counters of the target that are too small for it. `which` names the program.
void prove(const Program&, std::string_view which = "the program");

/// True where a value has a scale.
bool quantised(const Graph&);

/// What a graph computes in, for people: "int16" where an activation has 16-bit codes, "int16x16"
/// where weights have them too, else "int8", and "float32" where nothing has codes.
std::string_view precision_name(const Graph&);

/// How a loaded model makes programs for dims that it first sees when it runs: by the same stages.
Specialise specialise(const Compiled&);

}  // namespace longshore::compile
