//! The settings of the server as MinIO's client reads them: lines `subsystem[:target] key=value …`, encrypted.
//!
//! Settings are made at the start and cannot be changed here, so the operations that change them are not implemented.

use std::sync::Arc;

use axum::extract::State;
use serde_json::{Value, json};

use super::call::{Call, json};
use super::{Admin, Answer};
use liteio_iam::minio::invalid_argument;
use liteio_wire::reply::ApiError;

/// A key of a subsystem, with its description.
type Key = (&'static str, &'static str);

/// A subsystem of MinIO's settings that has a counterpart here.
struct Subsystem {
    name: &'static str,
    description: &'static str,
    has_targets: bool,
    keys: &'static [Key],
}

const SUBSYSTEMS: [Subsystem; 8] = [
    Subsystem {
        name: "api",
        description: "settings of the S3 API",
        has_targets: false,
        keys: &[("cors_allow_origin", "origins whose pages may send requests (--cors-origin)")],
    },
    Subsystem {
        name: "compression",
        description: "compression of objects, which LiteIO does not have",
        has_targets: false,
        keys: &[("enable", "always off")],
    },
    Subsystem {
        name: "notify_nats",
        description: "NATS servers for events (--event-target, --event-target-file)",
        has_targets: true,
        keys: &[
            ("endpoint", "host and port, without user and password"),
            ("queue_limit", "events that wait at most (--event-queue)"),
        ],
    },
    Subsystem {
        name: "notify_redis",
        description: "Redis servers for events (--event-target, --event-target-file)",
        has_targets: true,
        keys: &[
            ("endpoint", "host and port, without user and password"),
            ("queue_limit", "events that wait at most (--event-queue)"),
        ],
    },
    Subsystem {
        name: "notify_sqs",
        description: "queues of SQS for events (--event-target, --event-target-file)",
        has_targets: true,
        keys: &[
            ("endpoint", "URL without its path"),
            ("queue_limit", "events that wait at most (--event-queue)"),
        ],
    },
    Subsystem {
        name: "notify_webhook",
        description: "webhooks of events (--webhook, --event-target-file)",
        has_targets: true,
        keys: &[
            ("endpoint", "URL without its path, which may be a secret"),
            ("queue_limit", "events that wait at most (--event-queue)"),
        ],
    },
    Subsystem {
        name: "region",
        description: "region of the server (--region)",
        has_targets: false,
        keys: &[("name", "name of the region")],
    },
    Subsystem {
        name: "site",
        description: "name and region of the server (--region)",
        has_targets: false,
        keys: &[("name", "always empty"), ("region", "name of the region")],
    },
];

fn find(name: &str) -> Result<&'static Subsystem, ApiError> {
    SUBSYSTEMS.iter().find(|subsystem| subsystem.name == name).ok_or_else(|| {
        let name: String = name.chars().take(64).collect();
        let known: Vec<&str> = SUBSYSTEMS.iter().map(|subsystem| subsystem.name).collect();
        invalid_argument(format!(
            "LiteIO has no settings of the subsystem {name}. It shows {}; `liteio server --help` lists all options.",
            known.join(", ")
        ))
    })
}

/// The settings of one subsystem, or of one of its targets.
pub(super) async fn get(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let key = call.begin("AdminGetConfigKV", &["key"])?.required("key")?.to_owned();
    may(&admin, &call)?;
    let (name, target) = match key.split_once(':') {
        Some((name, target)) => (name, Some(target)),
        None => (key.as_str(), None),
    };
    let subsystem = find(name)?;
    let lines = lines(&admin, subsystem.name, call.user_name(), target);
    if let (Some(target), true) = (target, lines.is_empty()) {
        let target: String = target.chars().take(64).collect();
        return Err(invalid_argument(format!("{name} has no target {target}.")).into());
    }
    call.seal_bytes(&admin, lines.concat().into_bytes()).await
}

/// The descriptions of the subsystems, or of the keys of one.
pub(super) async fn help(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let query = call.begin("AdminHelpConfigKV", &["subSys", "key", "env"])?;
    may(&admin, &call)?;
    let row = |key: &str, description: &str, many: bool| {
        json!({
            "key": key, "description": description, "optional": true, "type": "string",
            "multipleTargets": many,
        })
    };
    let told = match query.text("subSys") {
        "" => {
            let all = SUBSYSTEMS.iter();
            let rows: Vec<Value> =
                all.map(|it| row(it.name, it.description, it.has_targets)).collect();
            json!({ "subSys": "", "description": "", "multipleTargets": false, "keysHelp": rows })
        }
        name => {
            let subsystem = find(name)?;
            let wanted = query.text("key");
            let keys = subsystem.keys.iter().filter(|(key, _)| wanted.is_empty() || *key == wanted);
            let rows: Vec<Value> =
                keys.map(|(key, description)| row(key, description, false)).collect();
            json!({
                "subSys": subsystem.name,
                "description": subsystem.description,
                "multipleTargets": subsystem.has_targets,
                "keysHelp": rows,
            })
        }
    };
    json(&told)
}

/// Checks that the sender may read the settings, which are those of the first account.
fn may(admin: &Admin, call: &Call) -> Result<(), ApiError> {
    call.may(&["admin:ConfigUpdate"])?;
    admin.manager.read(call.sender(), |desk| desk.may_see_server())
}

fn lines(admin: &Admin, subsystem: &str, user: &str, target: Option<&str>) -> Vec<String> {
    let app = &admin.app;
    let line = |subsystem: &str, pairs: &[(&str, &str)]| {
        let pairs: Vec<String> =
            pairs.iter().map(|(key, value)| format!("{key}={}", quoted(value))).collect();
        format!("{subsystem} {} \n", pairs.join(" "))
    };
    match (subsystem, target) {
        ("notify_nats" | "notify_redis" | "notify_sqs" | "notify_webhook", target) => {
            let kind = subsystem.trim_start_matches("notify_");
            let limit = app.ask(|store| store.events_waiting_max()).to_string();
            let open = app.event_targets.iter();
            let open = open.filter(|it| it.kind == kind && it.is_open_to(user));
            let wanted = open.filter(|it| target.is_none_or(|target| it.name == target));
            let lines = wanted.map(|it| {
                let name = format!("{subsystem}:{}", it.name);
                line(&name, &[("endpoint", &it.origin), ("queue_limit", &limit)])
            });
            let lines: Vec<String> = lines.collect();
            match (lines.is_empty(), target) {
                (true, None) => vec![line(subsystem, &[("enable", "off"), ("endpoint", "")])],
                _ => lines,
            }
        }
        (_, Some(_)) => Vec::new(),
        ("api", None) => {
            let rules = app.cors.iter().flat_map(|cors| &cors.rules);
            let origins: Vec<&str> =
                rules.flat_map(|rule| &rule.origins).map(String::as_str).collect();
            vec![line(subsystem, &[("cors_allow_origin", &origins.join(","))])]
        }
        ("region", None) => vec![line(subsystem, &[("name", &app.region)])],
        ("site", None) => vec![line(subsystem, &[("name", ""), ("region", &app.region)])],
        (_, None) => vec![line(subsystem, &[("enable", "off")])],
    }
}

/// A value; in quotes if it has spaces.
fn quoted(value: &str) -> String {
    match value.contains(char::is_whitespace) {
        true => format!("\"{value}\""),
        false => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subsystem_that_there_is_not_is_refused_with_those_that_there_are() {
        assert!(SUBSYSTEMS.iter().map(|it| it.name).is_sorted());
        let error = find("identity_ldap").err().expect("refused").to_string();
        assert!(error.contains("identity_ldap") && error.contains("notify_webhook"), "{error}");
        assert_eq!((quoted("a"), quoted("a b")), ("a".to_owned(), "\"a b\"".to_owned()));
    }
}
