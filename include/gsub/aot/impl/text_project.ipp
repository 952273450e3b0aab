// The example, the build and the description of an exported model. @name@ and the like are replaced; nothing in the
// text is of gsub.
#pragma once

namespace gsub::aot::detail {

inline constexpr char const* export_demo = R"text(/* Runs the model once or more; made by gsub compile. */
#define _POSIX_C_SOURCE 200809L
#include "@name@.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* NumPy's names of element types; it has no bf16. */
static const char* const kinds[] = {
    [@NAME@_F64] = "<f8", [@NAME@_F32] = "<f4", [@NAME@_F16] = "<f2", [@NAME@_BF16] = "",
    [@NAME@_I64] = "<i8", [@NAME@_I32] = "<i4", [@NAME@_I16] = "<i2", [@NAME@_I8] = "|i1", [@NAME@_U8] = "|u1",
    [@NAME@_U64] = "<u8", [@NAME@_U32] = "<u4", [@NAME@_U16] = "<u2", [@NAME@_BOOL] = "|b1"};

static int fail(const char* what, const char* why) {
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

/* Fills `to` from a .npy file of C order, or from a file of as many bytes as the input has. */
static int read_input(const char* path, const @name@_tensor* t, void* to) {
    char head[10], text[4096];
    size_t length = 0, taken;
    FILE* const f = fopen(path, "rb");
    if (!f) return fail(path, "cannot be opened");
    if (fread(head, 1, 10, f) == 10 && memcmp(head, "\x93NUMPY\x01", 7) == 0) {
        length = (unsigned char)head[8] + 256u * (unsigned char)head[9];
        if (length >= sizeof text || fread(text, 1, length, f) != length) length = 0;
        text[length] = 0;
        if (!length || strstr(text, "'fortran_order': True") || !*kinds[t->dtype] || !strstr(text, kinds[t->dtype])) {
            fclose(f);
            return fail(path, "not an array of this input's type in C order");
        }
    } else {
        rewind(f);
    }
    taken = fread(to, 1, t->bytes, f);
    length = taken == t->bytes && fgetc(f) == EOF;
    fclose(f);
    return length ? 0 : fail(path, "does not have the size of this input");
}

static int write_output(const char* prefix, size_t number, const @name@_tensor* t, const void* from) {
    char path[4096], text[1024];
    size_t used, i;
    FILE* f;
    int good;
    if (snprintf(path, sizeof path, "%s%lu.npy", prefix, (unsigned long)number) >= (int)sizeof path)
        return fail(prefix, "too long");
    /* bf16 goes out as 16-bit integers */
    used = (size_t)sprintf(text, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                           *kinds[t->dtype] ? kinds[t->dtype] : "<u2");
    for (i = 0; i < t->rank && used < 900; ++i) used += (size_t)sprintf(text + used, "%lld,", (long long)t->dims[i]);
    used += (size_t)sprintf(text + used, "), }");
    while ((10 + used + 1) % 64) text[used++] = ' ';
    text[used++] = '\n';
    f = fopen(path, "wb");
    if (!f) return fail(path, "cannot be opened");
    good = fwrite("\x93NUMPY\x01\x00", 1, 8, f) == 8;
    good &= fputc((int)(used % 256), f) != EOF;
    good &= fputc((int)(used / 256), f) != EOF;
    good &= fwrite(text, 1, used, f) == used;
    good &= fwrite(from, 1, t->bytes, f) == t->bytes;
    good &= fclose(f) == 0;
    return good ? 0 : fail(path, "cannot be written");
}

static void print(const @name@_tensor* t, const void* data) {
    size_t i, count = 1;
    for (i = 0; i < t->rank; ++i) count *= (size_t)t->dims[i];
    for (i = 0; t->name[i]; ++i) putchar((unsigned char)t->name[i] < 32 || t->name[i] == 127 ? '?' : t->name[i]);
    fputs(" [", stdout);
    for (i = 0; i < t->rank; ++i) printf(i ? ", %lld" : "%lld", (long long)t->dims[i]);
    putchar(']');
    for (i = 0; i < count && i < 10; ++i) switch (t->dtype) {
        case @NAME@_F64: printf(" %g", ((const double*)data)[i]); break;
        case @NAME@_F32: printf(" %g", ((const float*)data)[i]); break;
        case @NAME@_I64: printf(" %lld", (long long)((const int64_t*)data)[i]); break;
        case @NAME@_I32: printf(" %ld", (long)((const int32_t*)data)[i]); break;
        case @NAME@_U64: printf(" %llu", (unsigned long long)((const uint64_t*)data)[i]); break;
        case @NAME@_U32: printf(" %lu", (unsigned long)((const uint32_t*)data)[i]); break;
        case @NAME@_U16: printf(" %u", ((const uint16_t*)data)[i]); break;
        case @NAME@_I16: printf(" %d", ((const int16_t*)data)[i]); break;
        case @NAME@_I8: printf(" %d", ((const signed char*)data)[i]); break;
        case @NAME@_U8:
        case @NAME@_BOOL: printf(" %d", ((const unsigned char*)data)[i]); break;
        default: printf(" 0x%04x", ((const uint16_t*)data)[i]); break;
    }
    puts(count > 10 ? " ..." : "");
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

int main(int argc, char** argv) {
    const size_t in = @name@_input_count(), out = @name@_output_count();
    void** const inputs = calloc(in + 1, sizeof *inputs);
    void** const outputs = calloc(out + 1, sizeof *outputs);
    const char* prefix = NULL;
    @name@_options options;
    @name@_context* context = NULL;
    @name@_status status;
    double* times;
    long runs = 1, r;
    size_t i, given = 0;
    int k;
    memset(&options, 0, sizeof options);
    if (!inputs || !outputs) return fail("inputs", "not enough memory");
    for (i = 0; i < in; ++i)
        if (!(inputs[i] = calloc(1, @name@_input(i)->bytes + 1))) return fail("inputs", "not enough memory");
    for (i = 0; i < out; ++i)
        if (!(outputs[i] = calloc(1, @name@_output(i)->bytes + 1))) return fail("outputs", "not enough memory");
    for (k = 1; k < argc; ++k) {
        if (!strcmp(argv[k], "--threads") && k + 1 < argc)
            options.threads = (size_t)atol(argv[++k]);
        else if (!strcmp(argv[k], "--repeat") && k + 1 < argc)
            runs = atol(argv[++k]);
        else if (!strcmp(argv[k], "--save") && k + 1 < argc)
            prefix = argv[++k];
        else if (!options.weights_path)
            options.weights_path = argv[k];
        else if (given >= in)
            return fail(argv[k], "the model has no such input");
        else if (read_input(argv[k], @name@_input(given), inputs[given]))
            return 1;
        else
            ++given;
    }
    if (!options.weights_path || runs < 1) {
        fprintf(stderr, "usage: %s weights.bin [INPUT.npy ...] [--threads N] [--repeat N] [--save PREFIX]\n"
                        "Inputs that are not given are zeros; --save writes PREFIX<i>.npy.\n", argv[0]);
        return 2;
    }
    status = @name@_create(&options, &context);
    if (status != @NAME@_OK) return fail(options.weights_path, @name@_status_text(status));
    times = malloc((size_t)runs * sizeof *times);
    if (!times) return fail("times", "not enough memory");
    for (r = 0; r < runs; ++r) {
        const double begin = now();
        status = @name@_run(context, (const void* const*)inputs, outputs);
        times[r] = now() - begin;
        if (status != @NAME@_OK)
            return fail("run", *@name@_message(context) ? @name@_message(context) : @name@_status_text(status));
    }
    for (i = 0; i < out; ++i) {
        print(@name@_output(i), outputs[i]);
        if (prefix && write_output(prefix, i, @name@_output(i), outputs[i])) return 1;
    }
    qsort(times, (size_t)runs, sizeof *times, ascending);
    printf("%ld runs, least %.3f ms, median %.3f ms\n", runs, times[0], times[runs / 2]);
    @name@_destroy(context);
    for (i = 0; i < in; ++i) free(inputs[i]);
    for (i = 0; i < out; ++i) free(outputs[i]);
    free(inputs);
    free(outputs);
    free(times);
    return 0;
}
)text";

// The first line tells folders that were written before from others.
inline constexpr char const* export_mark = "# Made by gsub compile.";

inline constexpr char const* export_cmake = R"text(
# Library @name@; built alone, also the program @name@_demo.
cmake_minimum_required(VERSION 3.13)
project(@name@ LANGUAGES CXX)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  message(FATAL_ERROR "The kernels of @name@ are written with GNU vectors: GCC or Clang compile them")
endif()

set(@name@_kernels@kernels@)
add_library(@name@@kind@ @name@.cpp ${@name@_kernels})
target_compile_features(@name@ PRIVATE cxx_std_17)
target_include_directories(@name@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
# Kernels of different instruction sets stay apart.
set_target_properties(@name@ PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF INTERPROCEDURAL_OPTIMIZATION OFF)
set_source_files_properties(@name@.cpp PROPERTIES COMPILE_OPTIONS "-O2;-fexceptions")
@flags@@threads@@functions@
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  enable_language(C)
  add_executable(@name@_demo main.c)
  target_link_libraries(@name@_demo PRIVATE @name@)
endif()
)text";

// Where functions of the application come from.
inline constexpr char const* export_functions = R"text(
# Where their sources are not given, whoever links the library has them.
set(@name@_FUNCTIONS "" CACHE STRING "Sources of @functions@")
if(@name@_FUNCTIONS)
  enable_language(C)
  target_sources(@name@ PRIVATE ${@name@_FUNCTIONS})
endif()
)text";

inline constexpr char const* export_readme = R"text(@name@: a model as C++, made by gsub compile
@rule@
Alone:      cmake -S . -B build && cmake --build build && build/@name@_demo weights.bin
In CMake:   add_subdirectory(this-folder @name@), then target_link_libraries(program PRIVATE @name@)
Elsewhere:  compile all .cpp files, kernel-*.cpp with the options that CMakeLists.txt gives each of them.

@name@.h     the C API: create a context from weights.bin, run it, destroy it
@name@.cpp   the steps of the model, and what runs them
kernel-*.cpp what computes
weights.bin  numbers; checked when a context is created
main.c       an example: @name@_demo runs the model on .npy files

@signature@@functions@
A run takes @arena@ bytes of memory beside @weights@ bytes of weights, inputs and outputs.
It needs GCC or Clang with C++17, Linux, @processor@.
)text";

// Behind it, where there are variants.
inline constexpr char const* export_readme_of_variants = R"text(
Folders are variants of the model for instruction sets: @variants@.
A context is of the first that the processor has; weights.bin has the weights of all, @weights@ bytes. What is told above of
a run and of the processor is of the widest.
)text";

} // namespace gsub::aot::detail
