/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The kernel as a congestion-control module sees it: the headers of headers.txt all lead
 * here. Such a module is compiled as it is (net/ipv4/tcp_*.c of Linux, or written in that
 * form) and runs on the simulator's socket (cca/include/kernel.h), whose fields have the
 * kernel's names, places in the nesting and units.
 *
 *   base.h    types' long names, compiler, bits, errors, messages
 *   math64.h  division, logarithms, random numbers
 *   bits.h    bits, order of bytes, errors as pointers, sums that may overflow
 *   list.h    lists
 *   sync.h    locks, counters, readers without locks
 *   memory.h  memory
 *   stamp.h   stamps of kernels before 4.13
 *   sock.h    socket, time, segments, what TCP offers to its controllers
 *   inet.h    addresses and ports, ECN of IP headers
 *   sockopt.h socket options of a module
 *   ops.h     struct tcp_congestion_ops, estimates for `ss` (get_info)
 *   param.h   module_param() and what else describes a module
 *
 * hash.h, hashtable.h, bitfield.h, average.h, cleanup.h and files.h are for modules that include the kernel's header of
 * that kind: their names are common words, which other modules have for their own.
 *
 * One copy of the shared object serves one run (and one set of parameters): `static`
 * variables of the module behave as in one booted kernel, and nothing leaks to another run.
 */
#ifndef DUMBBELL_KERNEL_MODULE_H
#define DUMBBELL_KERNEL_MODULE_H

#include "base.h"
#include "math64.h"
#include "bits.h"
#include "list.h"
#include "sync.h"
#include "memory.h"
#include "ops.h"
#include "sock.h"
#include "inet.h"
#include "sockopt.h"
#include "param.h"

#endif /* DUMBBELL_KERNEL_MODULE_H */
