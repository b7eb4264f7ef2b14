// What the PTX memory model lets threads see, for kernels that run on the CPU; see weak_memory.hpp.
//
// A word that kernels read and write by named functions keeps all values it ever had. A load may give any of them that
// is not older than what the thread is bound to have seen, and one is drawn at random. Releases, acquires, fences and
// barriers bind, as vector clocks; a relaxed access that reads from a release binds once a fence follows. An access
// binds other devices only if both sides have the system's scope.
//
// Plain accesses come here by the hooks of -fsanitize=thread. Two that are not ordered, one of which writes, are a race:
// some buffer of stores or some cache would let the reader see the old value. The program ends there.

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace {

using Clock = std::vector<uint32_t>;
using Shared = std::shared_ptr<const Clock>;

struct Message {
    uint64_t value;
    int64_t who;  // -1: it was there before
    uint32_t at;
    bool system;
    Shared device_release, system_release;
};

struct Access {
    uint32_t who, at, bytes;
    bool writes, atomic;
};

struct Thread {
    Clock seen, device_fence, system_fence, device_pending, system_pending;
    std::map<uintptr_t, size_t> place;  // in the messages of a word
    uintptr_t plain = 0;                // written, but not yet looked at
    uint64_t random;
};

struct Range {
    uintptr_t first, last;
    const char* name;
};

std::vector<Range> watched;
std::vector<Thread> threads;
unsigned per_device;
std::map<uintptr_t, std::vector<Message>> words;
std::map<uintptr_t, std::vector<Access>> accesses;
std::map<uintptr_t, Clock> barriers;
std::atomic_flag taken = ATOMIC_FLAG_INIT;

struct Lock {
    Lock() {
        while (taken.test_and_set(std::memory_order_acquire)) usleep(0);
    }
    ~Lock() { taken.clear(std::memory_order_release); }
};

void join(Clock& into, const Clock& other) {
    if (into.size() < other.size()) into.resize(other.size());
    for (size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

uint64_t draw(Thread& thread) {
    thread.random = thread.random * 6364136223846793005ull + 1442695040888963407ull;
    return thread.random >> 33;
}

bool is_before(int64_t who, uint32_t at, const Thread& thread) { return who < 0 || thread.seen[who] >= at; }

const Range* range_of(uintptr_t address) {
    for (const Range& range : watched)
        if (address >= range.first && address < range.last) return &range;
    return nullptr;
}

std::vector<Message>& word_at(uintptr_t address, unsigned size) {
    std::vector<Message>& word = words[address];
    if (word.empty()) {
        uint64_t value = size == 8 ? *reinterpret_cast<uint64_t*>(address) : *reinterpret_cast<uint32_t*>(address);
        word.push_back({value, -1, 0, true, nullptr, nullptr});
    }
    return word;
}

// A hook comes before the store that it tells of, so that its value is learnt when the thread comes next.
void look_at_plain(unsigned who) {
    Thread& thread = threads[who];
    auto found = words.find(thread.plain & ~uintptr_t(7));
    if (thread.plain && found != words.end()) {
        uint64_t value = *reinterpret_cast<uint64_t*>(found->first);
        found->second.push_back({value, who, thread.seen[who], false, nullptr, nullptr});
        thread.place[found->first] = found->second.size() - 1;
    }
    thread.plain = 0;
}

void note(unsigned who, uintptr_t address, unsigned size, bool writes, bool atomic) {
    Thread& thread = threads[who];
    for (uintptr_t part = address & ~uintptr_t(3); part < address + size; part += 4) {
        uint32_t bytes = 0;
        for (unsigned i = 0; i < 4; ++i) bytes |= uint32_t(part + i >= address && part + i < address + size) << i;
        std::vector<Access>& others = accesses[part];
        for (const Access& other : others) {
            if (other.who == who || !(other.bytes & bytes) || !(writes || other.writes) || (atomic && other.atomic)) continue;
            if (is_before(other.who, other.at, thread)) continue;
            const Range* range = range_of(address);
            printf("race in %s at byte %zu: thread %u %s%s, thread %u %s%s\n", range->name, size_t(address - range->first),
                   other.who, other.atomic ? "atomically " : "", other.writes ? "wrote" : "read", who,
                   atomic ? "atomically " : "", writes ? "writes" : "reads");
            fflush(stdout);
            _exit(3);
        }
        Access mine{who, thread.seen[who], bytes, writes, atomic};
        auto same = std::find_if(others.begin(), others.end(), [&](const Access& other) {
            return other.who == who && other.bytes == bytes && other.writes == writes && other.atomic == atomic;
        });
        if (same == others.end())
            others.push_back(mine);
        else
            *same = mine;
    }
}

void bind(Thread& thread, unsigned who, const Message& message, bool acquires, bool system) {
    bool here = message.who < 0 || message.who / per_device == who / per_device;
    if (here && message.device_release) join(acquires ? thread.seen : thread.device_pending, *message.device_release);
    if (message.system && system && message.system_release)
        join(acquires ? thread.seen : here ? thread.device_pending : thread.system_pending, *message.system_release);
}

void append(Thread& thread, unsigned who, std::vector<Message>& word, uintptr_t address, uint64_t value, bool releases,
            bool system, const Message* continued) {
    auto device = std::make_shared<Clock>(releases ? thread.seen : thread.device_fence);
    auto wide = std::make_shared<Clock>(releases && system ? thread.seen : thread.system_fence);
    if (continued && continued->device_release) join(*device, *continued->device_release);
    if (continued && continued->system_release) join(*wide, *continued->system_release);
    word.push_back({value, who, thread.seen[who], system, device, wide});
    thread.place[address] = word.size() - 1;
    if (releases) ++thread.seen[who];
}

template <class T, class F>
uint64_t exchange(unsigned who, void* at, bool releases, const F& make) {
    uintptr_t address = reinterpret_cast<uintptr_t>(at);
    Lock lock;
    if (!range_of(address)) {
        T before = *static_cast<T*>(at);
        *static_cast<T*>(at) = T(make(before));
        return before;
    }
    look_at_plain(who);
    Thread& thread = threads[who];
    note(who, address, sizeof(T), true, true);
    std::vector<Message>& word = word_at(address, sizeof(T));
    Message before = word.back();
    bind(thread, who, before, false, false);
    T value = T(make(T(before.value)));
    append(thread, who, word, address, value, releases, false, &before);
    *static_cast<T*>(at) = value;
    return before.value;
}

uint64_t changed(unsigned kind, uint64_t before, uint64_t value, uint64_t expected) {
    switch (kind) {
        case 0: return before + value;
        case 1: return before | value;
        case 2: return std::min(before, value);
        case 3: return std::max(before, value);
        case 4: return value;
        case 5: return before == expected ? value : before;
        default: return before ^ value;
    }
}

}  // namespace

extern "C" {

void weak_watch(void* first, size_t bytes, const char* name) {
    watched.push_back({reinterpret_cast<uintptr_t>(first), reinterpret_cast<uintptr_t>(first) + bytes, name});
}

void weak_begin(unsigned devices, unsigned of_device, uint64_t seed) {
    per_device = of_device;
    threads.assign(devices * of_device, {});
    words.clear();
    accesses.clear();
    barriers.clear();
    for (size_t i = 0; i < threads.size(); ++i) {
        threads[i].seen.assign(threads.size(), 0);
        threads[i].seen[i] = 1;
        threads[i].random = seed * 1000003 + i;
    }
}

uint64_t weak_load(unsigned who, const void* at, bool acquires, bool system) {
    uintptr_t address = reinterpret_cast<uintptr_t>(at);
    Lock lock;
    if (!range_of(address)) return *static_cast<const volatile uint64_t*>(at);
    look_at_plain(who);
    Thread& thread = threads[who];
    note(who, address, 8, false, true);
    std::vector<Message>& word = word_at(address, 8);
    size_t oldest = thread.place[address];
    for (size_t i = word.size(); i-- > oldest;)
        if (is_before(word[i].who, word[i].at, thread)) {
            oldest = i;
            break;
        }
    size_t chosen = draw(thread) % 2 ? word.size() - 1 : oldest + draw(thread) % (word.size() - oldest);
    thread.place[address] = chosen;
    bind(thread, who, word[chosen], acquires, system);
    return word[chosen].value;
}

void weak_store(unsigned who, void* at, uint64_t value, bool releases, bool system) {
    uintptr_t address = reinterpret_cast<uintptr_t>(at);
    Lock lock;
    if (range_of(address)) {
        look_at_plain(who);
        note(who, address, 8, true, true);
        append(threads[who], who, word_at(address, 8), address, value, releases, system, nullptr);
    }
    *static_cast<volatile uint64_t*>(at) = value;
}

uint64_t weak_change(unsigned who, void* at, unsigned size, unsigned kind, uint64_t value, uint64_t expected, bool releases) {
    if (size == 4) value = uint32_t(value), expected = uint32_t(expected);
    auto make = [&](uint64_t before) { return changed(kind, before, value, expected); };
    return size == 8 ? exchange<uint64_t>(who, at, releases, make) : exchange<uint32_t>(who, at, releases, make);
}

void weak_fence(unsigned who, bool system) {
    Lock lock;
    look_at_plain(who);
    Thread& thread = threads[who];
    join(thread.seen, thread.device_pending);
    if (system) join(thread.seen, thread.system_pending);
    thread.device_fence = thread.seen;
    if (system) thread.system_fence = thread.seen;
    ++thread.seen[who];
}

void weak_arrive(unsigned who, uint64_t barrier) {
    Lock lock;
    look_at_plain(who);
    join(barriers[barrier], threads[who].seen);
    ++threads[who].seen[who];
}

void weak_leave(unsigned who, uint64_t barrier) {
    Lock lock;
    join(threads[who].seen, barriers[barrier]);
}

void weak_plain(unsigned who, void* at, unsigned size, bool writes) {
    uintptr_t address = reinterpret_cast<uintptr_t>(at);
    if (!range_of(address)) return;
    Lock lock;
    look_at_plain(who);
    note(who, address, size, writes, false);
    if (writes) threads[who].plain = address;
}

// What the emulator itself does atomically.
#define ATOMICS(bits)                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t* a, int) { return __atomic_load_n(a, 5); } \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t* a, uint##bits##_t v, int) { __atomic_store_n(a, v, 5); } \
    uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t* a, uint##bits##_t v, int) {                 \
        return __atomic_exchange_n(a, v, 5);                                                                           \
    }                                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile uint##bits##_t* a, uint##bits##_t v, int) {                \
        return __atomic_fetch_add(a, v, 5);                                                                            \
    }                                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile uint##bits##_t* a, uint##bits##_t v, int) {                \
        return __atomic_fetch_sub(a, v, 5);                                                                            \
    }
ATOMICS(8)
ATOMICS(32)
ATOMICS(64)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(5); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
