// Tests of the core that need no Python: TEST(name) { CHECK(a == b); }. The libraries for this are not among the
// packages that the environment is made of, and fifteen lines do.
#pragma once
#include <cstdio>
#include <vector>

namespace schemagen::testing {

struct Test {
    const char* name;
    void (*run)();
};
inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}
inline int failures = 0;

struct Registered {
    Registered(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

}  // namespace schemagen::testing

#define TEST(name)                                                                     \
    static void test_##name();                                                         \
    static const schemagen::testing::Registered registered_##name(#name, test_##name); \
    static void test_##name()

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            ++schemagen::testing::failures;                                       \
            std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                         \
    } while (false)
