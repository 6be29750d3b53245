//! Faults of the simulated disk: the operation that fails, and how.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;

use super::generator::Generator;

/// The way in which an operation of a `SimulatedDisk` fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The machine stops. The operation may or may not have taken effect; it and every later
    /// operation, including reads, fails. Continue with `SimulatedDisk::crash`.
    Crash,
    /// The operation fails once with `EIO`, without effect. For a sync it means
    /// [`Fault::FailedSync`].
    Io,
    /// The operation fails once with `ENOSPC`, without effect. A sync poisons the disk, as every
    /// failed sync does.
    NoSpace,
    /// From this operation on every operation that may need space (writes, growing, creating,
    /// linking, renaming) fails with `ENOSPC`, until `SimulatedDisk::clear_faults`. Free space is 0
    /// meanwhile.
    NoSpaceFrom,
    /// The first write from this operation on stores a part of its bytes and fails with `EIO`.
    ShortWrite,
    /// The first sync, of a file or directory, from this operation on fails with `EIO` and poisons
    /// the disk. Any part of the file's pending bytes is durable; the rest never will be.
    FailedSync,
}

/// The kind of an operation, as far as faults distinguish kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Write,
    /// Changes of length that grow a file, new and changed names.
    NeedsSpace,
    /// Removals and cuts.
    FreesSpace,
    Sync,
}

/// The decision of [`Faults::decide`] about one operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    Run,
    /// Run it, then report that the machine has stopped.
    RunAndStop,
    /// Stop without running it.
    Stop,
    Fail(Errno),
    ShortWrite,
    FailSync(Errno),
}

/// The pending faults, keyed by the first operation that each may strike.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    waiting: BTreeMap<u64, Fault>,
    is_full: bool,
}

impl Faults {
    pub(super) fn set(&mut self, at_operation: u64, fault: Fault) {
        self.waiting.insert(at_operation, fault);
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.is_full = false;
    }

    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Decides about operation `number` and consumes the fault that strikes it.
    pub(super) fn decide(
        &mut self,
        number: u64,
        operation: Operation,
        generator: &mut Generator,
    ) -> Verdict {
        // Some faults wait for an operation of their kind. The first applicable fault in the order
        // of numbers strikes, which may have been due long ago.
        let strikes = |fault: Fault| match fault {
            Fault::ShortWrite => operation == Operation::Write,
            Fault::FailedSync => operation == Operation::Sync,
            _ => true,
        };
        let next = self.waiting.range(..=number).find(|(_, fault)| strikes(**fault));
        if let Some((&at, &fault)) = next {
            self.waiting.remove(&at);
            let failure = match operation {
                Operation::Sync => Verdict::FailSync,
                _ => Verdict::Fail,
            };
            match fault {
                Fault::Crash if generator.coin() => return Verdict::RunAndStop,
                Fault::Crash => return Verdict::Stop,
                Fault::Io => return failure(Errno::IO),
                Fault::NoSpace => return failure(Errno::NOSPC),
                Fault::NoSpaceFrom => self.is_full = true,
                Fault::ShortWrite => return Verdict::ShortWrite,
                Fault::FailedSync => return Verdict::FailSync(Errno::IO),
            }
        }
        match operation {
            Operation::Write | Operation::NeedsSpace if self.is_full => Verdict::Fail(Errno::NOSPC),
            _ => Verdict::Run,
        }
    }
}

/// The error of a stopped machine or a dead process.
pub(super) fn stopped() -> io::Error {
    io::Error::other("the simulated machine has stopped")
}
