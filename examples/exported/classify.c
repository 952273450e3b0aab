/* Classifies handwritten digits with a model that gsub has compiled; gsub itself is not there.
 *   classify weights.bin images.npy labels.npy [logits.npy]
 * Where logits are given, the model's outputs are compared with them. */
#include "digits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char* what, const char* why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* The elements of a .npy file of so many bytes. */
static void* load(const char* path, const char* kind, size_t bytes) {
    unsigned char head[10];
    char text[4096];
    size_t length;
    void* const data = malloc(bytes);
    FILE* const f = fopen(path, "rb");
    if (!f || !data) fail(path, "cannot be opened");
    if (fread(head, 1, 10, f) != 10 || memcmp(head, "\x93NUMPY\x01", 7) != 0) fail(path, "is no .npy file");
    length = head[8] + 256u * head[9];
    if (length >= sizeof text || fread(text, 1, length, f) != length) fail(path, "has no header");
    text[length] = 0;
    if (!strstr(text, kind) || fread(data, 1, bytes, f) != bytes || fgetc(f) != EOF)
        fail(path, "has another type or size");
    fclose(f);
    return data;
}

int main(int argc, char** argv) {
    digits_options options;
    digits_context* context;
    digits_status status;
    const digits_tensor* const in = digits_input(0);
    const digits_tensor* const out = digits_output(0);
    const size_t images = (size_t)out->dims[0], classes = (size_t)out->dims[1];
    size_t i, k, right = 0;
    float* const logits = malloc(out->bytes);
    const void* inputs[1];
    void* outputs[1];
    int64_t* labels;
    if (argc < 4) fail(argv[0], "classify weights.bin images.npy labels.npy [logits.npy]");
    if (!logits) fail("logits", "no memory");

    memset(&options, 0, sizeof options);
    options.weights_path = argv[1];
    options.threads = 2;
    status = digits_create(&options, &context);
    if (status != DIGITS_OK) fail(argv[1], digits_status_text(status));
    inputs[0] = load(argv[2], "<f4", in->bytes);
    outputs[0] = logits;
    status = digits_run(context, inputs, outputs);
    if (status != DIGITS_OK) fail("run", digits_status_text(status));
    digits_destroy(context);

    labels = load(argv[3], "<i8", images * sizeof *labels);
    for (i = 0; i < images; ++i) {
        size_t best = 0;
        for (k = 1; k < classes; ++k)
            if (logits[i * classes + k] > logits[i * classes + best]) best = k;
        right += (int64_t)best == labels[i];
    }
    printf("%lu of %lu digits are right\n", (unsigned long)right, (unsigned long)images);
    if (argc > 4) {
        float* const wanted = load(argv[4], "<f4", out->bytes);
        double largest = 0, difference = 0;
        for (i = 0; i < images * classes; ++i) {
            const double d = fabs((double)logits[i] - (double)wanted[i]), w = fabs((double)wanted[i]);
            if (!(d <= difference)) difference = d; /* a NaN stays */
            if (w > largest) largest = w;
        }
        printf("largest difference %g of %g\n", difference, largest);
        if (!(difference <= 1e-4 * largest)) fail(argv[4], "differs");
        free(wanted);
    }
    free((void*)inputs[0]);
    free(logits);
    free(labels);
    return right * 20 > images * 19 ? 0 : 1;
}
