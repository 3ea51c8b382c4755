// Copies to and from addresses that a program passes to an ioctl. As in a kernel, an address that is not mapped is an
// error of the call (EFAULT), not the end of the program.
#pragma once

#include <cstddef>

namespace cortado::device::vkfd {

/// False if the program cannot read there. Costs one cheap system call per page.
bool copy_in(void* to, const void* from, std::size_t bytes);

/// False if the program cannot write there; bytes of it may have changed. Costs one or two system calls.
bool copy_out(void* to, const void* from, std::size_t bytes);

}  // namespace cortado::device::vkfd
