// What the commands that quantise have in common: where calibration samples come from, how scales
// are chosen.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "command_line.hpp"

#include "compile/compile.hpp"
#include "read/image.hpp"

namespace longshore {

struct CalibrateOptions {
  std::vector<std::string> sources;  // [NAME=]PATH
  std::size_t limit = 500;           // samples that are used
  bool lint = true;                  // looks at them first
  std::optional<Rounding> rounding;  // absent: as the target has it
  std::string precision;             // of --precision, where the command has it; empty: int8
  std::vector<std::string> node_precisions;  // NAME=int8, int16 or int16x16
  QuantizeOptions quantize;
};

/// --calibrate, --calibrate-limit, --calibrator, --rounding, --keep-float, ...
void add_calibrate_options(CommandLine&, CalibrateOptions&);

/// --precision int8|int16|int16x16|fp16, for commands whose model may also stay float without it.
void add_precision_option(CommandLine&, CalibrateOptions&);

/// Of int8, int16 and int16x16; anything else is refused, fp16 with what it lacks.
Precision precision_of(std::string_view name);

/// Fills in what these options say: samples, scales, threads (0: as many as the machine lends), and
/// progress on stderr. A source is a data set (its training half), a folder of pictures or .npy
/// files (or of folders of them), or one file; `fallback` stands in for no source. A fixed random
/// choice is taken where there are more samples than the limit.
void set_calibration(compile::Options&, const CalibrateOptions&, const ImageOptions&, int threads,
                     const std::string& fallback = {});

/// compile::compile with progress and warnings on stderr, and with the changes that `apply` names
/// (compile::compile_changed). Messages name the file once.
compile::Compiled compile_shown(compile::Options, const std::vector<std::string>& apply = {});

/// Says so where the options ask for calibration and there was none.
void warn_of_unused(const CalibrateOptions&, const compile::Compiled&);

/// `threads`, or for 0 as many as the machine lends.
int thread_count(int threads);

}  // namespace longshore
