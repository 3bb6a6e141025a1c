#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "compare_tensors.hpp"

namespace longshore {

/// A test folder in the layout of ONNX's backend tests: model.onnx, test_data_set_N/input_K.pb and
/// output_K.pb, and an optional case.json.
struct OnnxCase {
  enum class Kind : unsigned char {
    values,               // the outputs are those of the files
    same_as_unoptimised,  // the same, with optimisation and without
    reject,               // ends in a clean error
    no_crash,             // any answer or a clean error
  };
  std::filesystem::path folder;
  std::string name;
  Kind kind = Kind::values;
  bool refusal_ok = false;  // a clean error is right too
  Tolerance tolerance;
};

/// Which engine runs the model.
enum class Engine : unsigned char { reference, cpu };

/// The folder itself, or the test folders in it, sorted by name. Throws if there is none.
std::vector<OnnxCase> find_cases(const std::filesystem::path&);

/// Runs the case in this process: empty if it passed, else what is wrong. `optimised`: as it is,
/// then optimised; cases of the kind same-as-unoptimised always do both.
std::string run_case(const OnnxCase&, Engine, bool optimised);

}  // namespace longshore
