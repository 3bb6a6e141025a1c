#include "fuzz.hpp"
#include "read/image.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longshore;
  return fuzz::attempt([&] { decode_image(fuzz::bytes(data, size), "fuzz.png"); });
}
