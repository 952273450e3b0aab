/* The C side of user kernels: what a function gets that computes an operator for gsub. C99 and C++; nothing else of
   gsub is needed to write one. Who registers it: gsub/runtime/extern_kernel.hpp. */
#ifndef GSUB_RUNTIME_EXTERN_KERNEL_H
#define GSUB_RUNTIME_EXTERN_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. 16-bit formats are stored as uint16_t; GSUB_BOOL is one byte, 0 or 1. */
typedef enum gsub_dtype {
    GSUB_UNDEFINED = 0,
    GSUB_F64 = 1,
    GSUB_F32 = 2,
    GSUB_F16 = 3,
    GSUB_BF16 = 4,
    GSUB_I64 = 5,
    GSUB_I32 = 6,
    GSUB_I16 = 7,
    GSUB_I8 = 8,
    GSUB_U8 = 9,
    GSUB_BOOL = 10,
    GSUB_U64 = 12,
    GSUB_U32 = 13,
    GSUB_U16 = 14
} gsub_dtype;

/* What functions return; a status that is not listed counts as GSUB_ENVIRONMENT and is told by its number. */
typedef enum gsub_status {
    GSUB_OK = 0,
    GSUB_UNSUPPORTED = 3,   /* valid, but not something that the function computes */
    GSUB_INVALID_INPUT = 4, /* values that make no sense */
    GSUB_ENVIRONMENT = 5    /* a device or the operating system refuses */
} gsub_status;

/* Bytes of a message, the last zero included. */
#define GSUB_MESSAGE_SIZE 512
/* Most dimensions that a shape function gives a result. */
#define GSUB_MAX_RANK 16

/* An operand or result: row-major, dims[rank - 1] varies fastest. An operand that is left out has no data and
   the type GSUB_UNDEFINED. */
typedef struct gsub_array {
    void* data; /* of an operand: to read only */
    int64_t const* dims;
    int32_t rank;
    int32_t dtype;    /* a gsub_dtype */
    int64_t elements; /* product of dims */
} gsub_array;

/* A text, with a zero behind it. It may hold further zeros. */
typedef struct gsub_text {
    char const* data;
    size_t size;
} gsub_text;

typedef enum gsub_attribute_kind {
    GSUB_INTEGERS,
    GSUB_REALS,
    GSUB_TEXTS,
    GSUB_SERIALIZED /* a kind with no form of its own here: one text, the AttributeProto as in the file */
} gsub_attribute_kind;

/* An attribute of the node. A single value is a list of one. */
typedef struct gsub_attribute {
    char const* name;
    int32_t kind; /* a gsub_attribute_kind, which says what list there is; the others are null */
    size_t count;
    int64_t const* integers;
    double const* reals;
    gsub_text const* texts;
} gsub_attribute;

/* One call. All of it ends with the call, but what `user` points to. */
typedef struct gsub_call {
    gsub_array const* operands;
    size_t operand_count;
    gsub_array const* results; /* to be written, every element */
    size_t result_count;
    gsub_attribute const* attributes;
    size_t attribute_count;
    void const* typed; /* C++: the attribute struct of an operator that the graph's op set has, else null */
    void* user;        /* as registered */
    char* message;     /* GSUB_MESSAGE_SIZE bytes, empty: why the function fails */
    /* Calls body(argument, i) once for each i < count on the threads of the run, and returns when all have returned. */
    void (*parallel_for)(const struct gsub_call* call, size_t count, void (*body)(void* argument, size_t i),
                         void* argument);
    size_t concurrency; /* bodies that can run at the same time, at least 1 */
    void* threads;      /* for parallel_for */
} gsub_call;

/* Computes the results. May be called from several threads at a time. Gives a gsub_status. */
typedef int (*gsub_kernel)(gsub_call const* call);

/* Type of a result. */
typedef struct gsub_result_type {
    int32_t dtype;
    int32_t rank; /* -1: unknown */
    int64_t dims[GSUB_MAX_RANK];
} gsub_result_type;

/* The question for the types of the results, once, before anything runs. */
typedef struct gsub_shape_call {
    gsub_array const* operands; /* data: of constants, else null */
    size_t operand_count;
    gsub_result_type* results; /* as far as the graph knows them, -1 for an unknown size; to be completed */
    size_t result_count;
    gsub_attribute const* attributes;
    size_t attribute_count;
    void const* typed;
    void* user;
    char* message;
} gsub_shape_call;

/* Gives a gsub_status. */
typedef int (*gsub_shape_function)(gsub_shape_call const* call);

/* The attribute with a name, or null: gsub_find_attribute(call->attributes, call->attribute_count, "alpha") */
static inline gsub_attribute const* gsub_find_attribute(gsub_attribute const* attributes, size_t count,
                                                        char const* name) {
    for (size_t i = 0; i < count; ++i) {
        size_t k = 0;
        while (name[k] != 0 && attributes[i].name[k] == name[k]) ++k;
        if (name[k] == attributes[i].name[k]) return attributes + i;
    }
    return NULL;
}

/* return gsub_fail(call->message, GSUB_INVALID_INPUT, "the boxes are empty"); */
static inline int gsub_fail(char* message, gsub_status status, char const* text) {
    size_t i = 0;
    for (; i + 1 < GSUB_MESSAGE_SIZE && text[i] != 0; ++i) message[i] = text[i];
    message[i] = 0;
    return (int)status;
}

#ifdef __cplusplus
}
#endif

#endif
