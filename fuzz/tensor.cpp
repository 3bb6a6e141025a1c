#include "fuzz.hpp"
#include "read/read.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longshore;
  return fuzz::attempt([&] { read_tensor_proto(fuzz::bytes(data, size), "fuzz.pb"); });
}
