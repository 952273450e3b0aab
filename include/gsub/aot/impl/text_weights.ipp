// The reader of an exported model's weights. @name@ and the like are replaced; nothing in the text is of gsub.
#pragma once

namespace gsub::aot::detail {

// Before: tables, within the namespace of `export_runner`, which stands behind it.
inline constexpr char const* export_weights_reader = R"text(
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

)text";

} // namespace gsub::aot::detail
