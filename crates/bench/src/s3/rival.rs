//! Servers that the benchmark can start: their commands, and the durability of an acknowledged
//! write. A new server needs an entry in [`RIVALS`].

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client::Endpoint;
use crate::error::BenchError;
use crate::process::{Launch, find_program, free_ports, version};
use crate::report::Level;

/// A server that can be started. In `arguments`, `environment` and `files`, `{port0}` to `{port9}`
/// are free ports, `{address0}` to `{address9}` are these ports at 127.0.0.1, `{data}`, `{meta}`
/// and `{log}` are empty folders, `{directory}` is the folder around them, and `{access}` and
/// `{secret}` are the keys. S3 is served on the first port.
#[derive(Clone, Debug)]
pub(crate) struct Rival {
    /// Name in the report.
    pub(crate) name: &'static str,
    /// Second name for `--rival`, because one program may be started in several ways.
    pub(crate) family: &'static str,
    /// Name of its program on PATH.
    program: &'static str,
    /// Environment variable with the path of the program.
    variable: Option<&'static str>,
    /// Arguments that print the version; empty if none do.
    version: &'static [&'static str],
    /// Durability of an acknowledged write: its level, and the exact meaning.
    pub(crate) level: Level,
    pub(crate) durability: &'static str,
    /// A script that starts it, of the files below, for more than one process: it runs with bash, gets the
    /// arguments, and has the program and the keys in the variables `PROGRAM`, `ACCESS` and `SECRET`.
    script: Option<&'static str>,
    /// Number of servers with the same data, at the first ports, which clients connect to in turn.
    servers: usize,
    /// Arguments that start it, separated by spaces.
    arguments: &'static [&'static str],
    /// Environment variables; an empty value removes one.
    environment: &'static [(&'static str, &'static str)],
    /// Files in its directory.
    files: &'static [(&'static str, &'static str)],
    /// Setup after the start, before the first request.
    pub(crate) after_start: Option<fn(&Site) -> io::Result<()>>,
    /// Reason that it stores plain bodies although it confirms encryption.
    pub(crate) encrypts_nothing: Option<&'static str>,
    /// Access key and secret key.
    keys: (&'static str, &'static str),
}

/// Place in which a server runs.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) program: PathBuf,
    /// Its directory, empty at first.
    pub(crate) directory: PathBuf,
    ports: Vec<u16>,
    keys: (&'static str, &'static str),
    servers: usize,
}

/// Number of ports for each server.
const PORTS: usize = 10;
/// Access key of every server, in the form that the strictest of them (Garage) requires.
const ACCESS_KEY: &str = "GK000000000000000000000042";
/// Secret key of every server, likewise.
const SECRET_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000042";

/// Encryption key of servers: 32 bytes in base64.
const MASTER_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
/// Remark on servers that confirm the encryption and do not encrypt.
const ENCRYPTS_NOTHING: &str = "no SSE-S3: it answers as if, and stores bodies as they are";

/// Family of LiteIO itself.
const LITEIO_FAMILY: &str = "liteio";
const LITEIO: &str = "server --log off --address {address0} --access-key {access} \
     --secret-key {secret} --master-key-file {directory}/master.key";

const LITEIO_FILES: &[(&str, &str)] = &[("master.key", MASTER_KEY)];

const MINIO_ENVIRONMENT: &[(&str, &str)] = &[
    ("MINIO_ROOT_USER", "{access}"),
    ("MINIO_ROOT_PASSWORD", "{secret}"),
    ("MINIO_BROWSER", "off"),
    ("MINIO_KMS_SECRET_KEY", "bench:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="),
    ("MINIO_UPDATE", "off"),
];

const SEAWEEDFS: &[&str] = &[
    "-logdir={log} server -ip=127.0.0.1 -ip.bind=127.0.0.1 -filer -s3 -dir={data}",
    "-s3.config={directory}/s3.json -s3.port={port0} -s3.port.grpc={port1}",
    "-master.port={port2} -master.port.grpc={port3} -volume.port={port4}",
    "-volume.port.grpc={port5} -filer.port={port6} -filer.port.grpc={port7}",
    // Each bucket gets volumes of its own, and two buckets use up the default of eight.
    "-volume.max=500 -master.volumeSizeLimitMB=1024",
    "-s3.port.iceberg=0 -s3.port.lance=0 -master.telemetry=false",
];

const SEAWEEDFS_KEYS: (&str, &str) = (
    "s3.json",
    r#"{"identities": [{
        "name": "bench",
        "credentials": [{"accessKey": "{access}", "secretKey": "{secret}"}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"]
    }]}"#,
);

/// The PostgreSQL of a cluster, at the last port.
const POSTGRES: (&str, &str) = ("postgres.sh", include_str!("../../rivals/cluster/postgres.sh"));
const POSTGRES_PORT: (&str, &str) = ("POSTGRES_PORT", "{port9}");

/// All servers, in the order of reports.
pub(crate) static RIVALS: [Rival; 17] = [
    Rival {
        arguments: &[LITEIO, "--data-dir data --durability fsync"],
        files: LITEIO_FILES,
        ..rival(
            ["liteio-fsync", "liteio", "liteio"],
            (Level::PowerCut, "data, names and metadata synced before every answer"),
        )
    },
    Rival {
        arguments: &[LITEIO, "--data-dir data --durability os"],
        files: LITEIO_FILES,
        ..rival(
            ["liteio-os", "liteio", "liteio"],
            (Level::Process, "handed to the kernel before every answer"),
        )
    },
    Rival {
        arguments: &[LITEIO, "--memory"],
        files: LITEIO_FILES,
        ..rival(["liteio-memory", "liteio", "liteio"], (Level::Memory, "nothing is on disk"))
    },
    Rival {
        arguments: &["server --quiet --address {address0} --console-address {address1} {data}"],
        environment: MINIO_ENVIRONMENT,
        ..rival(["minio"; 3], (Level::Partial, "data synced, directories not"))
    },
    Rival {
        arguments: &["{data}"],
        environment: &[
            ("RUSTFS_ADDRESS", "{address0}"),
            ("RUSTFS_ACCESS_KEY", "{access}"),
            ("RUSTFS_SECRET_KEY", "{secret}"),
            ("RUSTFS_CONSOLE_ENABLE", "false"),
            ("RUSTFS_OBS_LOGGER_LEVEL", "error"),
            ("RUSTFS_NEW_BUCKET_DURABILITY_MODE", "strict"),
        ],
        ..rival(["rustfs"; 3], (Level::Partial, "RUSTFS_NEW_BUCKET_DURABILITY_MODE=strict"))
    },
    seaweedfs("seaweedfs", "no sync", None),
    // Observed in the system calls of 4.44: no sync in 6,000 writes.
    seaweedfs(
        "seaweedfs-fsync",
        "its fsync rule set for /buckets/, which the S3 gateway of 4.44 does not heed",
        Some(seaweedfs_fsync_rule),
    ),
    Rival {
        arguments: &["-c {directory}/garage.toml server"],
        files: &[(
            "garage.toml",
            "metadata_dir = \"{meta}\"\ndata_dir = \"{data}\"\ndb_engine = \"lmdb\"\n\
             replication_factor = 1\nrpc_bind_addr = \"{address1}\"\n\
             rpc_public_addr = \"{address1}\"\nrpc_secret = \"{secret}\"\n[s3_api]\n\
             s3_region = \"us-east-1\"\napi_bind_addr = \"{address0}\"\n\
             root_domain = \".s3.localhost\"\n",
        )],
        after_start: Some(garage_layout),
        ..rival(["garage"; 3], (Level::Process, "no sync of data or metadata"))
    },
    Rival {
        arguments: &[
            "--quiet --port {address0} --access {access} --secret {secret} --region us-east-1",
            "posix {data}",
        ],
        ..rival(["versitygw"; 3], (Level::Process, "no sync"))
    },
    // The packages of PyPI, run by the Python that has them.
    Rival {
        variable: Some("LITEIO_BENCH_LOCALSTACK_PYTHON"),
        version: &["-c", "from localstack.version import version; print(version)"],
        arguments: &["-m localstack.runtime.main"],
        environment: &[
            ("GATEWAY_LISTEN", "{address0}"),
            ("LOCALSTACK_VOLUME_DIR", "{data}"),
            ("SERVICES", "s3"),
            ("EAGER_SERVICE_LOADING", "1"),
            ("DISABLE_EVENTS", "1"),
            ("SKIP_SSL_CERT_DOWNLOAD", "1"),
            // Without these it would answer DNS on port 53, and read certificates named by this
            // variable.
            ("DNS_ADDRESS", "0"),
            ("AWS_CA_BUNDLE", ""),
        ],
        after_start: Some(|site| http(&site.fill("{address0}"), "GET", "/_localstack/health", "")),
        keys: ("test", "test"),
        encrypts_nothing: Some(ENCRYPTS_NOTHING),
        ..rival(
            ["localstack", "localstack", "python3"],
            (Level::Memory, "in memory or in temporary files"),
        )
    },
    Rival {
        version: &[],
        arguments: &["-H 127.0.0.1 -p {port0}"],
        encrypts_nothing: Some(ENCRYPTS_NOTHING),
        ..rival(["moto", "moto", "moto_server"], (Level::Memory, "in memory or in temporary files"))
    },
    Rival {
        arguments: &[
            "--host 127.0.0.1 --port {port0} --access-key {access} --secret-key {secret} {data}",
        ],
        environment: &[("RUST_LOG", "error")],
        ..rival(["s3s-fs"; 3], (Level::Process, "no sync"))
    },
    Rival {
        arguments: &[
            "--host 127.0.0.1 --port {port0} --no-log --driver local://{data}",
            "--access-key {access} --secret-key {secret}",
        ],
        ..rival(
            ["liteio-go"; 3],
            (Level::Process, "of a group of writes, at most the first is synced"),
        )
    },
    // Several processes on one machine: what scaling out costs, not what it brings.
    liteio_cluster("liteio-cluster", 3, &["{address0} {address1} {address2}"]),
    liteio_cluster("liteio-postgres", 1, &["{address0}"]),
    Rival {
        version: &["version"],
        arguments: SEAWEEDFS,
        environment: &[POSTGRES_PORT],
        files: &[
            SEAWEEDFS_KEYS,
            POSTGRES,
            ("filer.toml", include_str!("../../rivals/cluster/filer.toml")),
            ("start.sh", include_str!("../../rivals/cluster/seaweedfs.sh")),
        ],
        ..cluster(
            ["seaweedfs-postgres", "weed"],
            (Level::Partial, "the commit of PostgreSQL synced, bodies not"),
        )
    },
    Rival {
        servers: 4,
        arguments: &["{address0} {address1} {address2} {address3}"],
        environment: MINIO_ENVIRONMENT,
        files: &[("start.sh", include_str!("../../rivals/cluster/minio.sh"))],
        ..cluster(
            ["minio-4", "minio"],
            (Level::Partial, "four processes, erasure coded: data synced, directories not"),
        )
    },
];

const CLUSTER_FILES: &[(&str, &str)] =
    &[LITEIO_FILES[0], POSTGRES, ("start.sh", include_str!("../../rivals/cluster/liteio.sh"))];

/// LiteIO, as a number of servers over one PostgreSQL and one directory.
const fn liteio_cluster(
    name: &'static str,
    servers: usize,
    arguments: &'static [&'static str],
) -> Rival {
    Rival {
        servers,
        arguments,
        environment: &[POSTGRES_PORT],
        files: CLUSTER_FILES,
        ..cluster(
            [name, "liteio"],
            (Level::PowerCut, "bodies, names and the commit of PostgreSQL synced"),
        )
    }
}

/// Several processes, started by a script beside a PostgreSQL or not.
const fn cluster(names: [&'static str; 2], durability: (Level, &'static str)) -> Rival {
    let [name, program] = names;
    Rival { script: Some("start.sh"), ..rival([name, "cluster", program], durability) }
}

/// A server with the usual properties: it prints its version for `--version`, takes our keys, and
/// needs no setup after its start. `names` are its name, its family and its program.
const fn rival(
    [name, family, program]: [&'static str; 3],
    (level, durability): (Level, &'static str),
) -> Rival {
    Rival {
        name,
        family,
        program,
        variable: None,
        version: &["--version"],
        level,
        durability,
        script: None,
        servers: 1,
        arguments: &[],
        environment: &[],
        files: &[],
        after_start: None,
        encrypts_nothing: None,
        keys: (ACCESS_KEY, SECRET_KEY),
    }
}

const fn seaweedfs(
    name: &'static str,
    durability: &'static str,
    after_start: Option<fn(&Site) -> io::Result<()>>,
) -> Rival {
    Rival {
        version: &["version"],
        arguments: SEAWEEDFS,
        files: &[SEAWEEDFS_KEYS],
        after_start,
        ..rival([name, "seaweedfs", "weed"], (Level::Process, durability))
    }
}

impl Rival {
    /// The variants of another build of LiteIO, named after it: `NAME-fsync` and so on.
    pub(crate) fn builds(name: &str, program: &str) -> Vec<&'static Rival> {
        let liteio = RIVALS.iter().filter(|rival| rival.family == LITEIO_FAMILY);
        let build = |rival: &Rival| -> &'static Rival {
            let way = rival.name.trim_start_matches(LITEIO_FAMILY);
            // A few for each run, which live as long as the entries of the table.
            let name = format!("{name}{way}").leak();
            Box::leak(Box::new(Rival { name, program: program.to_owned().leak(), ..rival.clone() }))
        };
        liteio.map(build).collect()
    }

    /// Path of the program: from the environment variable, beside this program (LiteIO is built
    /// together with it), or on PATH.
    fn program(&self) -> Option<PathBuf> {
        let named = self.variable.and_then(|variable| std::env::var(variable).ok());
        let beside = std::env::current_exe().ok()?.parent()?.join(self.program);
        let beside = Some(beside).filter(|path| self.program == LITEIO_FAMILY && path.is_file());
        match named {
            Some(named) => find_program(&named),
            None => beside.or_else(|| find_program(self.program)),
        }
    }

    pub(crate) fn version(&self, program: &Path) -> Option<String> {
        if self.version.is_empty() { None } else { version(program, self.version) }
    }

    /// The command that starts it. Its files are written now.
    pub(crate) fn launch(&self, site: &Site) -> io::Result<Launch> {
        for folder in ["data", "meta", "log"] {
            fs::create_dir_all(site.directory.join(folder))?;
        }
        for (name, text) in self.files {
            fs::write(site.directory.join(name), site.fill(text))?;
        }
        let arguments = self.arguments.iter().flat_map(|part| part.split(' '));
        let arguments = arguments.map(|part| site.fill(part));
        let launch = match self.script {
            None => Launch::new(&site.program),
            Some(script) => {
                let missing = || io::Error::new(io::ErrorKind::NotFound, "bash is not on PATH");
                let bash = Launch::new(find_program("bash").ok_or_else(missing)?);
                bash.arguments([script])
                    .variable("PROGRAM", site.program.display())
                    .variable("ACCESS", site.keys.0)
                    .variable("SECRET", site.keys.1)
            }
        };
        let launch = launch.arguments(arguments);
        let launch = self.environment.iter().fold(launch, |launch, (name, value)| match *value {
            "" => launch.without_variable(name),
            value => launch.variable(name, site.fill(value)),
        });
        Ok(launch)
    }
}

/// Endpoint with the keys of most servers.
pub(crate) fn endpoint(host: String) -> Endpoint {
    Endpoint {
        host,
        others: Vec::new(),
        access_key: ACCESS_KEY.to_owned(),
        secret_key: SECRET_KEY.to_owned(),
        region: "us-east-1".to_owned(),
    }
}

impl Site {
    /// A place in `directory`. A missing program is an error.
    pub(crate) fn new(rival: &Rival, directory: PathBuf) -> Result<Site, BenchError> {
        let program = rival.program();
        let program = program.ok_or_else(|| BenchError::Absent("not installed".to_owned()))?;
        let (keys, servers) = (rival.keys, rival.servers);
        Ok(Site { program, directory, ports: free_ports(PORTS)?, keys, servers })
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        let (access_key, secret_key) = (self.keys.0.to_owned(), self.keys.1.to_owned());
        let others = (1..self.servers).map(|server| self.fill(&format!("{{address{server}}}")));
        let others = others.collect();
        Endpoint { others, access_key, secret_key, ..endpoint(self.fill("{address0}")) }
    }

    /// Substitutes ports, folders and keys in a text.
    fn fill(&self, text: &str) -> String {
        let directory = self.directory.display().to_string();
        let mut text = text.replace("{access}", self.keys.0).replace("{secret}", self.keys.1);
        for folder in ["data", "meta", "log"] {
            text = text.replace(&format!("{{{folder}}}"), &format!("{directory}/{folder}"));
        }
        for (place, port) in self.ports.iter().enumerate() {
            text = text
                .replace(&format!("{{port{place}}}"), &port.to_string())
                .replace(&format!("{{address{place}}}"), &format!("127.0.0.1:{port}"));
        }
        text.replace("{directory}", &directory)
    }
}

/// Sets the rule, a file in the filer, which serves plain HTTP.
fn seaweedfs_fsync_rule(site: &Site) -> io::Result<()> {
    let rule = "{\"locations\":[{\"locationPrefix\":\"/buckets/\",\"fsync\":true}]}";
    http(&site.fill("{address6}"), "PUT", "/etc/seaweedfs/filer.conf", rule)
}

/// One request over plain HTTP, not S3.
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

/// A node that stores everything, and a key that may create buckets.
fn garage_layout(site: &Site) -> io::Result<()> {
    let garage = |arguments: &str| {
        let all = ["-c", "{directory}/garage.toml"].into_iter().chain(arguments.split(' '));
        let all = all.map(|argument| site.fill(argument));
        let output = Command::new(&site.program).args(all).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(io::Error::other(format!("garage {arguments}: {errors}"))),
        }
    };
    let node = garage("node id -q")?;
    let node = node.trim().split('@').next().unwrap_or_default().to_owned();
    garage(&format!("layout assign -z bench -c 100G {node}"))?;
    garage("layout apply --version 1")?;
    garage("key import --yes -n bench {access} {secret}")?;
    garage("key allow --create-bucket {access}")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_to_fill_in() {
        let (program, directory) = (PathBuf::from("program"), PathBuf::from("/place"));
        let ports = (20_000..20_000 + PORTS as u16).collect();
        let site = Site { program, directory, ports, keys: (ACCESS_KEY, SECRET_KEY), servers: 1 };
        assert_eq!(
            site.fill("-a={address1} {port9} {data}"),
            "-a=127.0.0.1:20001 20009 /place/data"
        );
        for rival in &RIVALS {
            // Scripts have braces of their own.
            let files = rival.files.iter().filter(|(name, _)| !name.ends_with(".sh"));
            let pairs = rival.environment.iter().chain(files).map(|(_, text)| text);
            for text in pairs.chain(rival.arguments).map(|text| site.fill(text)) {
                let left =
                    text.split('{').skip(1).any(|rest| rest.starts_with(char::is_alphabetic));
                assert!(!left, "{}: {text}", rival.name);
            }
        }
    }

    #[test]
    fn an_entry_needs_its_arguments_and_variables() {
        // The example of docs/benchmarks.md, whose lines stand here (`tests/examples`).
        let example = Rival {
            arguments: &["serve --listen {address0} {data}"],
            environment: &[("EXAMPLE_ACCESS_KEY", "{access}"), ("EXAMPLE_SECRET_KEY", "{secret}")],
            ..rival(["example", "example", "exampled"], (Level::Process, "no sync"))
        };
        assert_eq!((example.name, example.program), ("example", "exampled"));
    }
}
