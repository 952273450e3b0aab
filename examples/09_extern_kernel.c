/* Kernels of an application, in C. gsub calls them; see 09_extern_kernel.cpp. */
#include <gsub/runtime/extern_kernel.h>

/* y = x where x > 0, else slope * x, with the slope of the node's attribute. */
int app_leaky(const gsub_call* call) {
    const gsub_attribute* slope = gsub_find_attribute(call->attributes, call->attribute_count, "slope");
    const float* x = (const float*)call->operands[0].data;
    float* y = (float*)call->results[0].data;
    const float s = slope ? (float)slope->reals[0] : 0.01f;
    for (int64_t i = 0; i < call->results[0].elements; ++i) y[i] = x[i] > 0 ? x[i] : s * x[i];
    return GSUB_OK;
}

/* The shape of app_top: a vector of as many numbers as the attribute k says. */
int app_top_shape(const gsub_shape_call* call) {
    const gsub_attribute* k = gsub_find_attribute(call->attributes, call->attribute_count, "k");
    if (!k || k->kind != GSUB_INTEGERS || k->count != 1)
        return gsub_fail(call->message, GSUB_INVALID_INPUT, "Top needs an integer k");
    call->results[0].dtype = call->operands[0].dtype;
    call->results[0].rank = 1;
    call->results[0].dims[0] = k->integers[0];
    return GSUB_OK;
}

/* The largest numbers of x, the largest first. */
int app_top(const gsub_call* call) {
    const gsub_array x = call->operands[0], y = call->results[0];
    const float* from = (const float*)x.data;
    float* to = (float*)y.data;
    if (y.elements > x.elements) return gsub_fail(call->message, GSUB_INVALID_INPUT, "there are not so many numbers");
    for (int64_t i = 0; i < x.elements; ++i) {
        int64_t at = i < y.elements ? i : y.elements;
        for (; at > 0 && to[at - 1] < from[i]; --at)
            if (at < y.elements) to[at] = to[at - 1];
        if (at < y.elements) to[at] = from[i];
    }
    return GSUB_OK;
}
