//! CNI plugins over the kernel.
