//! Standard output of the commands. A reader that has seen enough, such as `head`, is not an error of the command.

use std::io::{self, Write as _};

/// Prints text as it is.
pub(crate) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Prints bytes as they are.
pub(crate) fn print_bytes(text: &[u8]) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text).and_then(|()| stdout.flush());
}

/// `println!` that does not panic when nobody reads.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::print(&format!("{}\n", format_args!($($text)*))) };
}
pub(crate) use say;
