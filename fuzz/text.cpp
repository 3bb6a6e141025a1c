#include "fuzz.hpp"
#include "ir/graph.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longshore;
  return fuzz::attempt([&] {
    const Graph g = parse({reinterpret_cast<const char*>(data), size});
    check(parse(print(g)) == g, "a graph and its text differ");
  });
}
