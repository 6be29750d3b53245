//! Options and servers for tests.

use std::path::Path;
use std::process::{Command, Output};

use clap::Args;
use liteio::{ServerBuilder, ServerHandle};
use liteio_bench::report::Report;
use tokio::runtime::Runtime;

/// The options of a command line.
pub(crate) fn options<O: Args>(data: &Path, line: &[&str]) -> O {
    let data = ["--data", data.to_str().expect("it is UTF-8")];
    let command = O::augment_args(clap::Command::new("bench").no_binary_name(true));
    let matches = command.try_get_matches_from(data.iter().chain(line));
    O::from_arg_matches(&matches.expect("the line is fine")).expect("the options are fine")
}

/// Runs the program.
pub(crate) fn bench(data: &Path, line: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_liteio-bench"));
    command.args(line).current_dir(data).env_remove("LITEIO_BENCH_CHASSIS");
    command.output().expect("the program can be started")
}

/// Runs a benchmark with servers of this process: `run` is given their targets for the command line.
pub(crate) fn with_servers(
    servers: Vec<(&str, ServerBuilder)>,
    run: impl FnOnce(&[String]) -> Report,
) -> Report {
    let runtime = Runtime::new().expect("a runtime can be made");
    let spawn = |(name, builder): (&str, ServerBuilder)| {
        let server = runtime.block_on(builder.spawn()).expect("a server starts");
        (target(name, &server.address().to_string()), server)
    };
    let (targets, servers): (Vec<String>, Vec<ServerHandle>) =
        servers.into_iter().map(spawn).unzip();
    let report = run(&targets);
    servers.into_iter().for_each(|server| runtime.block_on(server.stop()));
    report
}

/// A server with the usual keys.
pub(crate) fn target(name: &str, address: &str) -> String {
    format!("--target={name}=http://{address},liteio,liteio123")
}

/// A target that nobody serves.
pub(crate) fn nobody() -> String {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    target("nobody", &nobody.local_addr().expect("it has an address").to_string())
}
