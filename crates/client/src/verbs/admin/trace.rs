//! `admin trace`: requests as they are answered, until interrupted.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{get, service};
use crate::cli::TraceArgs;
use crate::error::Error;
use crate::session::Session;
use crate::text::{Flat, human, parse_duration};
use crate::verbs::note::tell;

/// Longest line of a trace.
const LINE_BYTES_MAX: usize = 16 << 20;

pub(super) async fn run(session: &Arc<Session>, arguments: &TraceArgs) -> Result<(), Error> {
    let duration = parse_duration(&arguments.response_duration).map_err(Error::Refused)?;
    let call = get("trace")
        .query("s3", "true")
        .query("internal", if arguments.all { "true" } else { "false" })
        .query("err", if arguments.errors { "true" } else { "false" })
        .query("threshold", format!("{}ms", duration.as_millis()));
    let wanted = Wanted::of(arguments);
    let mut answer = service(session, &arguments.target)?.admin_response(call).await?;
    let mut rest = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        rest.extend_from_slice(&chunk);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            // A blank tells that the server is there.
            let Ok(entry) = serde_json::from_slice::<Value>(&line) else { continue };
            if wanted.includes(&entry) {
                print(session, &entry, arguments.verbose)?;
            }
        }
        if rest.len() > LINE_BYTES_MAX {
            return Err(Error::transport("a line of the trace does not end"));
        }
    }
    Err(Error::transport("the server has ended the trace"))
}

/// The filters that the server does not have.
struct Wanted {
    statuses: Vec<u64>,
    methods: Vec<String>,
    functions: Vec<Flat>,
    paths: Vec<Flat>,
}

impl Wanted {
    fn of(arguments: &TraceArgs) -> Wanted {
        let patterns = |texts: &[String]| texts.iter().map(|text| Flat::new(text)).collect();
        Wanted {
            statuses: arguments.status_code.iter().map(|code| u64::from(*code)).collect(),
            methods: arguments.method.iter().map(|method| method.to_ascii_uppercase()).collect(),
            functions: patterns(&arguments.funcname),
            paths: patterns(&arguments.path),
        }
    }

    fn includes(&self, entry: &Value) -> bool {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let function = text(&entry["funcname"]);
        let short = function.split_once('.').map_or(function.as_str(), |(_, name)| name);
        let (path, method) = (text(&entry["path"]), text(&entry["http"]["request"]["method"]));
        let status = entry["http"]["response"]["statuscode"].as_u64().unwrap_or_default();
        let is_one = |patterns: &[Flat], text: &str| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(text))
        };
        (self.statuses.is_empty() || self.statuses.contains(&status))
            && (self.methods.is_empty() || self.methods.contains(&method))
            && (is_one(&self.functions, short) || is_one(&self.functions, &function))
            && (is_one(&self.paths, &path) || is_one(&self.paths, path.trim_start_matches('/')))
    }
}

fn print(session: &Session, entry: &Value, verbose: bool) -> Result<(), Error> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (request, response) = (&entry["http"]["request"], &entry["http"]["response"]);
    let stats = &entry["http"]["stats"];
    let bytes = |name: &str| stats[name].as_u64().unwrap_or_default();
    let status = response["statuscode"].as_u64().unwrap_or_default();
    let words = u16::try_from(status).ok().and_then(|it| http::StatusCode::from_u16(it).ok());
    let words = words.and_then(|it| it.canonical_reason()).unwrap_or_default();
    let (time, host, function) =
        (text(&entry["time"]), text(&entry["nodename"]), text(&entry["funcname"]));
    let (path, query, client) =
        (text(&entry["path"]), text(&request["rawquery"]), text(&request["client"]));
    let error = text(&entry["error"]);
    let milliseconds = entry["dur"].as_u64().unwrap_or_default() as f64 / 1e6;
    let question = if query.is_empty() { String::new() } else { format!("?{query}") };
    let mut line = format!(
        "{time} [{status} {words}] {function} {host}{path}{question} {client} {milliseconds:.3}ms ↑ {} ↓ {}",
        human(bytes("inputbytes")),
        human(bytes("outputbytes")),
    );
    if !error.is_empty() {
        line.push_str(&format!(" {error}"));
    }
    let mut json = json!({
        "host": host, "time": time, "client": client, "api": function, "path": path, "query": query,
        "statusCode": status, "statusMsg": words, "type": entry["type"], "error": error,
        "callStats": {
            "rx": bytes("inputbytes"), "tx": bytes("outputbytes"),
            "duration": entry["dur"], "timeToFirstByte": stats["timetofirstbyte"],
        },
    });
    if verbose {
        for (sign, name, part) in [(">", "request", request), ("<", "response", response)] {
            for (header, values) in part["headers"].as_object().into_iter().flatten() {
                for value in values.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    line.push_str(&format!("\n{sign} {header}: {value}"));
                }
            }
            json[name] = part.clone();
        }
    }
    tell(session, line, json)
}
