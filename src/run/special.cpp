#include <algorithm>

#include "base/guard.hpp"
#include "run/loaded.hpp"

namespace longshore {
namespace {

using Loaded = std::shared_ptr<const LoadedModel>;

auto find(const LoadedModel& model, std::span<const TensorView> inputs) {
  return std::ranges::find_if(
      model.specials, [&](const LoadedModel::Special& s) { return same_dims(s.dims, inputs); });
}

/// Whoever makes a program has its place in the list; without one at the end the place goes, and
/// those who wait try themselves.
class Maker {
 public:
  Maker(const LoadedModel& model, std::span<const TensorView> inputs)
      : model_(model), inputs_(inputs) {}
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  ~Maker() {
    {
      const std::lock_guard lock(model_.mutex);
      const auto place = find(model_, inputs_);
      if (!made_) {
        model_.specials.erase(place);
      } else {
        place->model = made_;
        std::rotate(place, place + 1, model_.specials.end());
        while (model_.specials.size() > most_specials && drop_oldest()) {
        }
      }
    }
    model_.made.notify_all();
  }

  Result<Loaded> make(std::span<const Shape> dims) {
    Result<Program> program = model_.options.specialise(dims);
    if (!program.ok()) return program.status();
    LoadOptions options = model_.options;
    options.specialise = nullptr;
    options.operators = model_.operators;
    Result<Loaded> loaded = load_model(std::move(*program), options, model_.packs);
    if (loaded.ok()) made_ = *loaded;
    return loaded;
  }

 private:
  /// One that nobody waits for.
  bool drop_oldest() {
    const auto oldest = std::ranges::find_if(
        model_.specials, [](const LoadedModel::Special& s) { return s.model != nullptr; });
    if (oldest == model_.specials.end()) return false;
    model_.specials.erase(oldest);
    return true;
  }

  const LoadedModel& model_;
  std::span<const TensorView> inputs_;
  Loaded made_;
};

}  // namespace

Result<Loaded> special_model(const LoadedModel& model, std::span<const TensorView> inputs) {
  std::vector<Shape> dims;
  for (const TensorView& in : inputs) dims.push_back(in.shape);
  {
    std::unique_lock lock(model.mutex);
    for (;;) {
      const auto place = find(model, inputs);
      if (place == model.specials.end()) break;
      if (place->model) {
        std::rotate(place, place + 1, model.specials.end());
        return model.specials.back().model;
      }
      model.made.wait(lock);
    }
    model.specials.push_back({dims, nullptr});
  }
  Result<Loaded> loaded = [&] {
    Maker maker(model, inputs);
    return guarded([&] { return maker.make(dims); });
  }();
  model.packs->drop_unused();  // those of a program that had to go
  return loaded;
}

}  // namespace longshore
