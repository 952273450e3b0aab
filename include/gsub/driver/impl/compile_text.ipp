// Texts of the files that `write_standalone` writes. `@name@` and the like are replaced; nothing in them is of gsub.
#pragma once

namespace gsub::detail {

inline constexpr char const* standalone_header = R"text(/* C API of the model, made by gsub compile. See README.txt. */
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
    @NAME@_BUSY = 7             /* the context is in use by another thread */
} @name@_status;

/* A sentence about a status; never null. */
const char* @name@_status_text(@name@_status status);

typedef enum @name@_dtype {
    @NAME@_F64, @NAME@_F32, @NAME@_F16, @NAME@_BF16, @NAME@_I64, @NAME@_I32, @NAME@_I16, @NAME@_I8, @NAME@_U8,
    @NAME@_BOOL /* one byte, 0 or 1 */
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

/* Of null: nothing. Requires that no run is under way. */
void @name@_destroy(@name@_context* context);

/* Memory of a run, in bytes, beside weights, inputs and outputs. */
size_t @name@_memory(void);

#ifdef __cplusplus
}
#endif

#endif
)text";

// Before: macros GSUB_THREADS and GSUB_PROCESSOR_FITS, kernels, tables. The namespace is open.
inline constexpr char const* standalone_runner = R"text(
// ---- weights

struct weights {
    unsigned char const* data = nullptr; // behind the header
    void* mapped = nullptr;
    std::size_t size = 0;
    weights() = default;
    weights(weights const&) = delete;
    weights& operator=(weights const&) = delete;
    ~weights() {
        if (mapped) munmap(mapped, size);
    }
};

// Each step is a bijection of a lane: a change of one word is always found.
std::uint64_t digest(unsigned char const* data, std::size_t size) {
    std::uint64_t lane[8];
    for (std::uint64_t i = 0; i < 8; ++i) lane[i] = 0xcbf29ce484222325u + i;
    for (std::size_t at = 0; at + 64 <= size; at += 64)
        for (std::size_t i = 0; i < 8; ++i) {
            std::uint64_t word;
            std::memcpy(&word, data + at + 8 * i, sizeof word);
            word ^= lane[i];
            lane[i] = (word << 29 | word >> 35) * 0x9e3779b97f4a7c15u;
        }
    std::uint64_t all = size;
    for (auto l : lane) all = ((all ^ l) << 29 | (all ^ l) >> 35) * 0x9e3779b97f4a7c15u;
    return all;
}

@name@_status check(weights& w, unsigned char const* bytes, std::size_t size) {
    std::uint64_t head[8];
    if (size != weights_size || reinterpret_cast<std::uintptr_t>(bytes) % 64 != 0) return @NAME@_BAD_WEIGHTS;
    std::memcpy(head, bytes, sizeof head);
    std::uint64_t const wanted[8] = {weights_magic, weights_version, weights_size, weights_model, head[4], 0, 0, 0};
    if (std::memcmp(head, wanted, sizeof head) != 0) return @NAME@_BAD_WEIGHTS;
    w.data = bytes + sizeof head;
    return digest(w.data, size - sizeof head) == head[4] ? @NAME@_OK : @NAME@_BAD_WEIGHTS;
}

@name@_status open_weights(weights& w, char const* path) {
    int const file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return @NAME@_NO_WEIGHTS;
    struct stat about;
    auto status = @NAME@_NO_WEIGHTS;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
        w.size = static_cast<std::size_t>(about.st_size);
        status = @NAME@_BAD_WEIGHTS;
        if (w.size == weights_size) {
            w.mapped = mmap(nullptr, w.size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
            if (w.mapped == MAP_FAILED) w.mapped = nullptr;
            status = w.mapped ? check(w, static_cast<unsigned char const*>(w.mapped), w.size) : @NAME@_NO_MEMORY;
        }
    }
    close(file);
    return status;
}

// ---- threads

void serial(void*, std::size_t count, void (*body)(void*, std::size_t), void* argument) {
    for (std::size_t i = 0; i < count; ++i) body(argument, i);
}

#if GSUB_THREADS
inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Runs one job at a time. A ticket is the number of the job and how many of its pieces are left.
class pool {
public:
    explicit pool(std::size_t helpers) {
        try {
            for (std::size_t i = 0; i < helpers; ++i) threads_.emplace_back([this] { help(); });
        } catch (...) {
            stop();
            throw;
        }
    }
    pool(pool const&) = delete;
    pool& operator=(pool const&) = delete;
    ~pool() { stop(); }

    static void parallel_for(void* self, std::size_t count, void (*body)(void*, std::size_t), void* argument) {
        static_cast<pool*>(self)->run(count, body, argument);
    }

private:
    void run(std::size_t count, void (*body)(void*, std::size_t), void* argument) {
        body_.store(body, std::memory_order_relaxed);
        argument_.store(argument, std::memory_order_relaxed);
        done_.store(0, std::memory_order_relaxed);
        auto const job = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
        ticket_.store(job << 32 | count);
        if (sleeping_.load() > 0) {
            std::lock_guard<std::mutex> const lock{mutex_};
            wake_.notify_all();
        }
        work();
        for (unsigned i = 0; done_.load(std::memory_order_acquire) != count; ++i)
            if (i < 4000)
                relax();
            else
                std::this_thread::yield();
    }

    void work() {
        for (;;) {
            auto ticket = ticket_.load(std::memory_order_acquire);
            auto const left = ticket & 0xffffffffu;
            if (left == 0) return;
            // Read before the piece is claimed: while one is left, the job cannot change.
            auto* const body = body_.load(std::memory_order_relaxed);
            auto* const argument = argument_.load(std::memory_order_relaxed);
            if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
            body(argument, left - 1);
            done_.fetch_add(1, std::memory_order_release);
        }
    }

    void help() {
        std::uint64_t seen = 0;
        auto const news = [&] { return ticket_.load() >> 32 != seen || stopped_.load(); };
        for (;;) {
            for (unsigned i = 0; i < 4000 && !news(); ++i) relax();
            if (!news()) {
                std::unique_lock<std::mutex> lock{mutex_};
                sleeping_.fetch_add(1);
                wake_.wait(lock, news);
                sleeping_.fetch_sub(1);
            }
            if (stopped_.load()) return;
            seen = ticket_.load() >> 32;
            work();
        }
    }

    void stop() {
        {
            std::lock_guard<std::mutex> const lock{mutex_};
            stopped_.store(true);
            wake_.notify_all();
        }
        for (auto& t : threads_) t.join();
    }

    std::atomic<std::uint64_t> ticket_{0};
    std::atomic<void (*)(void*, std::size_t)> body_{nullptr};
    std::atomic<void*> argument_{nullptr};
    std::atomic<std::size_t> done_{0};
    std::atomic<int> sleeping_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<std::thread> threads_;
};
#endif

// Memory for all that a context needs, in huge pages where the system likes to.
struct block {
    unsigned char* data = nullptr;
    block() = default;
    block(block const&) = delete;
    block& operator=(block const&) = delete;
    ~block() { std::free(data); }
    bool take(std::size_t size) {
        std::size_t const unit = size >= std::size_t{2} << 20 ? std::size_t{2} << 20 : 64;
        size = (size + unit - 1) / unit * unit;
        if (size == 0) return true;
        data = static_cast<unsigned char*>(std::aligned_alloc(unit, size));
        if (data && unit > 64) madvise(data, size, MADV_HUGEPAGE);
        return data != nullptr;
    }
};

bool overlap(void const* a, std::size_t a_size, void const* b, std::size_t b_size) {
    auto const x = reinterpret_cast<std::uintptr_t>(a), y = reinterpret_cast<std::uintptr_t>(b);
    return a_size > 0 && b_size > 0 && x < y + b_size && y < x + a_size;
}

} // namespace

struct @name@_context {
    std::shared_ptr<weights const> constants;
    block arena, scratch;
    std::vector<void*> addresses;
    @name@_executor threads{serial, nullptr, 1};
#if GSUB_THREADS
    std::unique_ptr<pool> own;
#endif
    std::vector<std::atomic<bool>> taken; // the threads' shares of `scratch`
    std::atomic<bool> busy{false};
};

namespace {

struct work_of_step {
    @name@_context* of;
    step const* what;
    std::int64_t pieces;
};

void run_range(@name@_context& c, step const& s, std::int64_t begin, std::int64_t end) {
    void* const* const at = c.addresses.data() + s.first_slot;
    if (!s.scratch) {
        s.kernel(at, begin, end);
        return;
    }
    std::size_t share = 0;
    while (c.taken[share].exchange(true, std::memory_order_acquire))
        if (++share == c.taken.size()) {
            share = 0;
            sched_yield(); // the executor runs more pieces at a time than it said
        }
    void* own[most_slots];
    std::memcpy(own, at, s.slots * sizeof *own);
    own[s.slots] = c.scratch.data + share * scratch_bytes;
    s.kernel(own, begin, end);
    c.taken[share].store(false, std::memory_order_release);
}

void run_piece(void* argument, std::size_t i) {
    auto const& w = *static_cast<work_of_step const*>(argument);
    auto const piece = static_cast<std::int64_t>(i), positions = w.what->positions;
    run_range(*w.of, *w.what, positions * piece / w.pieces, positions * (piece + 1) / w.pieces);
}

void run_step(@name@_context& c, step const& s) {
    auto const workers = static_cast<std::int64_t>(c.threads.concurrency);
    if (workers == 1 || s.positions == 1 || !s.parallel) {
        run_range(c, s, 0, s.positions);
        return;
    }
    work_of_step w{&c, &s, s.positions < 8 * workers ? s.positions : 8 * workers};
    c.threads.parallel_for(c.threads.user, static_cast<std::size_t>(w.pieces), run_piece, &w);
}

@name@_status make(@name@_options const& o, std::unique_ptr<@name@_context>& made) {
    if (!GSUB_PROCESSOR_FITS) return @NAME@_NO_INSTRUCTIONS;
    made.reset(new @name@_context);
    auto& c = *made;
    auto status = @NAME@_OK;
    if (o.weights_of) {
        c.constants = o.weights_of->constants;
    } else {
        auto w = std::make_shared<weights>();
        if (o.weights)
            status = check(*w, static_cast<unsigned char const*>(o.weights), o.weights_size);
        else
            status = o.weights_path ? open_weights(*w, o.weights_path) : @NAME@_BAD_ARGUMENT;
        c.constants = w;
    }
    if (status != @NAME@_OK) return status;
    if (o.executor) {
        if (!o.executor->parallel_for) return @NAME@_BAD_ARGUMENT;
        c.threads = *o.executor;
        if (c.threads.concurrency == 0) c.threads.concurrency = 1;
        if (c.threads.concurrency > 4096) c.threads.concurrency = 4096;
    } else if (o.threads > 1) {
#if GSUB_THREADS
        if (o.threads > 4096) return @NAME@_NO_THREADS;
        try {
            c.own.reset(new pool{o.threads - 1});
        } catch (std::system_error const&) { return @NAME@_NO_THREADS; }
        c.threads = {pool::parallel_for, c.own.get(), o.threads};
#else
        return @NAME@_NO_THREADS;
#endif
    }
    if (!c.arena.take(arena_bytes) || !c.scratch.take(scratch_bytes * c.threads.concurrency)) return @NAME@_NO_MEMORY;
    if (scratch_bytes > 0) c.taken = std::vector<std::atomic<bool>>(c.threads.concurrency);
    c.addresses.resize(slot_count);
    for (std::size_t i = 0; i < slot_count; ++i) {
        if (slots[i].where == in_arena) c.addresses[i] = c.arena.data + slots[i].offset;
        // steps only read them
        if (slots[i].where == in_weights) c.addresses[i] = const_cast<unsigned char*>(c.constants->data) + slots[i].offset;
    }
    return @NAME@_OK;
}

} // namespace

extern "C" {

const char* @name@_status_text(@name@_status status) {
    switch (status) {
    case @NAME@_OK: return "done";
    case @NAME@_BAD_ARGUMENT: return "a null pointer, or outputs that overlap each other or an input";
    case @NAME@_NO_WEIGHTS: return "the file of weights cannot be read";
    case @NAME@_BAD_WEIGHTS: return "the weights are not this model's, cut off, damaged, or not aligned to 64 bytes";
    case @NAME@_NO_INSTRUCTIONS: return "the processor lacks instructions that the kernels use";
    case @NAME@_NO_MEMORY: return "there is not enough memory";
    case @NAME@_NO_THREADS: return "threads cannot be started";
    case @NAME@_BUSY: return "the context is in use by another thread";
    }
    return "an unknown status";
}

size_t @name@_input_count(void) { return input_count; }
size_t @name@_output_count(void) { return output_count; }
const @name@_tensor* @name@_input(size_t i) { return i < input_count ? &inputs_[i] : nullptr; }
const @name@_tensor* @name@_output(size_t i) { return i < output_count ? &outputs_[i] : nullptr; }
size_t @name@_memory(void) { return arena_bytes; }

@name@_status @name@_create(const @name@_options* options, @name@_context** context) {
    if (context) *context = nullptr;
    if (!options || !context) return @NAME@_BAD_ARGUMENT;
    try {
        std::unique_ptr<@name@_context> made;
        auto const status = make(*options, made);
        if (status == @NAME@_OK) *context = made.release();
        return status;
    } catch (...) { return @NAME@_NO_MEMORY; }
}

@name@_status @name@_run(@name@_context* context, const void* const* inputs, void* const* outputs) {
    if (!context) return @NAME@_BAD_ARGUMENT;
    for (size_t i = 0; i < input_count; ++i)
        if (inputs_[i].bytes > 0 && (!inputs || !inputs[i])) return @NAME@_BAD_ARGUMENT;
    for (size_t i = 0; i < output_count; ++i) {
        if (outputs_[i].bytes == 0) continue;
        if (!outputs || !outputs[i]) return @NAME@_BAD_ARGUMENT;
        for (size_t k = 0; k < input_count; ++k)
            if (overlap(outputs[i], outputs_[i].bytes, inputs[k], inputs_[k].bytes)) return @NAME@_BAD_ARGUMENT;
        for (size_t k = 0; k < i; ++k)
            if (overlap(outputs[i], outputs_[i].bytes, outputs[k], outputs_[k].bytes)) return @NAME@_BAD_ARGUMENT;
    }
    if (context->busy.exchange(true, std::memory_order_acquire)) return @NAME@_BUSY;
    for (std::size_t i = 0; i < slot_count; ++i) {
        auto const& s = slots[i];
        if (s.where == in_input && inputs_[s.position].bytes > 0)
            context->addresses[i] = static_cast<unsigned char*>(const_cast<void*>(inputs[s.position])) + s.offset;
        if (s.where == in_output && outputs_[s.position].bytes > 0)
            context->addresses[i] = static_cast<unsigned char*>(outputs[s.position]) + s.offset;
    }
    for (std::size_t i = 0; i < step_count; ++i) run_step(*context, steps[i]);
    context->busy.store(false, std::memory_order_release);
    return @NAME@_OK;
}

void @name@_destroy(@name@_context* context) { delete context; }

} // extern "C"
)text";

inline constexpr char const* standalone_demo = R"text(/* Runs the model once or more; made by gsub compile. */
#define _POSIX_C_SOURCE 200809L
#include "@name@.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char* const kinds[] = {"<f8", "<f4", "<f2", "", "<i8", "<i4", "<i2", "|i1", "|u1", "|b1"};

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
    /* NumPy has no bf16: those go out as 16-bit integers */
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
        if (status != @NAME@_OK) return fail("run", @name@_status_text(status));
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
inline constexpr char const* standalone_mark = "# Made by gsub compile.";

inline constexpr char const* standalone_cmake = R"text(
# Library @name@; built alone, also the program @name@_demo.
cmake_minimum_required(VERSION 3.13)
project(@name@ LANGUAGES CXX)
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  message(FATAL_ERROR "The kernels of @name@ are written with GNU vectors: GCC or Clang compile them")
endif()

set(@name@_kernels@kernels@)
add_library(@name@ @name@.cpp ${@name@_kernels})
target_compile_features(@name@ PRIVATE cxx_std_17)
target_include_directories(@name@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
# Kernels of different instruction sets stay apart.
set_target_properties(@name@ PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF INTERPROCEDURAL_OPTIMIZATION OFF)
set_source_files_properties(@name@.cpp PROPERTIES COMPILE_OPTIONS "-O2;-fexceptions")
@flags@@threads@
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  enable_language(C)
  add_executable(@name@_demo main.c)
  target_link_libraries(@name@_demo PRIVATE @name@)
endif()
)text";

inline constexpr char const* standalone_readme = R"text(@name@: a model as C++, made by gsub compile
@rule@
Alone:      cmake -S . -B build && cmake --build build && build/@name@_demo weights.bin
In CMake:   add_subdirectory(this-folder @name@), then target_link_libraries(program PRIVATE @name@)
Elsewhere:  compile all .cpp files, kernel-*.cpp with the options that CMakeLists.txt gives each of them.

@name@.h     the C API: create a context from weights.bin, run it, destroy it
@name@.cpp   the steps of the model, and what runs them
kernel-*.cpp what computes
weights.bin  numbers; checked when a context is created
main.c       an example: @name@_demo runs the model on .npy files

@signature@
A run takes @arena@ bytes of memory beside @weights@ bytes of weights, inputs and outputs.
It needs GCC or Clang with C++17, Linux, @processor@.
)text";

} // namespace gsub::detail
