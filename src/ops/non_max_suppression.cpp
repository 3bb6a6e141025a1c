#include "ops/movement.hpp"

namespace longshore::ops::op_non_max_suppression {
namespace {

void infer(InferContext& c) { c.output(0, {DType::i64, Dims{Dim(), Dim(3)}}); }

struct Box {
  float x1, y1, x2, y2;
};
/// Corners in order; center_point_box gives centre and size.
Box box_at(const float* b, bool centre) {
  if (centre) return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  return {std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2])};
}
/// Intersection over union above the threshold.
bool overlaps(const Box& a, const Box& b, float threshold) {
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1),
              h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (!(w > 0) || !(h > 0)) return false;
  const float area_a = (a.x2 - a.x1) * (a.y2 - a.y1), area_b = (b.x2 - b.x1) * (b.y2 - b.y1),
              both = w * h;
  if (!(area_a > 0) || !(area_b > 0)) return false;
  return both / (area_a + area_b - both) > threshold;
}

/// The order of boxes and the boxes kept of one class.
std::size_t scratch(const ScratchContext& c) noexcept {
  const Shape& boxes = c.inputs[0].shape;
  return boxes.rank == 3 ? static_cast<std::size_t>(boxes[1]) * 2 * sizeof(std::int64_t) : 0;
}

Status eval(EvalContext& c) noexcept {
  const TensorView &boxes = c.input(0), &scores = c.input(1);
  if (boxes.shape.rank != 3 || scores.shape.rank != 3 || boxes.shape[2] != 4 ||
      boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2])
    return Status::error(Code::bad_argument,
                         "boxes must be [batch, n, 4] and scores [batch, classes, n]");
  for (std::size_t i = 2; i < 5; i++)
    if (c.has(i) && c.input(i).elements() != 1)
      return Status::error(Code::bad_argument, "input %zu must be one number", i);
  const std::int64_t n = boxes.shape[1], classes = scores.shape[1];
  const std::int64_t limit =
      c.has(2) ? std::max<std::int64_t>(0, int_at(c.input(2), 0)) : 0;  // absent: none at all
  const float threshold = c.has(3) ? c.input(3).as<float>()[0] : 0.0f;
  const bool filter = c.has(4), centre = c.attributes.integer("center_point_box", 0) != 0;
  const float least = filter ? c.input(4).as<float>()[0] : 0.0f;
  if (c.scratch.size() < static_cast<std::size_t>(n) * 2 * sizeof(std::int64_t))
    return Status::error(Code::internal, "too little scratch memory");
  auto* order = reinterpret_cast<std::int64_t*>(c.scratch.data());
  std::int64_t* kept = order + n;
  std::int64_t rows = 0;
  MutableView y;
  LONGSHORE_TRY(c.output(0, {0, 3}, y));
  for (std::int64_t b = 0; b < boxes.shape[0]; b++)
    for (std::int64_t k = 0; k < classes; k++) {
      const float* score = scores.as<float>() + (b * classes + k) * n;
      const float* box = boxes.as<float>() + b * n * 4;
      std::int64_t candidates = 0, count = 0;
      for (std::int64_t i = 0; i < n; i++)
        if (score[i] == score[i] && (!filter || score[i] > least)) order[candidates++] = i;
      std::sort(order, order + candidates, [&](std::int64_t p, std::int64_t q) {
        return score[p] != score[q] ? score[p] > score[q] : p < q;
      });
      for (std::int64_t i = 0; i < candidates && count < limit; i++) {
        const Box candidate = box_at(box + order[i] * 4, centre);
        bool free = true;
        for (std::int64_t j = 0; j < count && free; j++)
          free = !overlaps(candidate, box_at(box + kept[j] * 4, centre), threshold);
        if (free) kept[count++] = order[i];
      }
      LONGSHORE_TRY(c.output(0, {rows + count, 3}, y));
      for (std::int64_t i = 0; i < count; i++, rows++) {
        std::int64_t* row = y.as<std::int64_t>() + rows * 3;
        row[0] = b, row[1] = k, row[2] = kept[i];
      }
    }
  return {};
}

}  // namespace

extern constinit const OpDef definition = {
    .name = "NonMaxSuppression",
    .doc =
        "Boxes of each class by falling score, without those that overlap a better one; at most "
        "the number given, which is 0 by default.",
    .since = 11,
    .schema = {.inputs = {{"boxes", types(DType::f32)},
                          {"scores", types(DType::f32)},
                          {"max_output_boxes_per_class", type_set::int64, {}, Presence::optional},
                          {"iou_threshold", types(DType::f32), {}, Presence::optional},
                          {"score_threshold", types(DType::f32), {}, Presence::optional}},
               .outputs = {{"selected_indices", type_set::int64}},
               .attributes = {{"center_point_box"}}},
    .infer = infer,
    .scratch = scratch,
    .eval = eval,
    .examples = {"(b: f32[1,5,4], s: f32[1,2,5]) { y = NonMaxSuppression(b, s, i64[]{2}, "
                 "f32[]{0.5}, f32[]{0.1}) return y }",
                 "(b: f32[1,5,4], s: f32[1,2,5]) { y = NonMaxSuppression(b, s) return y }"},
};

}  // namespace longshore::ops::op_non_max_suppression
