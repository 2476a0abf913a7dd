"""Real Linux in virtual time: User-Mode Linux kernels that this package builds, and runs of them. docs/uml.md."""
