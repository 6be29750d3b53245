//! Servers that the benchmark can start: their commands, and the meaning of their acknowledgement of a
//! write. To add one, add an entry to [`RIVALS`].

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client::Endpoint;
use crate::error::BenchError;
use crate::process::{Launch, find_program, free_ports, version};
use crate::report::Level;

/// A server that can be started.
#[derive(Debug)]
pub(crate) struct Rival {
    /// Its name in the report.
    pub(crate) name: &'static str,
    /// Another name that `--rival` finds it by: one program may be started in several ways.
    pub(crate) family: &'static str,
    /// The name of its program on PATH.
    program: &'static str,
    /// The variable that names the program elsewhere.
    variable: Option<&'static str>,
    /// The arguments that make it print its version; empty if none do.
    version: &'static [&'static str],
    /// The level of durability of an acknowledged write, and its exact meaning.
    pub(crate) level: Level,
    pub(crate) durability: &'static str,
    /// Makes the command that starts it.
    pub(crate) launch: fn(&Site) -> io::Result<Launch>,
    /// Work that is left once it runs, before it is asked anything.
    pub(crate) after_start: Option<fn(&Site) -> io::Result<()>>,
    /// The access key and the secret key that it takes.
    keys: (&'static str, &'static str),
}

/// The place that a server runs in.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) program: PathBuf,
    /// A directory of its own, empty at first.
    pub(crate) directory: PathBuf,
    /// Free ports; S3 is served on the first.
    ports: Vec<u16>,
    keys: (&'static str, &'static str),
}

/// Ports of every server.
const PORTS: usize = 10;
/// The access key of every server, in the form that the pickiest of them (Garage) demands.
const ACCESS_KEY: &str = "GK000000000000000000000042";
/// The secret key, likewise.
const SECRET_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000042";
const KEYS: (&str, &str) = (ACCESS_KEY, SECRET_KEY);

/// All of them, in the order of reports.
pub(crate) static RIVALS: [Rival; 13] = [
    rival(
        ("liteio-fsync", "liteio", "liteio"),
        (Level::PowerCut, "data, names and metadata synced before every answer"),
        |site| Ok(liteio(site, &["--data-dir", "data", "--durability", "fsync"])),
    ),
    rival(
        ("liteio-os", "liteio", "liteio"),
        (Level::Process, "handed to the kernel before every answer"),
        |site| Ok(liteio(site, &["--data-dir", "data", "--durability", "os"])),
    ),
    rival(("liteio-memory", "liteio", "liteio"), (Level::Memory, "nothing is on disk"), |site| {
        Ok(liteio(site, &["--memory"]))
    }),
    rival(("minio", "minio", "minio"), (Level::Partial, "data synced, directories not"), minio),
    rival(
        ("rustfs", "rustfs", "rustfs"),
        (Level::Partial, "RUSTFS_NEW_BUCKET_DURABILITY_MODE=strict"),
        rustfs,
    ),
    Rival {
        version: &["version"],
        ..rival(("seaweedfs", "seaweedfs", "weed"), (Level::Process, "no sync"), seaweedfs)
    },
    // Seen in the system calls of 4.44: not one sync in 6,000 writes.
    Rival {
        version: &["version"],
        after_start: Some(seaweedfs_fsync_rule),
        ..rival(
            ("seaweedfs-fsync", "seaweedfs", "weed"),
            (
                Level::Process,
                "its fsync rule set for /buckets/, which the S3 gateway of 4.44 does not heed",
            ),
            seaweedfs,
        )
    },
    Rival {
        after_start: Some(garage_layout),
        ..rival(
            ("garage", "garage", "garage"),
            (Level::Process, "no sync of data or metadata"),
            garage,
        )
    },
    rival(("versitygw", "versitygw", "versitygw"), (Level::Process, "no sync"), versitygw),
    Rival {
        variable: Some("LITEIO_BENCH_LOCALSTACK_PYTHON"),
        version: &["-c", "from localstack.version import version; print(version)"],
        after_start: Some(localstack_health),
        keys: ("test", "test"),
        ..rival(
            ("localstack", "localstack", "python3"),
            (Level::Memory, "in memory or in temporary files"),
            localstack,
        )
    },
    Rival {
        version: &[],
        ..rival(
            ("moto", "moto", "moto_server"),
            (Level::Memory, "in memory or in temporary files"),
            moto,
        )
    },
    rival(("s3s-fs", "s3s-fs", "s3s-fs"), (Level::Process, "no sync"), s3s_fs),
    rival(
        ("liteio-go", "liteio-go", "liteio-go"),
        (Level::Process, "of a group of writes, at most the first is synced"),
        liteio_go,
    ),
];

/// A server as most are: it prints its version when asked for `--version`, takes our keys, and needs
/// nothing after its start. `names` are its own, that of its family, and that of its program.
const fn rival(
    names: (&'static str, &'static str, &'static str),
    durability: (Level, &'static str),
    launch: fn(&Site) -> io::Result<Launch>,
) -> Rival {
    Rival {
        name: names.0,
        family: names.1,
        program: names.2,
        variable: None,
        version: &["--version"],
        level: durability.0,
        durability: durability.1,
        launch,
        after_start: None,
        keys: KEYS,
    }
}

impl Rival {
    /// The program: what the variable names, or beside this program (LiteIO is built together with
    /// it), or on PATH.
    fn program(&self) -> Option<PathBuf> {
        let named = self.variable.and_then(|variable| std::env::var(variable).ok());
        let beside = std::env::current_exe().ok()?.parent()?.join(self.program);
        let beside = Some(beside).filter(|path| self.family == "liteio" && path.is_file());
        match named {
            Some(named) => find_program(&named),
            None => beside.or_else(|| find_program(self.program)),
        }
    }

    pub(crate) fn version(&self, program: &Path) -> Option<String> {
        if self.version.is_empty() { None } else { version(program, self.version) }
    }
}

/// An endpoint with the keys of most servers.
pub(crate) fn endpoint(host: String) -> Endpoint {
    Endpoint {
        host,
        access_key: ACCESS_KEY.to_owned(),
        secret_key: SECRET_KEY.to_owned(),
        region: "us-east-1".to_owned(),
    }
}

impl Site {
    /// A place in `directory`. A program that is not there is an error.
    pub(crate) fn new(rival: &Rival, directory: PathBuf) -> Result<Site, BenchError> {
        let program = rival.program();
        let program = program.ok_or_else(|| BenchError::Absent("not installed".to_owned()))?;
        Ok(Site { program, directory, ports: free_ports(PORTS)?, keys: rival.keys })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        let (access_key, secret_key) = (self.keys.0.to_owned(), self.keys.1.to_owned());
        Endpoint { access_key, secret_key, ..endpoint(self.address(0)) }
    }

    /// `127.0.0.1:PORT` of the n-th port.
    fn address(&self, port: usize) -> String {
        format!("127.0.0.1:{}", self.ports[port])
    }

    /// A folder of the site, made now.
    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.directory.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

fn liteio(site: &Site, storage: &[&str]) -> Launch {
    Launch::new(&site.program)
        .arguments(["server", "--log", "off", "--address", &site.address(0)])
        .arguments(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY])
        .arguments(storage)
}

fn minio(site: &Site) -> io::Result<Launch> {
    let data = site.folder("data")?;
    Ok(Launch::new(&site.program)
        .arguments(["server", "--quiet", "--address", &site.address(0)])
        .arguments(["--console-address", &site.address(1)])
        .arguments([data.display()])
        .variable("MINIO_ROOT_USER", ACCESS_KEY)
        .variable("MINIO_ROOT_PASSWORD", SECRET_KEY)
        .variable("MINIO_BROWSER", "off")
        .variable("MINIO_UPDATE", "off"))
}

fn rustfs(site: &Site) -> io::Result<Launch> {
    let data = site.folder("data")?;
    Ok(Launch::new(&site.program)
        .arguments([data.display()])
        .variable("RUSTFS_ADDRESS", site.address(0))
        .variable("RUSTFS_ACCESS_KEY", ACCESS_KEY)
        .variable("RUSTFS_SECRET_KEY", SECRET_KEY)
        .variable("RUSTFS_CONSOLE_ENABLE", "false")
        .variable("RUSTFS_OBS_LOGGER_LEVEL", "error")
        .variable("RUSTFS_NEW_BUCKET_DURABILITY_MODE", "strict"))
}

fn seaweedfs(site: &Site) -> io::Result<Launch> {
    let data = site.folder("data")?;
    let identities = serde_json::json!({ "identities": [{
        "name": "bench",
        "credentials": [{ "accessKey": ACCESS_KEY, "secretKey": SECRET_KEY }],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }]});
    let config = site.directory.join("s3.json");
    fs::write(&config, identities.to_string())?;
    let ports = [
        ("s3.port", 0),
        ("s3.port.grpc", 1),
        ("master.port", 2),
        ("master.port.grpc", 3),
        ("volume.port", 4),
        ("volume.port.grpc", 5),
        ("filer.port", 6),
        ("filer.port.grpc", 7),
    ];
    Ok(Launch::new(&site.program)
        .arguments([format!("-logdir={}", site.folder("log")?.display())])
        .arguments(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"])
        .arguments([format!("-dir={}", data.display())])
        .arguments([format!("-s3.config={}", config.display())])
        .arguments(ports.map(|(name, place)| format!("-{name}={}", site.ports[place])))
        // Each bucket gets volumes of its own, and the default of eight is used up by two buckets.
        .arguments(["-volume.max=500", "-master.volumeSizeLimitMB=1024"])
        .arguments(["-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false"]))
}

/// The rule is a file in the filer, which serves plain HTTP.
fn seaweedfs_fsync_rule(site: &Site) -> io::Result<()> {
    let rule = "{\"locations\":[{\"locationPrefix\":\"/buckets/\",\"fsync\":true}]}";
    http(&site.address(6), "PUT", "/etc/seaweedfs/filer.conf", rule)
}

/// One request in plain HTTP to something else than S3.
fn http(address: &str, method: &str, path: &str, body: &str) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split(' ').nth(1) {
        Some("200" | "201") => Ok(()),
        _ => Err(io::Error::other(format!("{method} {path}: {answer}"))),
    }
}

fn garage(site: &Site) -> io::Result<Launch> {
    let config = garage_config(site);
    let text = format!(
        "metadata_dir = \"{}\"\ndata_dir = \"{}\"\ndb_engine = \"lmdb\"\nreplication_factor = 1\n\
         rpc_bind_addr = \"{rpc}\"\nrpc_public_addr = \"{rpc}\"\nrpc_secret = \"{SECRET_KEY}\"\n\
         [s3_api]\ns3_region = \"us-east-1\"\napi_bind_addr = \"{}\"\nroot_domain = \".s3.localhost\"\n",
        site.folder("meta")?.display(),
        site.folder("data")?.display(),
        site.address(0),
        rpc = site.address(1),
    );
    fs::write(&config, text)?;
    Ok(Launch::new(&site.program).arguments(["-c", &config.display().to_string(), "server"]))
}

fn garage_config(site: &Site) -> PathBuf {
    site.directory.join("garage.toml")
}

/// A node that stores everything, and a key that may create buckets.
fn garage_layout(site: &Site) -> io::Result<()> {
    let config = garage_config(site);
    let garage = |arguments: &[&str]| said(&site.program, &config, arguments);
    let node = garage(&["node", "id", "-q"])?;
    let node = node.trim().split('@').next().unwrap_or_default().to_owned();
    garage(&["layout", "assign", "-z", "bench", "-c", "100G", &node])?;
    garage(&["layout", "apply", "--version", "1"])?;
    garage(&["key", "import", "--yes", "-n", "bench", ACCESS_KEY, SECRET_KEY])?;
    garage(&["key", "allow", "--create-bucket", ACCESS_KEY])?;
    Ok(())
}

fn said(program: &Path, config: &Path, arguments: &[&str]) -> io::Result<String> {
    let output = Command::new(program).arg("-c").arg(config).args(arguments).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("garage {}: {errors}", arguments.join(" "))))
}

fn versitygw(site: &Site) -> io::Result<Launch> {
    let data = site.folder("data")?;
    Ok(Launch::new(&site.program)
        .arguments(["--quiet", "--port", &site.address(0)])
        .arguments(["--access", ACCESS_KEY, "--secret", SECRET_KEY, "--region", "us-east-1"])
        .arguments(["posix", &data.display().to_string()]))
}

/// The packages of PyPI, run by the Python that has them.
fn localstack(site: &Site) -> io::Result<Launch> {
    Ok(Launch::new(&site.program)
        .arguments(["-m", "localstack.runtime.main"])
        .variable("GATEWAY_LISTEN", site.address(0))
        .variable("LOCALSTACK_VOLUME_DIR", site.folder("data")?.display())
        .variable("SERVICES", "s3")
        .variable("EAGER_SERVICE_LOADING", "1")
        .variable("DISABLE_EVENTS", "1")
        .variable("SKIP_SSL_CERT_DOWNLOAD", "1")
        // It would answer DNS on port 53, and read certificates that this variable names.
        .variable("DNS_ADDRESS", "0")
        .without_variable("AWS_CA_BUNDLE"))
}

fn localstack_health(site: &Site) -> io::Result<()> {
    http(&site.address(0), "GET", "/_localstack/health", "")
}

fn moto(site: &Site) -> io::Result<Launch> {
    let port = site.ports[0].to_string();
    Ok(Launch::new(&site.program).arguments(["-H", "127.0.0.1", "-p", &port]))
}

fn s3s_fs(site: &Site) -> io::Result<Launch> {
    let data = site.folder("data")?;
    let port = site.ports[0].to_string();
    Ok(Launch::new(&site.program)
        .arguments(["--host", "127.0.0.1", "--port", &port])
        .arguments(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY])
        .arguments([data.display()])
        .variable("RUST_LOG", "error"))
}

fn liteio_go(site: &Site) -> io::Result<Launch> {
    let data = site.folder("data")?;
    let port = site.ports[0].to_string();
    Ok(Launch::new(&site.program)
        .arguments(["--host", "127.0.0.1", "--port", &port, "--no-log"])
        .arguments(["--driver", &format!("local://{}", data.display())])
        .arguments(["--access-key", ACCESS_KEY, "--secret-key", SECRET_KEY]))
}
