// What `build` and `eval` have in common: where calibration samples come from, and quantising.
#pragma once
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "quantize/quantize.hpp"
#include "read/image.hpp"

namespace longshore {

struct CalibrateOptions {
  std::vector<std::string> sources;  // [NAME=]PATH
  std::size_t limit = 500;           // samples that are used
  int threads = 0;                   // 0: as many as the machine has
  std::string rounding = "f32_even";
  QuantizeOptions quantize;
};

/// --calibrate, --calibrate-limit, --calibrator, --rounding, --keep-float.
void add_calibrate_options(CLI::App&, CalibrateOptions&);

/// The samples that the options name, a fixed random choice where there are more, for the inputs of
/// `g`. A source is a data set (its training half), a folder of pictures or .npy files (or of
/// folders of them), or one file; `fallback` stands in for no source, and seeded random data, said
/// loudly, for neither. Progress goes to stderr.
Calibration make_calibration(const Graph& g, const CalibrateOptions&, const ImageOptions&,
                             const std::string& fallback = {});

/// The optimised float graph quantised as the options say; warnings go to stderr.
Graph quantise_model(const Graph& optimised, const CalibrateOptions&, const ImageOptions&,
                     QuantizeReport* report = nullptr, const std::string& fallback = {});

/// `threads`, or for 0 as many as the machine lends.
int thread_count(int threads);

}  // namespace longshore
