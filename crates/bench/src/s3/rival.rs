//! The servers that the benchmark can start: how, and what their acknowledgement of a write means.
//! To add one, add an entry to [`RIVALS`].

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Launch;
use crate::report::Level;

/// A server that can be started.
#[derive(Debug)]
pub struct Rival {
    /// Its name in the report.
    pub name: &'static str,
    /// What `--rival` also finds it by: one program may be started in several ways.
    pub family: &'static str,
    /// The name of its program on PATH.
    pub program: &'static str,
    /// What makes it print its version; empty if nothing does.
    pub version: &'static [&'static str],
    /// What an acknowledged write survives.
    pub level: Level,
    /// What exactly.
    pub durability: &'static str,
    /// How to start it.
    pub launch: fn(&Site) -> io::Result<Launch>,
    /// What is to be done once it runs, before it is asked anything.
    pub after_start: Option<fn(&Site) -> io::Result<()>>,
}

/// What a server gets to run with.
#[derive(Debug)]
pub struct Site {
    /// Its program.
    pub program: PathBuf,
    /// A directory of its own, empty at first.
    pub directory: PathBuf,
    /// Free ports; S3 is served on the first.
    pub ports: Vec<u16>,
}

/// How many ports every server gets.
pub const PORTS: usize = 10;
/// The access key of every server, in the form that the pickiest of them (Garage) demands.
pub const ACCESS_KEY: &str = "GK000000000000000000000042";
/// The secret key, likewise.
pub const SECRET_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000042";

/// All of them, in the order of reports.
pub static RIVALS: [Rival; 13] = [
    Rival {
        name: "liteio-fsync",
        family: "liteio",
        program: "liteio",
        version: &["--version"],
        level: Level::PowerCut,
        durability: "data, names and metadata synced before every answer",
        launch: |site| Ok(liteio(site, &["--data-dir", "data", "--durability", "fsync"])),
        after_start: None,
    },
    Rival {
        name: "liteio-os",
        family: "liteio",
        program: "liteio",
        version: &["--version"],
        level: Level::Process,
        durability: "handed to the kernel before every answer",
        launch: |site| Ok(liteio(site, &["--data-dir", "data", "--durability", "os"])),
        after_start: None,
    },
    Rival {
        name: "liteio-memory",
        family: "liteio",
        program: "liteio",
        version: &["--version"],
        level: Level::Memory,
        durability: "nothing is on disk",
        launch: |site| Ok(liteio(site, &["--memory"])),
        after_start: None,
    },
    Rival {
        name: "minio",
        family: "minio",
        program: "minio",
        version: &["--version"],
        level: Level::Partial,
        durability: "data synced, directories not",
        launch: minio,
        after_start: None,
    },
    Rival {
        name: "rustfs",
        family: "rustfs",
        program: "rustfs",
        version: &["--version"],
        level: Level::Partial,
        durability: "RUSTFS_NEW_BUCKET_DURABILITY_MODE=strict",
        launch: rustfs,
        after_start: None,
    },
    Rival {
        name: "seaweedfs",
        family: "seaweedfs",
        program: "weed",
        version: &["version"],
        level: Level::Process,
        durability: "no sync",
        launch: seaweedfs,
        after_start: None,
    },
    Rival {
        name: "seaweedfs-fsync",
        family: "seaweedfs",
        program: "weed",
        version: &["version"],
        // Seen in the system calls of 4.44: not one sync in 6,000 writes.
        level: Level::Process,
        durability: "its fsync rule set for /buckets/, which the S3 gateway of 4.44 does not heed",
        launch: seaweedfs,
        after_start: Some(seaweedfs_fsync_rule),
    },
    Rival {
        name: "garage",
        family: "garage",
        program: "garage",
        version: &["--version"],
        level: Level::Process,
        durability: "no sync of data or metadata",
        launch: garage,
        after_start: Some(garage_layout),
    },
    Rival {
        name: "versitygw",
        family: "versitygw",
        program: "versitygw",
        version: &["--version"],
        level: Level::Process,
        durability: "no sync",
        launch: versitygw,
        after_start: None,
    },
    Rival {
        name: "localstack",
        family: "localstack",
        program: "localstack",
        version: &["--version"],
        level: Level::Memory,
        durability: "in memory or in temporary files",
        launch: localstack,
        after_start: None,
    },
    Rival {
        name: "moto",
        family: "moto",
        program: "moto_server",
        version: &[],
        level: Level::Memory,
        durability: "in memory or in temporary files",
        launch: moto,
        after_start: None,
    },
    Rival {
        name: "s3s-fs",
        family: "s3s-fs",
        program: "s3s-fs",
        version: &["--version"],
        level: Level::Process,
        durability: "no sync",
        launch: s3s_fs,
        after_start: None,
    },
    Rival {
        name: "liteio-go",
        family: "liteio-go",
        program: "liteio-go",
        version: &["--version"],
        level: Level::Process,
        durability: "of a group of writes, at most the first is synced",
        launch: liteio_go,
        after_start: None,
    },
];

impl Site {
    /// `127.0.0.1:PORT` of the n-th port.
    pub fn address(&self, port: usize) -> String {
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
    use std::io::{Read as _, Write as _};
    let rule = "{\"locations\":[{\"locationPrefix\":\"/buckets/\",\"fsync\":true}]}";
    let address = site.address(6);
    let mut stream = std::net::TcpStream::connect(&address)?;
    write!(
        stream,
        "PUT /etc/seaweedfs/filer.conf HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{rule}",
        rule.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split(' ').nth(1) {
        Some("200" | "201") => Ok(()),
        _ => Err(io::Error::other(format!("the filer refused the fsync rule: {answer}"))),
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

fn localstack(site: &Site) -> io::Result<Launch> {
    Ok(Launch::new(&site.program)
        .arguments(["start", "--host"])
        .variable("GATEWAY_LISTEN", site.address(0))
        .variable("LOCALSTACK_VOLUME_DIR", site.folder("data")?.display())
        .variable("SERVICES", "s3")
        .variable("EAGER_SERVICE_LOADING", "1")
        .variable("DISABLE_EVENTS", "1")
        .variable("SKIP_SSL_CERT_DOWNLOAD", "1"))
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
