// What commands that take a model have in common. A command does
//
//     struct Options { ModelOptions model; InputOptions inputs; ... };
//     add_model_options(app, o->model);                  // MODEL, --dim, --shape, --input-value
//     add_input_options(app, o->inputs);                 // --input, --mean, --std, --layout, ...
//     ...
//     const ReadResult model = load_model(o->model, o->inputs);   // read, specialised, warnings
//     shown const std::vector<Tensor> in = make_inputs(model, o->inputs);
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "command_line.hpp"

#include "compile/source.hpp"
#include "read/image.hpp"
#include "say.hpp"

namespace longshore {

struct ModelOptions {
  std::string path;
  std::vector<std::string> dims;          // NAME=N
  std::vector<std::string> shapes;        // NAME=N,N,...
  std::vector<std::string> input_values;  // NAME=V
};

struct PictureOptions : ImageOptions {
  bool given = false;  // some of them were on the command line
  const ImageOptions& image() const { return *this; }
};

struct InputOptions {
  std::vector<std::string> inputs;  // [NAME=]FILE
  PictureOptions image;
  std::uint64_t seed = 1;  // of random data
};

/// MODEL, --dim NAME=N, --shape NAME=N,N,... and --input-value NAME=V.
void add_model_options(CommandLine&, ModelOptions&);
/// --mean, --std, --layout, --rgb, --bgr, --resize, --crop-fraction: how pictures become inputs.
void add_image_options(CommandLine&, PictureOptions&);
/// --input [NAME=]FILE, --seed, and the image options.
void add_input_options(CommandLine&, InputOptions&);

/// How pictures are read: as the options say, else as the bundle does, which is told on stderr.
ImageOptions pictures_for(const ReadResult&, const PictureOptions&);
/// Warns of numbers that are meant for pixels from 0 to 1.
void warn_of_small_means(const PictureOptions&);

/// What compile::read takes. A value is a number, numbers with commas between, or a .npy or .pb
/// file; it takes the type of the input and its dims, where these hold as many elements. An input
/// that has a default stays one where `inputs` gives it a file.
compile::Source source_of(const ModelOptions&, const InputOptions& inputs = {});

/// Reads the model and specialises it. Shows warnings on stderr.
ReadResult load_model(const ModelOptions&, const InputOptions& inputs = {});

/// The files of --input, by name or, without names, in the order of the inputs. Without any file:
/// seeded random data (said on stderr); with too few, an error that lists what is missing.
std::vector<Tensor> make_inputs(const ReadResult&, const InputOptions&);

/// "NAME=REST" split at the first '=' where NAME is one of `names`; otherwise an empty name.
std::pair<std::string, std::string> split_name(const std::string& text,
                                               const std::vector<std::string>& names);

}  // namespace longshore
