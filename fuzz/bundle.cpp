// Hashes would stop a fuzzer at once, so the sections are decoded without them: the first byte
// chooses which.
#include "fuzz.hpp"
#include "ir/codec.hpp"
#include "program/bundle.hpp"
#include "program/codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longshore;
  if (size == 0) return 0;
  const auto rest = fuzz::bytes(data + 1, size - 1);
  return fuzz::attempt([&] {
    const SharedBlob constants = make_blob(std::vector<std::byte>(4096));
    if (data[0] % 3 == 0)
      (void)Bundle::open(copy_blob(rest.data(), rest.size()));
    else if (data[0] % 3 == 1)
      (void)decode_program(rest, constants);
    else
      decode_graph(rest, constants);
  });
}
