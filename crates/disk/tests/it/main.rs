//! The contract of a disk, tested on the real disk, on its simulated twin and on overlays of both.

mod contract;
mod crash;
mod fault;
mod lock;
mod overlay;
