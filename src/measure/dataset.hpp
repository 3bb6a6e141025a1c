#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.hpp"

namespace longshore {

/// Samples of one input, with labels or without. The functions may be called from several threads.
struct Dataset {
  std::string name;
  std::size_t count = 0;
  int classes = 0;  // above every label; 0 without labels
  /// Which class each name of a folder stands for; empty where classes have no names.
  std::map<std::string, int> named_classes;
  /// The scores that a model must have for these names to mean its classes; 0: at least `classes`.
  std::size_t scores = 0;
  /// Sample i as the model's input of this type wants it (unknown dims count as 1). Throws where
  /// the sample does not fit or cannot be read.
  std::function<Tensor(std::size_t, const TensorType& input)> input;
  std::function<int(std::size_t)> label;  // null: the samples have none
  /// What to call sample i in messages.
  std::function<std::string(std::size_t)> sample_name;
};

/// Where the samples are and how to read pictures.
struct DatasetRequest {
  std::string path;       // empty: the format's usual place
  bool training = false;  // the training half, where there is one: for calibration
  TensorType input;       // the model's, for formats that cannot tell a record's size themselves
  /// Line N names class N: what folders of a classes' pictures are called. Empty: nothing is known.
  std::vector<std::string> labels;
  /// Reads a picture or .npy file; given by the caller, who knows mean, layout and resizing.
  std::function<Tensor(const std::string& file, const TensorType& input)> read_file;
};

/// A kind of data set. One file in src/measure/datasets defines one.
struct DatasetFormat {
  std::string_view name, doc;
  /// True where a path without a name in front means this format.
  bool (*recognises)(const std::string& path) = nullptr;
  Dataset (*open)(const DatasetRequest&) = nullptr;
};

namespace datasets {
std::span<const DatasetFormat* const> all();  // generated, src/measure/datasets/*.cpp
}

/// "fashion-mnist", "cifar10:FILE", or a path that a format recognises. `request.path` is ignored.
/// Throws, naming the formats, where nothing fits.
Dataset open_dataset(std::string_view spec, DatasetRequest request);

/// At most `limit` of `count` samples, in order: always the same ones, chosen at random, so that
/// neither sorted nor interleaved classes are favoured.
std::vector<std::size_t> pick_samples(std::size_t count, std::size_t limit);

/// True where `spec` begins with the name of a format, so that it is no plain path.
bool names_dataset(std::string_view spec);

/// Throws where the labels of a data set cannot be those of a model with so many scores.
void check_classes(const Dataset&, std::size_t scores);

/// The dims of `input` with 1 for what is unknown; throws where it takes no floats, or of no known
/// rank, saying what the data set has.
Shape sample_shape(const TensorType& input, std::string_view has);

/// The same, if they hold exactly `elements`; throws otherwise.
Shape fitting_shape(const TensorType& input, std::int64_t elements, std::string_view has);

}  // namespace longshore
