//! The command line: every option once. The values stay raw; each benchmark resolves its own.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use liteio_bench::error::BenchError;
use liteio_bench::kv::rows::Sizes;
use liteio_bench::s3::case::Extent;
use liteio_bench::s3::options::{Options, Planned};
use liteio_bench::s3::sign::PayloadMode;
use liteio_bench::{kv, vector};

/// Measures LiteIO and its rivals on this machine.
#[derive(Debug, Parser)]
#[command(name = "liteio-bench", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// S3 servers: LiteIO, rivals that are installed, and any that runs already.
    S3(S3Arguments),
    /// Key-value engines: LiteIO's own, redb, and rivals that can be built.
    Kv(KvArguments),
    /// Vectors: files of them beside Chassis, searching beside others, and S3 Vectors served.
    Vector(VectorArguments),
    /// The process of a key-value engine.
    #[command(hide = true)]
    KvEngine(EngineArguments),
    /// The process of a vector engine.
    #[command(hide = true)]
    VectorEngine(EngineArguments),
    /// What changed between two reports, and whether it is more than noise.
    Compare(CompareArguments),
    /// Writes the other formats of a report again from its JSON.
    Render(RenderArguments),
}

#[derive(Args, Debug)]
pub(crate) struct RenderArguments {
    /// The JSON of a report.
    #[arg(value_name = "REPORT.json")]
    pub(crate) report: PathBuf,
    /// Compare with this target instead.
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Where the report goes [default: beside the JSON].
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
    /// Fewer rows, less time: some minutes.
    #[arg(long)]
    quick: bool,
    /// 100 MB and 100,000 objects too.
    #[arg(long)]
    large: bool,
    /// Only rows whose name or group contains this, such as "read" or "1 KB". Repeatable.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// How often every row is measured at every target [default: 3].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Milliseconds that a row runs at a target in a round [default: 1000, quick: 300].
    #[arg(long, value_name = "MS")]
    time: Option<u64>,
    /// How bodies are signed.
    #[arg(long, value_enum, default_value = "signed")]
    payload: Payload,
    /// Where data is kept meanwhile: on the disk to be measured.
    #[arg(long, value_name = "DIR", default_value = ".")]
    data: PathBuf,
    /// Where the report goes.
    #[arg(long, value_name = "DIR", default_value = "bench-results")]
    pub(crate) output: PathBuf,
    /// The name of the report's files [default: s3 and the time].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
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
    /// A tenth of the entries.
    #[arg(long)]
    quick: bool,
    /// Put so many entries one by one [default: 1000000, quick: 100000].
    #[arg(long, value_name = "N")]
    entries: Option<u64>,
    /// Only rows whose name or group contains this, such as "synced" or "get". Repeatable.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// How often every row is measured for every engine.
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: usize,
    /// Seconds after which a phase ends with what it has done [default: 60, quick: 15].
    #[arg(long, value_name = "S")]
    time: Option<f64>,
    /// Where data is kept meanwhile: on the disk to be measured.
    #[arg(long, value_name = "DIR", default_value = ".")]
    data: PathBuf,
    /// Where the report goes.
    #[arg(long, value_name = "DIR", default_value = "bench-results")]
    pub(crate) output: PathBuf,
    /// The name of the report's files [default: kv and the time].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

impl KvArguments {
    /// What is to be run.
    ///
    /// # Errors
    /// [`BenchError::Usage`], and when this program cannot find itself.
    pub(crate) fn options(&self) -> Result<kv::options::Options, BenchError> {
        let sizes = if self.quick { Sizes::quick() } else { Sizes::full() };
        let entries = self.entries.unwrap_or(sizes.entries).max(1);
        Ok(kv::options::Options {
            engines: kv::options::Options::engines(&self.engine)?,
            baseline: self.baseline.clone(),
            sizes: Sizes { entries, ..sizes },
            filters: self.filter.clone(),
            rounds: self.rounds,
            seconds_max: self.time.unwrap_or(if self.quick { 15.0 } else { 60.0 }),
            seed: kv::data::SEED,
            data: self.data.clone(),
            own_program: std::env::current_exe()?,
            rivals: kv::roster::RIVALS.into(),
        })
    }
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
    /// Without 100,000 vectors, less time: some minutes.
    #[arg(long)]
    quick: bool,
    /// Only rows whose name or group contains this, such as "commit" or "search". Repeatable.
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// How often every row is measured for every target.
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: usize,
    /// Milliseconds that a row runs for a target in a round [default: 1000, quick: 200].
    #[arg(long, value_name = "MS")]
    time: Option<u64>,
    /// Where files are kept meanwhile: on the disk to be measured.
    #[arg(long, value_name = "DIR", default_value = ".")]
    data: PathBuf,
    /// Where the report goes.
    #[arg(long, value_name = "DIR", default_value = "bench-results")]
    pub(crate) output: PathBuf,
    /// The name of the report's files [default: vector and the time].
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

impl VectorArguments {
    /// What is to be run.
    ///
    /// # Errors
    /// [`BenchError::Usage`], and when this program cannot find itself.
    pub(crate) fn options(&self) -> Result<vector::options::Options, BenchError> {
        use vector::rows::Sizes;
        let memory = PathBuf::from("/dev/shm");
        Ok(vector::options::Options {
            engines: vector::options::Options::engines(&self.rival)?,
            servers: Planned::started("liteio")?,
            baseline: self.baseline.clone(),
            chassis: self.chassis.clone(),
            sizes: if self.quick { Sizes::quick() } else { Sizes::full() },
            filters: self.filter.clone(),
            rounds: self.rounds,
            time: Duration::from_millis(self.time.unwrap_or(if self.quick { 200 } else { 1000 })),
            seed: vector::data::SEED,
            data: self.data.clone(),
            memory: memory.is_dir().then_some(memory),
            own_program: std::env::current_exe()?,
            rivals: kv::roster::RIVALS.into(),
        })
    }
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
    /// What is to be run.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub(crate) fn options(&self) -> Result<Options, BenchError> {
        let mut targets: Vec<Planned> = Vec::new();
        let mut add = |planned: Planned| {
            if !targets.iter().any(|target| target.name() == planned.name()) {
                targets.push(planned);
            }
        };
        if !self.without_liteio {
            Planned::started("liteio")?.into_iter().for_each(&mut add);
        }
        for name in &self.rival {
            Planned::started(name)?.into_iter().for_each(&mut add);
        }
        for text in &self.target {
            targets.push(Planned::running(text)?);
        }
        let minio = || targets.iter().any(|target| target.name() == "minio");
        let baseline = self.baseline.clone().or_else(|| minio().then(|| "minio".to_owned()));
        let time = self.time.unwrap_or(if self.quick { 300 } else { 1000 });
        Ok(Options {
            targets,
            baseline,
            extent: Extent { quick: self.quick, large: self.large },
            filters: self.filter.clone(),
            rounds: self.rounds.unwrap_or(3),
            time: Duration::from_millis(time),
            mode: match self.payload {
                Payload::Signed => PayloadMode::Signed,
                Payload::Unsigned => PayloadMode::Unsigned,
                Payload::Streaming => PayloadMode::Streaming,
            },
            data: self.data.clone(),
        })
    }
}
