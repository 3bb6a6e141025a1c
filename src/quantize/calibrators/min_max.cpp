#include "quantize/statistics.hpp"

namespace longshore::calibrators {

extern constinit const Calibrator calibrator_min_max = {
    .name = "min_max",
    .doc = "The whole observed range: nothing is clipped.",
    .choose = [](const Histogram& h, int) { return h.range; },
};

}  // namespace longshore::calibrators
