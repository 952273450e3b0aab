// The runner of an exported model, which runs its steps. @name@ and the like are replaced; nothing in the text is of
// gsub.
#pragma once

namespace gsub::aot::detail {

// Before: macros GSUB_THREADS and GSUB_PROCESSOR_FITS, kernels, tables, `export_weights_reader`. The namespace is open.
inline constexpr char const* export_runner = R"text(// ---- threads

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
    struct {
        int status = 0; // of a step that becomes aware of a bad input
        int function = 0; // of the application
        char message[512] = {};
    } failed;
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
    own[s.slots] = c.scratch.data + share * workspace_bytes;
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
    auto const pieces = static_cast<std::int64_t>(work_items_per_thread) * workers;
    work_of_step w{&c, &s, s.positions < pieces ? s.positions : pieces};
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
    if (!c.arena.take(arena_bytes) || !c.scratch.take(workspace_bytes * c.threads.concurrency)) return @NAME@_NO_MEMORY;
    if (workspace_bytes > 0) c.taken = std::vector<std::atomic<bool>>(c.threads.concurrency);
    c.addresses.resize(slot_count);
    for (std::size_t i = 0; i < slot_count; ++i) {
        if (slots[i].where == in_arena) c.addresses[i] = c.arena.data + slots[i].offset;
        if (slots[i].where == in_context) c.addresses[i] = &c.failed;
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
    case @NAME@_BAD_INPUT: return "an index among the inputs is out of range";
    case @NAME@_FAILED: return "a function of the application fails";
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
    auto& failed = context->failed;
    failed.status = failed.function = 0;
    failed.message[0] = 0;
    for (std::size_t i = 0; i < step_count && !failed.status && !failed.function; ++i) run_step(*context, steps[i]);
    auto const status = failed.function ? @NAME@_FAILED : failed.status ? @NAME@_BAD_INPUT : @NAME@_OK;
    context->busy.store(false, std::memory_order_release);
    return status;
}

const char* @name@_message(const @name@_context* context) { return context ? context->failed.message : ""; }

void @name@_destroy(@name@_context* context) { delete context; }

} // extern "C"
)text";

} // namespace gsub::aot::detail
