#include "fuzz.hpp"
#include "read/read.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longshore;
  return fuzz::attempt([&] { read_npy(copy_blob(data, size), "fuzz.npy"); });
}
