//! The command line: every option once. The values stay raw; each benchmark resolves its own.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use liteio_bench::error::BenchError;
use liteio_bench::s3::options::{Extent, Planned};
use liteio_bench::worker::RIVALS;
use liteio_bench::{PayloadMode, kv, limits, s3, vector};

/// Measures LiteIO and its rivals on this machine.
#[derive(Debug, Parser)]
#[command(name = "liteio-bench", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The benchmarks, and the uses of their reports.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// S3 servers: LiteIO, rivals that are installed, and any that runs already.
    S3(S3Arguments),
    /// Key-value engines: LiteIO's own, redb, and rivals that can be built.
    Kv(KvArguments),
    /// Vectors: files of them beside Chassis, searching beside others, and S3 Vectors served.
    Vector(VectorArguments),
    /// LiteIO beside what a file, a socket and a hash can do: speed, start, memory.
    Limits(LimitsArguments),
    /// The process of a key-value engine.
    #[command(hide = true)]
    KvEngine(EngineArguments),
    /// The process of a vector engine.
    #[command(hide = true)]
    VectorEngine(EngineArguments),
    /// Changes between two reports, and the chance that each is noise.
    Compare(CompareArguments),
    /// Writes the other formats of a report again from its JSON.
    Render(RenderArguments),
}

/// The options of every benchmark.
#[derive(Args, Debug)]
pub(crate) struct RunArguments {
    /// Less of everything: some minutes.
    #[arg(long)]
    quick: bool,
    /// Only rows whose name or group contains this, such as "read" or "1 KB". Repeatable.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Measure every row so often at every target.
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: usize,
    /// Keep data here meanwhile: on the disk to be measured.
    #[arg(long, value_name = "DIR", default_value = ".")]
    data: PathBuf,
    /// Write the report here.
    #[arg(long, value_name = "DIR", default_value = "bench-results")]
    pub(crate) output: PathBuf,
    /// The name of the report's files [default: the benchmark and the time].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct RenderArguments {
    /// The JSON of a report.
    #[arg(value_name = "REPORT.json")]
    pub(crate) report: PathBuf,
    /// Compare with this target instead.
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Write the report here [default: beside the JSON].
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct S3Arguments {
    /// Start this one too: a name of the report, a program's name, or "all". Repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    rival: Vec<String>,
    /// Measure a server that runs already; the region may follow after a comma. Repeatable.
    #[arg(long, value_name = "NAME=URL,ACCESS,SECRET")]
    target: Vec<String>,
    /// Leave LiteIO out.
    #[arg(long)]
    without_liteio: bool,
    /// Compare with this target [default: minio if it is measured, else the first].
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// 100 MB and 100,000 objects too.
    #[arg(long)]
    large: bool,
    /// Milliseconds of a row at a target in a round [default: 1000, quick: 300].
    #[arg(long, value_name = "MS")]
    time: Option<u64>,
    /// The way in which bodies are signed.
    #[arg(long, value_enum, default_value = "signed")]
    payload: Payload,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Payload {
    Signed,
    Unsigned,
    Streaming,
}

#[derive(Args, Debug)]
pub(crate) struct KvArguments {
    /// Measure this engine, or "all", building what is not built [default: those that need no
    /// building]. Repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    engine: Vec<String>,
    /// Compare with this engine.
    #[arg(long, value_name = "NAME", default_value = "redb")]
    baseline: String,
    /// Put so many entries one by one [default: 1000000, quick: 100000].
    #[arg(long, value_name = "N")]
    entries: Option<u64>,
    /// End a phase after so many seconds with what it has done [default: 60, quick: 15].
    #[arg(long, value_name = "S")]
    time: Option<f64>,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Args, Debug)]
pub(crate) struct VectorArguments {
    /// A checkout of Chassis, which is in no registry: it is built and measured in the same run.
    #[arg(long, value_name = "PATH", env = "LITEIO_BENCH_CHASSIS")]
    chassis: Option<PathBuf>,
    /// Measure this too: plain, the floor under files; usearch, a search, which is built first; or
    /// "all". Repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    rival: Vec<String>,
    /// Compare with this target [default: chassis if it is measured, else exact].
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// Milliseconds of a row for a target in a round [default: 1000, quick: 200].
    #[arg(long, value_name = "MS")]
    time: Option<u64>,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Args, Debug)]
pub(crate) struct LimitsArguments {
    /// Milliseconds of a row at a target in a round [default: 1000, quick: 300].
    #[arg(long, value_name = "MS")]
    time: Option<u64>,
    #[command(flatten)]
    pub(crate) run: RunArguments,
}

#[derive(Args, Debug)]
pub(crate) struct EngineArguments {
    /// The task, as JSON.
    pub(crate) task: String,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// The JSON of the earlier report.
    #[arg(value_name = "BEFORE.json")]
    pub(crate) before: PathBuf,
    /// The JSON of the later report.
    #[arg(value_name = "AFTER.json")]
    pub(crate) after: PathBuf,
}

impl S3Arguments {
    pub(crate) fn options(&self) -> Result<s3::options::Options, BenchError> {
        let mut targets: Vec<Planned> = Vec::new();
        let liteio = (!self.without_liteio).then_some("liteio");
        for name in liteio.into_iter().chain(self.rival.iter().map(String::as_str)) {
            for planned in Planned::started(name)? {
                if !targets.iter().any(|target| target.name() == planned.name()) {
                    targets.push(planned);
                }
            }
        }
        for text in &self.target {
            targets.push(Planned::running(text)?);
        }
        let has_minio = targets.iter().any(|target| target.name() == "minio");
        let minio = has_minio.then(|| "minio".to_owned());
        Ok(s3::options::Options {
            targets,
            baseline: self.baseline.clone().or(minio),
            extent: Extent { quick: self.run.quick, large: self.large },
            filters: self.run.filter.clone(),
            rounds: self.run.rounds,
            time: self.run.time(self.time, 300),
            mode: match self.payload {
                Payload::Signed => PayloadMode::Signed,
                Payload::Unsigned => PayloadMode::Unsigned,
                Payload::Streaming => PayloadMode::Streaming,
            },
            data: self.run.data.clone(),
        })
    }
}

impl KvArguments {
    pub(crate) fn options(&self) -> Result<kv::options::Options, BenchError> {
        use kv::rows::Sizes;
        let sizes = if self.run.quick { Sizes::quick() } else { Sizes::full() };
        let entries = self.entries.unwrap_or(sizes.entries).max(1);
        Ok(kv::options::Options {
            engines: self.engine.clone(),
            baseline: self.baseline.clone(),
            sizes: Sizes { entries, ..sizes },
            filters: self.run.filter.clone(),
            rounds: self.run.rounds,
            seconds_max: self.time.unwrap_or(if self.run.quick { 15.0 } else { 60.0 }),
            seed: kv::data::SEED,
            data: self.run.data.clone(),
            own_program: std::env::current_exe()?,
            rivals: RIVALS.into(),
        })
    }
}

impl VectorArguments {
    pub(crate) fn options(&self) -> Result<vector::options::Options, BenchError> {
        use vector::rows::Sizes;
        let memory = PathBuf::from("/dev/shm");
        Ok(vector::options::Options {
            engines: self.rival.clone(),
            servers: Planned::started("liteio")?,
            baseline: self.baseline.clone(),
            chassis: self.chassis.clone(),
            sizes: if self.run.quick { Sizes::quick() } else { Sizes::full() },
            filters: self.run.filter.clone(),
            rounds: self.run.rounds,
            time: self.run.time(self.time, 200),
            seed: vector::data::SEED,
            data: self.run.data.clone(),
            memory: memory.is_dir().then_some(memory),
            own_program: std::env::current_exe()?,
            rivals: RIVALS.into(),
        })
    }
}

impl LimitsArguments {
    pub(crate) fn options(&self) -> Result<limits::run::Options, BenchError> {
        Ok(limits::run::Options {
            servers: Planned::started("liteio")?,
            quick: self.run.quick,
            filters: self.run.filter.clone(),
            rounds: self.run.rounds,
            time: self.run.time(self.time, 300),
            data: self.run.data.clone(),
        })
    }
}

impl RunArguments {
    fn time(&self, milliseconds: Option<u64>, quick: u64) -> Duration {
        let default = if self.quick { quick } else { 1000 };
        Duration::from_millis(milliseconds.unwrap_or(default))
    }
}
