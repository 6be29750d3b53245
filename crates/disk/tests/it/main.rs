//! What the layers above may rely on, for the real disk and its simulated twin.

mod contract;
mod crash;
mod fault;
mod lock;
