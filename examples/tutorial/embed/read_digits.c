/* Tutorial, step 8: a program in C with the exported reader; it knows nothing of gsub.
 *   read_digits reader/weights.bin images.npy */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    reader_tensor const *const in = reader_input(0), *const out = reader_output(0);
    float* const scans = malloc(in->bytes);
    float* const scores = malloc(out->bytes);
    void const* const inputs[] = {scans};
    void* const outputs[] = {scores};
    reader_options options = {0};
    reader_context* context;
    reader_status status;
    size_t i, k;

    /* The pixels stand at the end of the file, from 0 to 1; the scanner gives 0 to 16. */
    FILE* const file = argc > 2 ? fopen(argv[2], "rb") : NULL;
    if (!file || !scans || !scores || fseek(file, -(long)in->bytes, SEEK_END) || fread(scans, in->bytes, 1, file) != 1)
        return fprintf(stderr, "usage: read_digits weights.bin images.npy\n"), 2;
    fclose(file);
    for (i = 0; i < in->bytes / sizeof *scans; ++i) scans[i] *= 16;

    options.weights_path = argv[1];
    status = reader_create(&options, &context);
    if (status == READER_OK) status = reader_run(context, inputs, outputs);
    if (status != READER_OK) return fprintf(stderr, "reader: %s\n", reader_status_text(status)), 1;
    reader_destroy(context);

    for (i = 0; i < (size_t)out->dims[0]; ++i) {
        float const* const row = scores + 10 * i;
        size_t best = 0;
        for (k = 1; k < 10; ++k)
            if (row[k] > row[best]) best = k;
        putchar(row[best] > 0 ? '0' + (int)best : '?');
        if (i % 60 == 59) putchar('\n');
    }
    free(scans);
    free(scores);
    return 0;
}
