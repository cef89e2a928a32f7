/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Computes in a function whose name only C++ has, and which is not exported. Ends with its input. */

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {
template <typename Number> struct Spinner {
        volatile Number sum = 0;

        __attribute__((noipa)) void spin(Number step) {
                for (int i = 0; i < 1000000; i++)
                        sum = sum + step;
        }
};
} // namespace

int main() {
        std::thread([] {
                Spinner<unsigned> spinner;
                for (;;)
                        spinner.spin(3);
        }).detach();
        std::puts("ready");
        std::fflush(stdout);
        while (std::getchar() != EOF)
                ;
        std::quick_exit(0);
}
