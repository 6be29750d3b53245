//! Rules about dependencies, as in `ARCHITECTURE.md`, held against the dependency trees and the
//! paths that the sources name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::sources::{Module, crates, is_below, modules, uses};

/// Modules, and what they must not name.
struct Rule {
    /// The directory below `crates/`.
    package: &'static str,
    /// Modules that the rule binds, with all below them; empty: the whole crate.
    within: &'static [&'static str],
    /// Modules among those that it does not bind, because they need what is banned; with `::` between
    /// the names of a path.
    except: &'static [&'static str],
    banned: &'static [&'static str],
}

const RULES: [Rule; 29] = [
    // Only one module of the key space knows this engine.
    Rule { package: "store", within: &[], except: &["kv::engine::on_redb"], banned: &["redb"] },
    // Only `disk` knows files; time, chance and settings come from outside.
    Rule { package: "store", within: &[], except: &[], banned: &["std::fs"] },
    Rule { package: "store", within: &[], except: &[], banned: &["std::env"] },
    Rule { package: "store", within: &[], except: &["clock"], banned: &["std::time::SystemTime"] },
    Rule { package: "store", within: &[], except: &["random", "kv"], banned: &["getrandom"] },
    // Records and blobs never see each other, and nothing below sees what is above.
    Rule {
        package: "store",
        within: &["meta"],
        except: &[],
        banned: &[
            "crate::blob",
            "crate::bucket",
            "crate::object",
            "crate::multipart",
            "crate::store",
            "crate::vectors",
        ],
    },
    Rule {
        package: "store",
        within: &["blob", "kv"],
        except: &[],
        banned: &[
            "crate::meta",
            "crate::bucket",
            "crate::object",
            "crate::multipart",
            "crate::store",
        ],
    },
    // State in memory knows no operation.
    Rule {
        package: "store",
        within: &["process", "indexes"],
        except: &[],
        banned: &[
            "crate::store",
            "crate::bucket",
            "crate::object",
            "crate::multipart",
            "crate::vectors",
        ],
    },
    Rule { package: "store", within: &["blob"], except: &[], banned: &["crate::kv"] },
    Rule { package: "store", within: &["kv"], except: &[], banned: &["crate::blob"] },
    // The server reaches the store through its front door.
    Rule {
        package: "server",
        within: &[],
        except: &[],
        banned: &["redb", "liteio_disk", "liteio_vector", "liteio_store::kv"],
    },
    // The typed layer is an inside of `s3`.
    Rule { package: "server", within: &[], except: &["s3"], banned: &["s3s"] },
    // The bottom: what everything shares knows nothing of those who use it.
    Rule {
        package: "server",
        within: &["reply", "connection", "origin", "offload", "state"],
        except: &[],
        banned: &[
            "crate::auth",
            "crate::config",
            "crate::dispatch",
            "crate::front",
            "crate::operational",
            "crate::s3",
            "crate::serve",
            "crate::vectors",
        ],
    },
    // Handlers reach blocking threads through `state`; a lane outlives the call that starts it.
    Rule {
        package: "server",
        within: &[],
        except: &["open", "state", "s3::lane"],
        banned: &["crate::offload"],
    },
    // Only the top knows that there are several services.
    Rule {
        package: "server",
        within: &[],
        except: &["server"],
        banned: &["crate::dispatch", "crate::open"],
    },
    Rule {
        package: "server",
        within: &[],
        except: &["dispatch", "health"],
        banned: &["crate::operational"],
    },
    Rule { package: "server", within: &[], except: &["operational"], banned: &["axum"] },
    // What stands before the services does not know them.
    Rule {
        package: "server",
        within: &["front", "serve"],
        except: &[],
        banned: &["crate::auth", "crate::s3", "crate::state", "crate::vectors", "liteio_store"],
    },
    Rule { package: "server", within: &["front"], except: &[], banned: &["crate::serve"] },
    Rule {
        package: "server",
        within: &["auth"],
        except: &[],
        banned: &["crate::front", "crate::s3", "crate::state", "crate::config", "liteio_store"],
    },
    // Decisions know neither protocols nor the services that ask for them.
    Rule {
        package: "server",
        within: &["access"],
        except: &[],
        banned: &[
            "crate::config",
            "crate::dispatch",
            "crate::front",
            "crate::s3",
            "crate::serve",
            "crate::state",
            "crate::vectors",
            "http",
            "hyper",
            "s3s",
        ],
    },
    // A name is resolved once, with the decision about it; the rest works on what was granted.
    Rule {
        package: "server",
        within: &[],
        except: &["access"],
        banned: &["liteio_store::BucketName"],
    },
    // The operations know neither sockets nor settings.
    Rule {
        package: "server",
        within: &["s3"],
        except: &[],
        banned: &["crate::serve", "crate::server", "crate::config", "crate::cli"],
    },
    Rule {
        package: "server",
        within: &["vectors"],
        except: &[],
        banned: &[
            "crate::s3",
            "crate::front",
            "crate::serve",
            "crate::server",
            "crate::config",
            "crate::cli",
        ],
    },
    Rule { package: "server", within: &["s3"], except: &[], banned: &["crate::vectors"] },
    Rule { package: "server", within: &[], except: &[], banned: &["crate::s3::dispatch"] },
    // Vectors know files through `disk`, and the finer parts know nothing of the whole.
    Rule {
        package: "vector",
        within: &[],
        except: &[],
        banned: &["std::fs", "std::env", "std::time"],
    },
    Rule {
        package: "vector",
        within: &["slots", "distance", "codes"],
        except: &[],
        banned: &["crate::index", "crate::search"],
    },
    Rule {
        package: "disk",
        within: &[],
        except: &["real", "lock", "memory"],
        banned: &["std::fs"],
    },
];

#[test]
fn modules_name_only_what_they_may() {
    let mut broken = Vec::new();
    let mut packages = BTreeMap::new();
    for rule in &RULES {
        let modules = packages.entry(rule.package).or_insert_with(|| modules(rule.package));
        let bound = |module: &&Module| {
            (rule.within.is_empty() || module.is_within(rule.within))
                && !module.is_within(rule.except)
        };
        let bound: Vec<&Module> = modules.iter().filter(bound).collect();
        for name in rule.within.iter().chain(rule.except) {
            let there = modules.iter().any(|module| module.is_within(&[name]));
            assert!(there, "{} has no module {name}: mend this rule", rule.package);
        }
        let banned = |module: &Module| {
            let paths = module.paths(modules).into_iter();
            paths
                .filter(|path| rule.banned.iter().any(|banned| is_below(path, banned)))
                .collect::<Vec<String>>()
        };
        for module in bound {
            for path in banned(module) {
                broken.push(format!("{} names {path}", module.file.display()));
            }
        }
        for name in rule.except {
            let mut excepted = modules.iter().filter(|module| module.is_within(&[name]));
            let is_needed = excepted.any(|module| !banned(module).is_empty());
            assert!(
                is_needed,
                "{}: {name} needs no exception from {:?}",
                rule.package, rule.banned
            );
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Crates without circles between the modules of their root.
const WITHOUT_CIRCLES: [&str; 5] = ["bench", "disk", "server", "store", "vector"];

#[test]
fn modules_use_each_other_in_one_direction() {
    let mut circles = Vec::new();
    for package in WITHOUT_CIRCLES {
        let uses = uses(&modules(package));
        assert!(!uses.is_empty(), "{package} has modules that use each other");
        for ((from, to), files) in &uses {
            // Everything that leads back from `to`.
            let mut reached = BTreeSet::from([to]);
            while uses.keys().any(|(a, b)| reached.contains(a) && reached.insert(b)) {}
            if reached.contains(from) {
                circles.push(format!("{package}: {from} uses {to} in a circle: {files:?}"));
            }
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn only_offload_hands_work_to_blocking_threads() {
    let users: Vec<String> = modules("server")
        .iter()
        .filter(|module| module.names("spawn_blocking"))
        .map(|module| module.path())
        .collect();
    assert_eq!(users, ["offload"]);
}

/// S3's handlers run on the threads of connections. What they do with the store there by themselves is
/// writing, which waits elsewhere; they read through `App::look`, `App::blocking` and
/// `App::next_piece`. The handlers of S3 Vectors run on a blocking thread as a whole.
#[test]
fn handlers_of_s3_read_through_the_state() {
    const WRITES: [&str; 11] = [
        "abort_upload",
        "begin_body",
        "complete_upload",
        "create_bucket",
        "create_upload",
        "delete_bucket",
        "delete_object",
        "delete_objects",
        "put_object",
        "put_part",
        // For a lane, which has the store on its threads.
        "clone",
    ];
    let (mut reads, mut writes) = (BTreeSet::new(), 0);
    for module in modules("server").iter().filter(|module| module.is_within(&["s3"])) {
        let source = fs::read_to_string(&module.file).expect("sources are readable");
        let source: String = source.split_whitespace().collect();
        for rest in source.split("app.store").skip(1) {
            let method = rest.strip_prefix('.').and_then(|rest| rest.split_once('('));
            match method {
                Some((method, _)) if WRITES.contains(&method) => writes += 1,
                _ => _ = reads.insert(module.path()),
            }
        }
    }
    assert!(writes > 0, "the store is called in another way: mend this test");
    assert_eq!(reads, BTreeSet::new());
}

/// The methods of the store that turn a name into a bucket, vector bucket or index. All others of its
/// methods for requests take what these return.
#[test]
fn only_access_resolves_names() {
    const RESOLVERS: [&str; 3] = ["store.bucket(", "store.vector_bucket(", "store.index("];
    let mut resolving = BTreeSet::new();
    for module in modules("server") {
        let source = fs::read_to_string(&module.file).expect("sources are readable");
        let source: String = source.split_whitespace().collect();
        if RESOLVERS.iter().any(|resolver| source.contains(resolver)) {
            resolving.insert(module.path());
        }
    }
    assert_eq!(resolving, BTreeSet::from(["access::granted".to_owned()]));
}

#[test]
fn packages_depend_only_on_what_they_may() {
    let below = ["async-std", "axum", "http", "hyper", "s3s", "serde_json", "quick-xml", "tokio"];
    let rows: [(&str, &[&str], &[&str]); 4] = [
        // Package, what must be nowhere in its tree, what it must not name in its manifest.
        ("liteio-disk", &["liteio-store", "liteio", "redb", "serde", "bytes"], &[]),
        ("liteio-store", &["liteio", "clap", "tracing"], &["rustix"]),
        ("liteio-vector", &["liteio-store", "liteio", "redb", "serde", "bytes", "tracing"], &[]),
        ("liteio", &["openssl", "native-tls", "async-std"], &["liteio-disk", "redb"]),
    ];
    for (package, nowhere, not_direct) in rows {
        let (all, direct) = dependencies(package);
        // An empty answer would allow everything.
        assert!(all.len() > direct.len() && direct.len() > 1, "{package}: {all:?}");
        let library = if package == "liteio" { &[][..] } else { &below };
        for banned in nowhere.iter().chain(library) {
            assert!(!all.contains(*banned), "{package} depends on {banned}");
        }
        for banned in not_direct {
            assert!(!direct.contains(*banned), "{package} depends on {banned} itself");
        }
    }
}

/// The names of everything that `package` depends on outside of tests, and those that its manifest
/// names.
fn dependencies(package: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "depth", "--format", "{p}"])
        .args(["--package", package])
        .current_dir(crates())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are text");
    let (mut all, mut direct) = (BTreeSet::new(), BTreeSet::new());
    // A line is the depth, the name right behind it, the version.
    for line in text.lines() {
        let name = line.trim_start_matches(|character: char| character.is_ascii_digit());
        let depth = &line[..line.len() - name.len()];
        let name = name.split(' ').next().unwrap_or_default().to_owned();
        if depth == "1" {
            direct.insert(name.clone());
        }
        if depth != "0" {
            all.insert(name);
        }
    }
    (all, direct)
}
