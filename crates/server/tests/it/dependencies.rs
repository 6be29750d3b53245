//! Rules about dependencies, as in `ARCHITECTURE.md`, held against the dependency trees and the code.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::LazyLock;

use crate::sources::{Module, circles, crates, is_below, modules, modules_of};

/// Modules, and what must not stand in them.
struct Rule {
    /// The directory below `crates/`.
    package: &'static str,
    /// Modules that the rule binds, with all below them; empty: the whole crate.
    within: &'static [&'static str],
    /// Modules among those that it does not bind, because they need what is banned; with `::` between
    /// the names of a path.
    except: &'static [&'static str],
    ban: Ban,
}

/// The ban of a rule.
enum Ban {
    /// These paths and what they lead to.
    Paths(&'static [&'static str]),
    /// These pieces of code, without white space.
    Code(&'static [&'static str]),
    /// All uses of this value but a call of one of these methods.
    AllBut(&'static str, &'static [&'static str]),
}

use Ban::{AllBut, Code, Paths};

/// A rule for a whole crate.
const fn in_all(package: &'static str, ban: Ban) -> Rule {
    Rule { package, within: &[], except: &[], ban }
}

/// A rule for a crate but these modules.
const fn except(package: &'static str, except: &'static [&'static str], ban: Ban) -> Rule {
    Rule { package, within: &[], except, ban }
}

/// A rule for these modules of a crate.
const fn within(package: &'static str, within: &'static [&'static str], ban: Ban) -> Rule {
    Rule { package, within, except: &[], ban }
}

/// Calls that resolve a name.
const RESOLVING: [&str; 4] =
    ["store.bucket(", "store.vector_bucket(", "store.vector_bucket_with_policy(", "store.index("];
/// Calls that delete everything, locked or not.
const RESETS: [&str; 2] = ["store.reset(", "store.reset_bucket("];

const RULES: &[Rule] = &[
    // The client: arguments at the top; the protocol and files know neither each other nor settings.
    except("client", &["cli", "verbs"], Paths(&["crate::cli"])),
    within("client", &["s3"], Paths(&["crate::local", "crate::session", "crate::target"])),
    within("client", &["local"], Paths(&["crate::s3", "crate::session", "crate::target"])),
    within("client", &["session"], Paths(&["crate::target", "crate::transfer"])),
    // A backup: where objects are and how they are encoded know nothing of each other; one module speaks S3.
    within("backup", &["seal"], Paths(&["crate::target"])),
    within("backup", &["target"], Paths(&["crate::seal"])),
    except("backup", &["target::s3"], Paths(&["liteio_client", "tokio"])),
    in_all("backup", Paths(&["std::fs", "std::env", "std::time::SystemTime", "getrandom"])),
    // Only one module of the key space knows this engine.
    except("kv", &["engine::on_redb"], Paths(&["redb"])),
    in_all("store", Paths(&["redb"])),
    // The parts beneath the threads of the key space do not know them.
    within(
        "kv",
        &[
            "config",
            "cursor",
            "engine",
            "layers",
            "local",
            "log",
            "memtable",
            "merge",
            "run",
            "transaction",
            "view",
        ],
        Paths(&[
            "crate::committer",
            "crate::drain",
            "crate::drainer",
            "crate::home",
            "crate::pace",
            "crate::shared",
            "crate::syncer",
        ]),
    ),
    // Only `disk` knows files; time, chance and settings come from outside.
    // A database has its own time, and settings come from outside.
    in_all("postgres", Paths(&["std::env", "std::time::Instant", "getrandom"])),
    within("postgres", &["session", "tls", "pool"], Paths(&["crate::commit", "crate::fetch"])),
    in_all("kv", Paths(&["std::fs", "std::env", "std::time::SystemTime", "getrandom"])),
    in_all("store", Paths(&["std::fs", "std::env", "std::time::SystemTime", "getrandom"])),
    except("disk", &["clock"], Paths(&["std::time::SystemTime"])),
    except("disk", &["random"], Paths(&["getrandom"])),
    // Records and blobs never see each other, and nothing below sees what is above.
    within("store", &["meta"], Paths(&["liteio_blob", "crate::vectors"])),
    in_all("blob", Paths(&["std::fs", "std::env", "std::time::SystemTime", "getrandom"])),
    within(
        "store",
        &["meta"],
        Paths(&["crate::bucket", "crate::object", "crate::multipart", "crate::store"]),
    ),
    // Only blobs in object storage know the network, and only with the feature `cluster`.
    except(
        "blob",
        &["remote"],
        Paths(&["futures_util", "hyper", "hyper_util", "object_store", "rustls", "tokio"]),
    ),
    // State in memory knows no operation.
    within(
        "store",
        &["process", "indexes"],
        Paths(&[
            "crate::store",
            "crate::bucket",
            "crate::object",
            "crate::multipart",
            "crate::vectors",
        ]),
    ),
    // Whether a process is alone is decided in one place, and nothing else can ask.
    except("store", &["process"], Paths(&["crate::process::alone"])),
    // Of the disk, HTTP knows the clock only.
    in_all(
        "wire",
        Paths(&[
            "liteio_disk::Disk",
            "liteio_disk::DiskFile",
            "liteio_disk::RealDisk",
            "liteio_disk::DirectoryLock",
        ]),
    ),
    // The bottom: modules that everything shares know none of their users.
    within(
        "wire",
        &["reply", "budget", "connection", "origin"],
        Paths(&["crate::front", "crate::serve", "crate::tls"]),
    ),
    within("wire", &["front"], Paths(&["crate::serve"])),
    // Policies and access control lists do not read each other.
    within("policy", &["acl"], Paths(&["crate::json", "crate::request", "crate::statement"])),
    except(
        "admin",
        &[
            "minio",
            "console::keys",
            "console::oidc",
            "console::routes",
            "metrics::access",
            "metrics::routes",
            "operational",
            "operator",
        ],
        Paths(&["axum"]),
    ),
    // Handlers reach blocking threads through `state`; a lane outlives the call that starts it.
    except("access", &["offload"], Code(&["spawn_blocking"])),
    except("access", &["state"], Paths(&["crate::offload"])),
    except("s3", &["lane"], Paths(&["liteio_access::offload"])),
    except("server", &["minio_volume", "open"], Paths(&["liteio_access::offload"])),
    in_all("s3vectors", Paths(&["liteio_access::offload"])),
    in_all("tables", Paths(&["liteio_access::offload"])),
    in_all("iam", Paths(&["liteio_access::offload"])),
    // Only the top knows that there are several services.
    except("server", &["server", "dispatch"], Paths(&["crate::dispatch"])),
    // Whether there is one space or those of the test API.
    except("server", &["server", "dispatch", "spaces"], Paths(&["crate::spaces"])),
    except("server", &["server", "spaces"], Paths(&["crate::open"])),
    except("server", &["dispatch", "health"], Paths(&["liteio_admin::operational"])),
    // Decisions know neither protocols nor the state of a server.
    within(
        "access",
        &[
            "action",
            "decision",
            "documents",
            "granted",
            "principal",
            "resource",
            "tables",
            "vectors",
        ],
        Paths(&["crate::state", "http", "hyper", "liteio_wire::front", "liteio_wire::serve"]),
    ),
    // A name is resolved once, with the decision about it; the rest works on what was granted: all other
    // methods of the store take the result. Buckets of the start, and those of an import, are made while
    // there are no requests.
    except("access", &["granted"], Paths(&["liteio_store::BucketName"])),
    except(
        "import",
        &["target", "prepare::buckets", "prepare::settings"],
        Paths(&["liteio_store::BucketName"]),
    ),
    except("testkit", &["control"], Paths(&["liteio_store::BucketName"])),
    in_all("s3", Paths(&["liteio_store::BucketName"])),
    in_all("s3vectors", Paths(&["liteio_store::BucketName"])),
    in_all("tables", Paths(&["liteio_store::BucketName"])),
    in_all("server", Paths(&["liteio_store::BucketName"])),
    in_all("reports", Paths(&["liteio_store::BucketName"])),
    except("access", &["granted", "vectors"], Code(&RESOLVING)),
    except("import", &["target", "prepare::buckets"], Code(&RESOLVING)),
    in_all("s3", Code(&RESOLVING)),
    in_all("s3vectors", Code(&RESOLVING)),
    in_all("tables", Code(&RESOLVING)),
    in_all("reports", Code(&RESOLVING)),
    in_all("admin", Code(&RESOLVING)),
    in_all("server", Code(&RESOLVING)),
    // Locks do not protect versions from a reset, which is for tests.
    except("testkit", &["control"], Code(&RESETS)),
    in_all("s3", Code(&RESETS)),
    in_all("server", Code(&RESETS)),
    // Access logs and inventories have one path into buckets, which has the permission.
    except("reports", &["deliver"], Code(&["store.put_object(", "begin_body("])),
    // S3's handlers run on the threads of connections. What they do with the store there by themselves is
    // writing, which waits elsewhere; they read through `App::look`, `App::blocking` and
    // `App::read_piece`, and ask for what no record says by `App::ask`. The handlers of S3 Vectors run on a blocking thread as a whole.
    in_all(
        "s3",
        AllBut(
            "app.store",
            &[
                "abort_upload",
                "begin_body",
                "begin_resync",
                "cancel_resync",
                "change_document",
                "annotate_object",
                "change_object",
                "complete_upload",
                "create_bucket",
                "create_upload",
                "delete_bucket",
                "delete_document",
                "append_object",
                "delete_object",
                "delete_objects",
                "delete_replica",
                "put_document",
                "put_object",
                "put_part",
                "rename_object",
                "replicate_marker",
                "set_default_encryption",
                "set_lifecycle",
                "set_notifications",
                "set_object_lock",
                "set_replication",
                "set_versioning",
                // In memory.
                "begin_body_in_memory",
                "is_room_low",
                // For a lane, which has the store on its threads.
                "clone",
            ],
        ),
    ),
    // The operations know no sockets, and nothing imports the table of operations.
    in_all("s3", Paths(&["liteio_wire::serve", "liteio_wire::tls", "crate::dispatch"])),
    in_all("s3vectors", Paths(&["liteio_wire::serve", "liteio_wire::tls", "liteio_wire::front"])),
    in_all("tables", Paths(&["liteio_wire::serve", "liteio_wire::tls", "liteio_wire::front"])),
    // Vectors know files through `disk` and ask no clock, and the finer parts know nothing of the whole.
    in_all(
        "vector",
        Paths(&["std::fs", "std::env", "std::time::Instant", "std::time::SystemTime"]),
    ),
    within("vector", &["slots", "distance", "codes"], Paths(&["crate::index", "crate::search"])),
    except("disk", &["real", "replace", "lock", "memory"], Paths(&["std::fs"])),
];

impl Rule {
    fn binds(&self, module: &Module) -> bool {
        let is_within = self.within.is_empty() || module.is_within(self.within);
        is_within && !module.is_within(self.except)
    }

    /// The banned that stands in a module, bound or not.
    fn banned_in(&self, module: &Module) -> Vec<String> {
        match self.ban {
            Paths(banned) => {
                let is_banned = |path: &&String| banned.iter().any(|it| is_below(path, it));
                module.paths.iter().filter(is_banned).cloned().collect()
            }
            Code(banned) => {
                let found = banned.iter().filter(|code| module.code.contains(**code));
                found.map(|code| (*code).to_owned()).collect()
            }
            AllBut(value, methods) => {
                let uses = module.code.split(value).skip(1);
                let called =
                    |rest: &str| rest.strip_prefix('.')?.split_once('(').map(|it| it.0.to_owned());
                let methods = |method: &String| methods.contains(&&**method);
                let banned =
                    uses.map(called).filter(|method| !method.as_ref().is_some_and(methods));
                banned.map(|method| format!("{value} {method:?}")).collect()
            }
        }
    }

    /// A line for each break of the rule.
    fn broken(&self, modules: &[Module]) -> Vec<String> {
        let bound = modules.iter().filter(|module| self.binds(module));
        let banned = bound.flat_map(|module| {
            let file = module.file.display();
            self.banned_in(module).into_iter().map(move |it| format!("{file} names {it}"))
        });
        banned.collect()
    }

    /// Code that breaks the rule, a piece for each thing that it bans.
    fn breaking(&self) -> Vec<String> {
        let code = |code: &&str| match code.strip_suffix('(') {
            Some(call) => format!("fn f(store: Store) {{ {call}(name) }}"),
            None => format!("fn f() {{ {code}(work) }}"),
        };
        match self.ban {
            Paths(banned) => banned.iter().map(|path| format!("use {path}::Thing;")).collect(),
            Code(banned) => banned.iter().map(code).collect(),
            AllBut(value, _) => ["", ".object(name)", ".put_objects(name)"]
                .map(|used| format!("fn f() {{ g({value}{used}) }}"))
                .to_vec(),
        }
    }
}

/// Crates without circles between the modules of their root. That a circle would be found is tested
/// beside `circles`.
const WITHOUT_CIRCLES: [&str; 30] = [
    "access",
    "admin",
    "applets",
    "auth",
    "backup",
    "bench",
    "blob",
    "checksum",
    "client",
    "disk",
    "iam",
    "iceberg",
    "identity",
    "import",
    "kv",
    "observe",
    "policy",
    "postgres",
    "replicate",
    "reports",
    "s3",
    "s3vectors",
    "server",
    "space",
    "store",
    "tables",
    "testkit",
    "tier",
    "vector",
    "wire",
];

/// Modules that are in circles, by crate.
const IN_CIRCLES: &[(&str, &[&str])] = &[
    // The threads of the key space, which share their state.
    ("kv", &["committer", "drain", "drainer", "home", "pace", "shared", "syncer"]),
];

/// The modules of every crate, read once for all tests.
static MODULES: LazyLock<BTreeMap<&str, Vec<Module>>> =
    LazyLock::new(|| WITHOUT_CIRCLES.map(|package| (package, modules(package))).into());

#[test]
fn code_keeps_to_the_rules() {
    let broken: Vec<String> =
        RULES.iter().flat_map(|rule| rule.broken(&MODULES[rule.package])).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// A rule about what is not there binds nobody.
#[test]
fn rules_speak_of_what_is_there() {
    for (package, _) in IN_CIRCLES {
        assert!(!circles(&MODULES[package]).is_empty(), "{package} has no circles: mend the rule");
    }
    for rule in RULES {
        let (package, modules) = (rule.package, &MODULES[rule.package]);
        let is_module = |name: &str| modules.iter().any(|module| module.is_within(&[name]));
        for name in rule.within.iter().chain(rule.except) {
            assert!(is_module(name), "{package} has no module {name}: mend this rule");
        }
        for name in rule.except {
            let mut excepted = modules.iter().filter(|module| module.is_within(&[name]));
            let is_needed = excepted.any(|module| !rule.banned_in(module).is_empty());
            assert!(is_needed, "{package}: {name} needs no exception: mend this rule");
        }
        match rule.ban {
            Paths(banned) => {
                for name in banned.iter().filter_map(|path| path.strip_prefix("crate::")) {
                    assert!(is_module(name), "{package} has no module {name}: mend this rule");
                }
            }
            // There is an exception that needs it, here or in another crate.
            Code(banned) => {
                let is_same = |it: &&Rule| matches!(it.ban, Code(other) if other == banned);
                let has_exception = RULES.iter().filter(is_same).any(|it| !it.except.is_empty());
                assert!(has_exception, "nobody calls {banned:?}");
            }
            AllBut(value, methods) => {
                let code: Vec<&str> = modules.iter().map(|module| &*module.code).collect();
                for method in methods {
                    let call = format!("{value}.{method}(");
                    assert!(code.iter().any(|code| code.contains(&call)), "nobody calls {call})");
                }
            }
        }
    }
}

#[test]
fn every_rule_can_be_broken() {
    for rule in RULES {
        let within = if rule.within.is_empty() { &[""] } else { rule.within };
        for code in rule.breaking() {
            for parent in within {
                let broken = rule.broken(&modules_of(&[(&format!("{parent}::intruder"), &code)]));
                assert_eq!(broken.len(), 1, "{} {parent}: {code} {broken:?}", rule.package);
            }
            for name in rule.except {
                assert_eq!(rule.broken(&modules_of(&[(name, &code)])), [""; 0], "{name}: {code}");
            }
        }
        let modules = &MODULES[rule.package];
        assert!(modules.iter().any(|module| rule.binds(module)), "nobody is bound");
    }
}

/// A caller of the key space has transactions, snapshots, cursors and values of some kind, and nothing
/// tells it of which: their kinds are private, and no method returns one.
#[test]
fn nobody_asks_which_kind_of_key_space_it_has() {
    let faces = ["transaction", "view", "cursor", "handle"];
    for module in MODULES["kv"].iter().filter(|module| module.is_within(&faces)) {
        for told in ["pubenum", "pubfnkind", "pubfnis_local", "pubfnis_shared", "pubfnlocal"] {
            assert!(!module.code.contains(told), "{:?} has {told}", module.file);
        }
    }
    let kinds = ["liteio_kv::Kind", "liteio_kv::LocalTransaction", "liteio_kv::EngineKind"];
    let may_ask = ["process"];
    for module in MODULES["store"].iter().filter(|module| !module.is_within(&may_ask)) {
        let asked = module.paths.iter().find(|path| kinds.iter().any(|kind| is_below(path, kind)));
        assert_eq!(asked, None, "{:?}", module.file);
    }
}

#[test]
fn modules_use_each_other_in_one_direction() {
    let mut found = Vec::new();
    for package in WITHOUT_CIRCLES {
        let known = IN_CIRCLES.iter().find(|(within, _)| *within == package);
        let is_free = |it: &&Module| known.is_none_or(|(_, names)| !it.is_within(names));
        let modules: Vec<Module> = MODULES[package].iter().filter(is_free).cloned().collect();
        found.extend(circles(&modules).into_iter().map(|circle| format!("{package}: {circle}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Packages, the packages of ours that each depends on directly, and others that only some name in their manifest.
const PACKAGES: [(&str, &[&str], &[&str]); 30] = [
    ("liteio-disk", &[], &["getrandom", "rustix"]),
    ("liteio-kv", &["disk"], &["redb"]),
    ("liteio-postgres", &["kv"], &["rustls", "tokio", "tokio-postgres"]),
    ("liteio-vector", &["disk"], &["rustix"]),
    ("liteio-checksum", &[], &["serde"]),
    // Without its feature `cluster`, which brings hyper, rustls and tokio.
    ("liteio-blob", &["disk"], &[]),
    ("liteio-store", &["blob", "checksum", "disk", "kv", "vector"], &["serde"]),
    (
        "liteio-client",
        &[],
        &["clap", "getrandom", "hyper", "quick-xml", "rustix", "rustls", "serde", "tokio"],
    ),
    ("liteio-backup", &["client", "disk", "kv", "store"], &["serde", "tokio"]),
    ("liteio-wire", &["disk"], &["hyper", "rustix", "rustls", "tokio"]),
    ("liteio-policy", &[], &["serde"]),
    ("liteio-iceberg", &[], &["serde"]),
    ("liteio-identity", &["policy", "store"], &["serde"]),
    ("liteio-auth", &["identity", "wire"], &["quick-xml"]),
    ("liteio-access", &["auth", "identity", "policy", "store", "wire"], &["tokio"]),
    ("liteio-iam", &["access", "auth", "identity", "policy", "store", "wire"], &["serde", "tokio"]),
    ("liteio-s3", &["access", "auth", "policy", "store", "wire"], &["quick-xml", "s3s", "tokio"]),
    ("liteio-s3vectors", &["access", "auth", "policy", "store", "wire"], &["serde"]),
    (
        "liteio-tables",
        &["access", "auth", "iceberg", "identity", "policy", "store", "wire"],
        &["tokio"],
    ),
    (
        "liteio-observe",
        &["access", "client", "identity", "store", "wire"],
        &["async-nats", "redis", "rustix", "serde", "tokio"],
    ),
    ("liteio-tier", &["access", "client", "store"], &["tokio"]),
    (
        "liteio-admin",
        &["access", "auth", "client", "iam", "identity", "observe", "store", "tier", "wire"],
        &["axum", "rustix", "serde", "tokio"],
    ),
    ("liteio-replicate", &["access", "client", "s3", "store"], &["getrandom", "tokio"]),
    (
        "liteio-reports",
        &["access", "observe", "policy", "s3", "store", "wire"],
        &["serde", "tokio"],
    ),
    (
        "liteio-space",
        &[
            "access",
            "auth",
            "iam",
            "observe",
            "replicate",
            "reports",
            "s3",
            "s3vectors",
            "tables",
            "tier",
            "wire",
        ],
        &[],
    ),
    (
        "liteio-testkit",
        &["access", "auth", "observe", "s3", "s3vectors", "space", "store", "wire"],
        &["getrandom", "serde", "tokio"],
    ),
    (
        "liteio-import",
        // Users of a MinIO become records by the functions of its admin API, which `iam` has.
        &["access", "client", "iam", "identity", "policy", "s3", "store", "wire"],
        &["clap", "rustix", "serde", "tokio"],
    ),
    ("liteio-applets", &["client", "wire"], &["hyper", "rustix", "rustls", "tokio"]),
    (
        "liteio",
        &[
            "access",
            "admin",
            "applets",
            "auth",
            "backup",
            "client",
            "iam",
            "identity",
            "import",
            "observe",
            "policy",
            "postgres",
            "reports",
            "s3",
            "s3vectors",
            "space",
            "store",
            "tables",
            "testkit",
            "wire",
        ],
        &["clap", "getrandom", "rustix", "rustls", "serde", "tokio"],
    ),
    (
        "liteio-bench",
        &["disk", "kv", "store", "vector"],
        &["clap", "hyper", "redb", "rustix", "serde", "tokio"],
    ),
];

/// Packages of others that a crate names in its manifest only where [`PACKAGES`] says so.
const NAMED: [&str; 14] = [
    "async-nats",
    "axum",
    "clap",
    "getrandom",
    "hyper",
    "quick-xml",
    "redb",
    "redis",
    "rustix",
    "rustls",
    "s3s",
    "serde",
    "tokio",
    "tokio-postgres",
];

/// Packages that must be nowhere in the tree of any of ours.
const NOWHERE: [&str; 5] = ["async-std", "aws-sigv4", "native-tls", "openssl", "reqwest"];

/// Packages that must be nowhere in the tree of the crates that know no network, and these crates.
const OF_THE_NETWORK: [&str; 8] =
    ["axum", "http", "hyper", "quick-xml", "s3s", "serde_json", "tokio", "tracing"];
const WITHOUT_NETWORK: [&str; 6] =
    ["liteio-blob", "liteio-checksum", "liteio-disk", "liteio-kv", "liteio-store", "liteio-vector"];

#[test]
fn packages_depend_only_on_what_they_may() {
    for (package, ours, named) in PACKAGES {
        let no_network = if WITHOUT_NETWORK.contains(&package) { &OF_THE_NETWORK[..] } else { &[] };
        let nowhere = [&NOWHERE[..], no_network].concat();
        let own = ours.iter().map(|name| format!("liteio-{name}"));
        let known: BTreeSet<String> = own.chain(named.iter().map(|it| (*it).to_owned())).collect();
        let tree = tree(package);
        assert_eq!(wrong_in(&tree, &nowhere, &known), [""; 0], "{package}");
        for banned in &nowhere {
            let tree = format!("{tree}\n7{banned} v1.0.0");
            assert_eq!(wrong_in(&tree, &nowhere, &known), [*banned], "{package}");
        }
        for unknown in ["liteio-new", "axum", "s3s"] {
            let is_known = known.contains(unknown);
            let found = wrong_in(&format!("0{package} v0\n1{unknown} v1.0.0"), &[], &known);
            assert_eq!(found.is_empty(), is_known, "{package}: {unknown}");
        }
        // What is allowed is needed.
        let direct: BTreeSet<&str> = direct(&tree).collect();
        for name in &known {
            assert!(direct.contains(&**name), "{package} does not use {name}: mend the table");
        }
    }
}

/// Everything that `package` depends on outside of tests. A line is the depth, the name right behind it,
/// the version.
fn tree(package: &str) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--edges", "normal", "--prefix", "depth", "--format", "{p}"])
        .args(["--package", package])
        .current_dir(crates())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("names are text");
    // An empty tree would allow everything.
    assert!(text.contains("\n1") && text.contains("\n2"), "{package}: {text}");
    text
}

/// Name and depth of a line of a tree.
fn parsed(line: &str) -> (&str, &str) {
    let name = line.trim_start_matches(|character: char| character.is_ascii_digit());
    (name.split(' ').next().unwrap_or_default(), &line[..line.len() - name.len()])
}

/// Names right below the root of a tree.
fn direct(tree: &str) -> impl Iterator<Item = &str> {
    tree.lines().map(parsed).filter(|(_, depth)| *depth == "1").map(|(name, _)| name)
}

/// Packages of a tree that must be nowhere in it, and packages right below its root that are ours or [`NAMED`] but not
/// known.
fn wrong_in(tree: &str, nowhere: &[&str], known: &BTreeSet<String>) -> Vec<String> {
    let below = tree.lines().map(parsed).filter(|(_, depth)| *depth != "0").map(|(name, _)| name);
    let banned = below.filter(|name| nowhere.contains(name));
    let is_watched = |name: &&str| name.starts_with("liteio") || NAMED.contains(name);
    let unknown = direct(tree).filter(is_watched).filter(|name| !known.contains(*name));
    let wrong: BTreeSet<String> = banned.chain(unknown).map(str::to_owned).collect();
    wrong.into_iter().collect()
}
