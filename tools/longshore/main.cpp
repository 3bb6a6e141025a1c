#include <cstdlib>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "command.hpp"
#include "compile/near_names.hpp"
#include "cpu/bind.hpp"
#include "progress.hpp"
#include "say.hpp"

namespace {

/// One line, whatever the message holds.
int complain(int code, std::string text) {
  longshore::Progress::clear();
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  std::cerr << "longshore: " << text << std::endl;
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
  } catch (const longshore::Error& e) {
    return complain(e.code() == longshore::Code::internal ? our_bug : bad_input, e.what());
  } catch (const std::bad_alloc&) {
    return complain(bad_input, "out of memory");
  } catch (const std::exception& e) {
    return complain(our_bug, std::string("this is a bug: ") + e.what());
  }
}
