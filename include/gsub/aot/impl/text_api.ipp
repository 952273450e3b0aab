// The C API of an exported model. @name@ and the like are replaced; nothing in the text is of gsub.
#pragma once

namespace gsub::aot::detail {

inline constexpr char const* export_header = R"text(/* C API of the model, made by gsub compile. See README.txt. */
#ifndef @NAME@_H_INCLUDED
#define @NAME@_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. */
typedef enum @name@_status {
    @NAME@_OK = 0,
    @NAME@_BAD_ARGUMENT = 1,    /* a null pointer, or outputs that overlap each other or an input */
    @NAME@_NO_WEIGHTS = 2,      /* the file of weights cannot be read */
    @NAME@_BAD_WEIGHTS = 3,     /* not this model's, cut off, damaged, or memory not aligned to 64 bytes */
    @NAME@_NO_INSTRUCTIONS = 4, /* the processor lacks instructions that the kernels use */
    @NAME@_NO_MEMORY = 5,
    @NAME@_NO_THREADS = 6,      /* threads cannot be started, or the library is built without them */
    @NAME@_BUSY = 7,            /* the context is in use by another thread */
    @NAME@_BAD_INPUT = 8,       /* an index among the inputs is out of range; outputs have no meaning then */
    @NAME@_FAILED = 9           /* a function of the application says so; outputs have no meaning then */
} @name@_status;

/* A sentence about a status; never null. */
const char* @name@_status_text(@name@_status status);

typedef enum @name@_dtype {
    @NAME@_F64, @NAME@_F32, @NAME@_F16, @NAME@_BF16, @NAME@_I64, @NAME@_I32, @NAME@_I16, @NAME@_I8, @NAME@_U8,
    @NAME@_U64, @NAME@_U32, @NAME@_U16, @NAME@_BOOL /* one byte, 0 or 1 */
} @name@_dtype;

/* An input or output: row-major, dims[rank - 1] varies fastest. */
typedef struct @name@_tensor {
    const char* name;
    @name@_dtype dtype;
    size_t rank;
    const int64_t* dims;
    size_t bytes;
} @name@_tensor;

size_t @name@_input_count(void);
size_t @name@_output_count(void);
const @name@_tensor* @name@_input(size_t i);  /* null beyond the last */
const @name@_tensor* @name@_output(size_t i); /* null beyond the last */

/* Threads of the caller's. parallel_for calls body(argument, i) once for each i < count, from at most `concurrency`
   threads at a time, and returns when all calls have returned. */
typedef struct @name@_executor {
    void (*parallel_for)(void* user, size_t count, void (*body)(void* argument, size_t i), void* argument);
    void* user;
    size_t concurrency;
} @name@_executor;

/* Weights and the memory of one run: one run at a time. Concurrent runs have a context each. */
typedef struct @name@_context @name@_context;

/* Where weights come from and what computes. Zeros for what is not wanted; the first way to weights that is set counts. */
typedef struct @name@_options {
    const @name@_context* weights_of; /* share those of another context; either may be destroyed first */
    const void* weights;              /* contents of weights.bin, aligned to 64 bytes, which outlive the context */
    size_t weights_size;              /* their size in bytes */
    const char* weights_path;         /* the file, which nobody changes while it is in use */
    const @name@_executor* executor;  /* copied; null: own threads */
    size_t threads;                   /* own ones, the caller's included; 0 and 1: the caller's alone */
} @name@_options;

/* Checks processor and weights and takes memory. On failure *context is null. */
@name@_status @name@_create(const @name@_options* options, @name@_context** context);

/* Computes. inputs[i] and outputs[i] have the bytes that @name@_input(i) and @name@_output(i) tell, and are aligned to
   the size of an element. No memory is taken. */
@name@_status @name@_run(@name@_context* context, const void* const* inputs, void* const* outputs);

/* What the function of the application said that the last run failed with; empty where none did. Until the next run. */
const char* @name@_message(const @name@_context* context);

/* Of null: nothing. Requires that no run is under way. */
void @name@_destroy(@name@_context* context);

/* Memory of a run, in bytes, beside weights, inputs and outputs. */
size_t @name@_memory(void);

#ifdef __cplusplus
}
#endif

#endif
)text";

} // namespace gsub::aot::detail
