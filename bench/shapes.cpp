// Runs a model through the C interface with several input shapes, one after another, and prints
// for each: the first run, the second, the best of all, and the memory then held. bench/shapes runs
// it.
#include <longshore/longshore.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

double resident_mb() {
  long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "shapes: %s\n", what);
  std::exit(2);
}

/// "1x3x64x96"
std::vector<std::int64_t> dims(const char* text) {
  std::vector<std::int64_t> out;
  for (char* at = const_cast<char*>(text);; at++) {
    out.push_back(std::strtoll(at, &at, 10));
    if (*at != 'x') break;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) stop("shapes MODEL THREADS SHAPE...: each input gets the shape");
  char why[256];
  longshore_model* model = nullptr;
  if (longshore_model_load(argv[1], &model, why, sizeof why) != LONGSHORE_OK) stop(why);
  longshore_context* context = nullptr;
  if (longshore_context_create(model, std::atoi(argv[2]), &context, why, sizeof why) !=
      LONGSHORE_OK)
    stop(why);
  std::printf("loaded %.1f\n", resident_mb());
  for (int i = 3; i < argc; i++) {
    const std::vector<std::int64_t> shape = dims(argv[i]);
    std::size_t elements = 1;
    for (std::int64_t d : shape) elements *= static_cast<std::size_t>(d);
    const std::vector<float> reals(elements, 0.25f);
    const std::vector<std::int64_t> integers(elements, 1);
    std::vector<longshore_tensor> inputs(longshore_input_count(model));
    for (std::size_t k = 0; k < inputs.size(); k++) {
      longshore_tensor& t = inputs[k];
      if (longshore_input_type(model, k, &t) != LONGSHORE_OK) stop("an input without a type");
      t.rank = static_cast<std::int32_t>(shape.size());
      std::copy(shape.begin(), shape.end(), t.dims);
      if (t.dtype != LONGSHORE_F32 && t.dtype != LONGSHORE_I64) stop("neither f32 nor i64");
      t.data = t.dtype == LONGSHORE_F32 ? static_cast<const void*>(reals.data()) : integers.data();
    }
    std::vector<double> ms;
    for (int run = 0; run < 6; run++) {
      const auto start = std::chrono::steady_clock::now();
      if (longshore_run(context, inputs.data(), inputs.size(), why, sizeof why) != LONGSHORE_OK)
        stop(why);
      ms.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
              .count());
    }
    std::printf("shape %s %.2f %.2f %.2f %.1f\n", argv[i], ms[0], ms[1],
                *std::min_element(ms.begin() + 1, ms.end()), resident_mb());
  }
  longshore_context_free(context);
  longshore_model_free(model);
}
