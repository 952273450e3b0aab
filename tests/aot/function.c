/* A function of an application that an exported model calls: slope * x + shift, its attributes, with y of the second
   operand's where it is given. Fails where the first number of x is negative. */
#include <gsub/runtime/extern_kernel.h>

int app_scaled(gsub_call const* call) {
    gsub_attribute const* slope = gsub_find_attribute(call->attributes, call->attribute_count, "slope");
    gsub_attribute const* shifts = gsub_find_attribute(call->attributes, call->attribute_count, "shifts");
    gsub_attribute const* text = gsub_find_attribute(call->attributes, call->attribute_count, "text");
    const gsub_array x = call->operands[0];
    float const* from = (float const*)x.data;
    int64_t i;
    if (call->operand_count != 2 || call->operands[1].dtype != GSUB_UNDEFINED || call->result_count != 2)
        return gsub_fail(call->message, GSUB_UNSUPPORTED, "one operand, one left out, and two results");
    if (!slope || !shifts || shifts->count != 2 || !text || text->texts[0].size != 7 || text->texts[0].data[3] != '"')
        return gsub_fail(call->message, GSUB_UNSUPPORTED, "the attributes are others");
    if (x.rank != 2 || x.dims[0] != 3 || x.dims[1] != 4 || x.elements != 12 || x.dtype != GSUB_F32)
        return gsub_fail(call->message, GSUB_UNSUPPORTED, "the operand is another");
    if (from[0] < 0) return gsub_fail(call->message, GSUB_INVALID_INPUT, "the first number is negative");
    for (i = 0; i < x.elements; ++i) {
        ((float*)call->results[0].data)[i] = (float)slope->reals[0] * from[i] + (float)shifts->integers[0];
        ((float*)call->results[1].data)[i] = (float)shifts->integers[1] - from[i];
    }
    return GSUB_OK;
}
