//! The contract of a disk, tested on the real disk and on its simulated twin.

mod contract;
mod crash;
mod fault;
mod lock;
