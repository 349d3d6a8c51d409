// Runs every test; prints the names of those that ran, and returns 1 if one failed.
#include <cstdio>

#include "tests/check.hpp"

int main() {
    using namespace schemagen::testing;
    for (const Test& test : tests()) {
        const int before = failures;
        test.run();
        std::printf("%s %s\n", failures == before ? "ok  " : "FAIL", test.name);
    }
    return failures != 0;
}
