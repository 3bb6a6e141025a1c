#include "measure/dataset.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "base/error.hpp"
#include "ir/graph.hpp"

namespace longshore {
namespace {

/// The format whose name is `spec` or stands before its first colon, else null.
const DatasetFormat* named(std::string_view spec) {
  for (const DatasetFormat* f : datasets::all())
    if (spec.substr(0, spec.find(':')) == f->name) return f;
  return nullptr;
}

}  // namespace

bool names_dataset(std::string_view spec) { return named(spec) != nullptr; }

Dataset open_dataset(std::string_view spec, DatasetRequest request) {
  if (const DatasetFormat* f = named(spec)) {
    const std::size_t colon = spec.find(':');
    request.path = colon == std::string_view::npos ? "" : std::string(spec.substr(colon + 1));
    return f->open(request);
  }
  request.path = std::string(spec);
  std::string known;
  for (const DatasetFormat* f : datasets::all()) {
    if (f->recognises && f->recognises(request.path)) return f->open(request);
    known += str(known.empty() ? "" : ", ", f->name);
  }
  fail(Code::bad_argument, "'", spec, "' is no data set: expected one of ", known,
       " (NAME or NAME:PATH), or a folder class/image or of images");
}

std::vector<std::size_t> pick_samples(std::size_t count, std::size_t limit) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (limit >= count) return all;
  std::mt19937_64 rng(1);
  for (std::size_t i = 0; i < limit; i++) std::swap(all[i], all[i + rng() % (count - i)]);
  all.resize(limit);
  std::ranges::sort(all);
  return all;
}

void check_classes(const Dataset& d, std::size_t scores) {
  if (d.scores == 0 && std::cmp_less_equal(d.classes, scores)) return;
  if (d.scores == scores) return;
  if (d.scores == 0)
    fail(Code::bad_argument, d.name, ": labels go up to ", d.classes - 1, ", the model has ",
         scores, " scores, so classes 0 to ", scores - 1);
  fail(Code::bad_argument, d.name, ": the names of its folders stand for ", d.scores,
       " classes, the model has ", scores,
       " scores: call the folders by the numbers of their classes, or give --labels FILE with a "
       "line for each score");
}

Shape sample_shape(const TensorType& input, std::string_view has) {
  Shape shape;
  for (const Dim& d : input.dims) shape.push(d.known() ? d.value : 1);
  if (input.dtype != DType::f32 || !input.ranked || input.rank() > max_rank ||
      checked_elements(shape) < 0)
    fail(Code::bad_argument, "the model takes ", print(input), ", the data set has ", has);
  return shape;
}

Shape fitting_shape(const TensorType& input, std::int64_t elements, std::string_view has) {
  const Shape shape = sample_shape(input, has);
  if (shape.elements() != elements)
    fail(Code::bad_argument, "the model takes ", print(input), ", the data set has ", has);
  return shape;
}

}  // namespace longshore
