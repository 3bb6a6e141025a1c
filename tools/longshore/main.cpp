#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "compile/near_names.hpp"
#include "cpu/bind.hpp"
#include "ending.hpp"
#include "progress.hpp"
#include "say.hpp"

namespace {

int complain(int code, std::string text) {
  longshore::Progress::clear();
  std::cerr << longshore::complaint(std::move(text)) << std::endl;
  return code;
}

/// LONGSHORE_CPU names instructions that this program does not know or this machine has not; the
/// library would take others in silence.
std::string wrong_environment() {
  using namespace longshore;
  const char* wanted = std::getenv("LONGSHORE_CPU");
  if (!wanted || !*wanted) return {};
  std::vector<std::string> names;
  for (const cpu::Isa isa :
       {cpu::Isa::generic, cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::avx512vnni}) {
    names.emplace_back(cpu::name(isa));
    if (names.back() != wanted) continue;
    if (cpu::has_isa(isa)) return {};
    warn("LONGSHORE_CPU=" + names.back() + ": this machine has no such instructions; " +
         cpu::name(cpu::best_isa()) + " is used");
    return {};
  }
  std::string all;
  for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
  return "LONGSHORE_CPU=" + std::string(wanted) + ": there is no such instruction set; there are " +
         all + compile::near_names(wanted, names);
}

}  // namespace

// Before a command runs nothing can fail but for want of memory.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  using namespace longshore::exit_code;
  if (const std::string wrong = wrong_environment(); !wrong.empty())
    return complain(bad_input, wrong);
  const longshore::Request request = longshore::read_arguments(argc, argv);
  if (!request.run)
    return request.complaint.empty() ? request.code : complain(request.code, request.complaint);
  try {
    const int code = request.run();
    std::cout.flush();
    return std::cout ? code : complain(bad_input, "cannot write to the standard output");
  } catch (const std::exception& e) {
    longshore::Ending ending = longshore::ending_of(e);
    return complain(ending.code, std::move(ending.text));
  }
}
