/* A code generator of one's own, as far as gsub sees of it: one function for each region; see 12_external_codegen.cpp. */
#include <gsub/runtime/extern_kernel.h>

#include <math.h>

/* With t = tanh(p + q): s = t * t and r = max(p - t, 0). Two operands and two results of one shape. */
int app_region(gsub_call const* call) {
    float const* p = (float const*)call->operands[0].data;
    float const* q = (float const*)call->operands[1].data;
    float* s = (float*)call->results[0].data;
    float* r = (float*)call->results[1].data;
    if (call->operand_count != 2 || call->result_count != 2)
        return gsub_fail(call->message, GSUB_UNSUPPORTED, "app_region has two operands and two results");
    for (int64_t i = 0; i < call->results[0].elements; ++i) {
        float const t = tanhf(p[i] + q[i]);
        s[i] = t * t;
        r[i] = p[i] > t ? p[i] - t : 0;
    }
    return GSUB_OK;
}
