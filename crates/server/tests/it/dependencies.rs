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

const RULES: [Rule; 38] = [
    // The client: arguments at the top; the protocol and files know neither each other nor settings.
    except("client", &["verbs"], Paths(&["crate::cli"])),
    within("client", &["s3"], Paths(&["crate::local", "crate::session", "crate::target"])),
    within("client", &["local"], Paths(&["crate::s3", "crate::session", "crate::target"])),
    within("client", &["session"], Paths(&["crate::target", "crate::transfer"])),
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
    in_all("kv", Paths(&["std::fs", "std::env", "std::time::SystemTime", "getrandom"])),
    in_all("store", Paths(&["std::fs", "std::env", "getrandom"])),
    except("store", &["clock"], Paths(&["std::time::SystemTime"])),
    except("disk", &["random"], Paths(&["getrandom"])),
    // Records and blobs never see each other, and nothing below sees what is above.
    within("store", &["meta"], Paths(&["crate::blob", "crate::vectors"])),
    within("store", &["blob"], Paths(&["crate::meta", "liteio_kv"])),
    within(
        "store",
        &["meta", "blob"],
        Paths(&["crate::bucket", "crate::object", "crate::multipart", "crate::store"]),
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
    // The server reaches the store through its front door.
    in_all("server", Paths(&["redb", "liteio_disk", "liteio_kv", "liteio_vector"])),
    // The typed layer is an inside of `s3`.
    except("server", &["s3"], Paths(&["s3s"])),
    except(
        "server",
        &[
            "admin",
            "console::routes",
            "metrics::access",
            "metrics::routes",
            "operational",
            "operator",
            "trace::routes",
        ],
        Paths(&["axum"]),
    ),
    // The bottom: what everything shares knows nothing of those who use it.
    within(
        "server",
        &["reply", "budget", "connection", "origin", "offload", "state"],
        Paths(&[
            "crate::auth",
            "crate::config",
            "crate::dispatch",
            "crate::front",
            "crate::operational",
            "crate::s3",
            "crate::serve",
            "crate::vectors",
        ]),
    ),
    // Handlers reach blocking threads through `state`; a lane outlives the call that starts it.
    except("server", &["offload"], Code(&["spawn_blocking"])),
    except("server", &["open", "state", "s3::lane"], Paths(&["crate::offload"])),
    // Only the top knows that there are several services.
    except("server", &["server"], Paths(&["crate::dispatch", "crate::open"])),
    except("server", &["dispatch", "health", "operational"], Paths(&["crate::operational"])),
    // What stands before the services does not know them.
    within(
        "server",
        &["front", "serve"],
        Paths(&["crate::auth", "crate::s3", "crate::state", "crate::vectors", "liteio_store"]),
    ),
    within("server", &["front"], Paths(&["crate::serve"])),
    within(
        "server",
        &["auth"],
        Paths(&["crate::front", "crate::s3", "crate::state", "crate::config", "liteio_store"]),
    ),
    // Decisions know neither protocols nor the services that ask for them.
    within(
        "server",
        &["access"],
        Paths(&[
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
        ]),
    ),
    // A name is resolved once, with the decision about it; the rest works on what was granted: all other
    // methods of the store take what these return. Buckets of the start, and those of an import, are made while
    // there are no requests.
    except(
        "server",
        &["access", "config::buckets", "import::target", "prepare::buckets", "test_api::control"],
        Paths(&["liteio_store::BucketName"]),
    ),
    except(
        "server",
        &["access::granted", "access::vectors", "import::target", "prepare::buckets"],
        Code(&[
            "store.bucket(",
            "store.vector_bucket(",
            "store.vector_bucket_with_policy(",
            "store.index(",
        ]),
    ),
    // Locks do not protect versions from a reset, which is for tests.
    except("server", &["test_api::control"], Code(&["store.reset(", "store.reset_bucket("])),
    // S3's handlers run on the threads of connections. What they do with the store there by themselves is
    // writing, which waits elsewhere; they read through `App::look`, `App::blocking` and
    // `App::next_piece`. The handlers of S3 Vectors run on a blocking thread as a whole.
    within(
        "server",
        &["s3"],
        AllBut(
            "app.store",
            &[
                "abort_upload",
                "begin_body",
                "change_document",
                "change_object",
                "complete_upload",
                "create_bucket",
                "create_upload",
                "delete_bucket",
                "delete_document",
                "append_object",
                "delete_object",
                "delete_objects",
                "put_document",
                "put_object",
                "put_part",
                "rename_object",
                "set_default_encryption",
                "set_lifecycle",
                "set_notifications",
                "set_object_lock",
                "set_versioning",
                // For a lane, which has the store on its threads.
                "clone",
            ],
        ),
    ),
    // The operations know neither sockets nor settings.
    within(
        "server",
        &["s3", "vectors"],
        Paths(&["crate::serve", "crate::server", "crate::config", "crate::cli"]),
    ),
    within("server", &["s3"], Paths(&["crate::vectors"])),
    within("server", &["vectors"], Paths(&["crate::s3", "crate::front"])),
    in_all("server", Paths(&["crate::s3::dispatch"])),
    // Vectors know files through `disk` and ask no clock, and the finer parts know nothing of the whole.
    in_all(
        "vector",
        Paths(&["std::fs", "std::env", "std::time::Instant", "std::time::SystemTime"]),
    ),
    within("vector", &["slots", "distance", "codes"], Paths(&["crate::index", "crate::search"])),
    except("disk", &["real", "lock", "memory"], Paths(&["std::fs"])),
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
const WITHOUT_CIRCLES: [&str; 7] = ["bench", "client", "disk", "kv", "server", "store", "vector"];

/// Modules that are in circles: the threads of the key space, which share their state.
const IN_CIRCLES: (&str, &[&str]) =
    ("kv", &["committer", "drain", "drainer", "home", "pace", "shared", "syncer"]);

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
    assert!(!circles(&MODULES[IN_CIRCLES.0]).is_empty(), "there are no circles: mend the rule");
    for rule in &RULES {
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
            // There is an exception that needs it.
            Code(_) => assert!(!rule.except.is_empty()),
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
    for rule in &RULES {
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

#[test]
fn modules_use_each_other_in_one_direction() {
    for package in WITHOUT_CIRCLES {
        let (within, names) = IN_CIRCLES;
        let is_free = |it: &&Module| package != within || !it.is_within(names);
        let modules: Vec<Module> = MODULES[package].iter().filter(is_free).cloned().collect();
        let circles = circles(&modules);
        assert!(circles.is_empty(), "{package}:\n{}", circles.join("\n"));
    }
}

/// Packages, what must be nowhere in their tree, and what they must not name in their manifest.
const PACKAGES: [(&str, &[&str], &[&str]); 6] = [
    (
        "liteio-client",
        &[
            "liteio-disk",
            "liteio-kv",
            "liteio-store",
            "liteio-vector",
            "liteio",
            "redb",
            "s3s",
            "axum",
        ],
        &["aws-sigv4", "reqwest"],
    ),
    ("liteio-disk", &["liteio-kv", "liteio-store", "liteio", "redb", "serde", "bytes"], &[]),
    (
        "liteio-kv",
        &["liteio-store", "liteio-vector", "liteio", "serde", "bytes", "tracing"],
        &["getrandom", "rustix"],
    ),
    ("liteio-store", &["liteio", "clap", "tracing"], &["getrandom", "redb", "rustix"]),
    (
        "liteio-vector",
        &["liteio-kv", "liteio-store", "liteio", "redb", "serde", "bytes", "tracing"],
        &[],
    ),
    ("liteio", &["openssl", "native-tls", "async-std"], &["liteio-disk", "liteio-kv", "redb"]),
];

/// Packages that must be nowhere in the tree of any of them but the server and the client.
const OF_THE_SERVER: [&str; 8] =
    ["async-std", "axum", "http", "hyper", "s3s", "serde_json", "quick-xml", "tokio"];

#[test]
fn packages_depend_only_on_what_they_may() {
    for (package, nowhere, not_direct) in PACKAGES {
        let of_server = match package {
            "liteio" | "liteio-client" => &[][..],
            _ => &OF_THE_SERVER,
        };
        let tree = tree(package);
        let check = |tree: &str| wrong_in(tree, &[nowhere, of_server].concat(), not_direct);
        assert_eq!(check(&tree), [""; 0], "{package}");
        for banned in nowhere.iter().chain(of_server) {
            assert_eq!(check(&format!("{tree}\n7{banned} v1.0.0")), [*banned], "{package}");
        }
        for banned in not_direct {
            assert_eq!(check(&format!("{tree}\n1{banned} v1.0.0")), [*banned], "{package}");
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

/// The packages of a tree that are banned, everywhere or right below its root.
fn wrong_in(tree: &str, nowhere: &[&str], not_direct: &[&str]) -> Vec<String> {
    let wrong = tree.lines().filter_map(|line| {
        let name = line.trim_start_matches(|character: char| character.is_ascii_digit());
        let depth = &line[..line.len() - name.len()];
        let name = name.split(' ').next().unwrap_or_default();
        let is_banned = nowhere.contains(&name) || depth == "1" && not_direct.contains(&name);
        (depth != "0" && is_banned).then(|| name.to_owned())
    });
    wrong.collect::<BTreeSet<_>>().into_iter().collect()
}
