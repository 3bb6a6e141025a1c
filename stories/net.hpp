#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace longshore::stories {

/// A quantised convolution net as text, for graphs that are too long to be written out. Weights are
/// all the same: time does not depend on them.
class Net {
 public:
  /// A value of the net: [1, c, h, w] codes.
  struct Value {
    std::string name;
    std::int64_t c = 0, h = 0, w = 0;
  };
  enum class Act : unsigned char { none, relu, silu };
  struct Conv {
    std::int64_t out = 0, kernel = 1, stride = 1;
    std::int64_t pad = -1;  // -1: half of the kernel
    Act act = Act::none;
  };

  Net(std::int64_t c, std::int64_t h, std::int64_t w);

  Value input() const { return input_; }
  Value conv(const Value&, const Conv&);
  Value add(const Value&, const Value&);
  Value concat(const std::vector<Value>&);
  /// The second half of the channels.
  Value second_half(const Value&);
  /// Of `kernel` x `kernel`; without a stride the size stays.
  Value max_pool(const Value&, std::int64_t kernel, std::int64_t stride = 1);
  /// Twice the size, nearest.
  Value twice(const Value&);
  /// A matrix product by constant weights of all that there is.
  Value dense(const Value&, std::int64_t out, Act);

  /// Outputs are written pixel after pixel, as the NPU makes them, or as planes.
  std::string text(const std::vector<Value>& outputs, bool planes = false) const;
  std::int64_t macs() const { return macs_; }

 private:
  Value value(std::int64_t c, std::int64_t h, std::int64_t w, const std::string& expression);

  Value input_;
  std::string statements_;
  int count_ = 0;
  std::int64_t macs_ = 0;
};

/// YOLOv5s (7.0.0's layers) on `size` x `size` pixels, its three raw outputs.
Net yolov5s(std::int64_t size, Net::Act, std::vector<Net::Value>& outputs);
/// YOLOv8s on `size` x `size` pixels, its six raw outputs.
Net yolov8s(std::int64_t size, Net::Act, std::vector<Net::Value>& outputs);
/// VGG16 on 224 x 224 pixels.
Net vgg16(std::vector<Net::Value>& outputs);

}  // namespace longshore::stories
