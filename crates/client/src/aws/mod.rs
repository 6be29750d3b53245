//! `aws` and `awslocal`: what startup scripts use of the AWS CLI for S3.
//!
//! Commands of `s3` become verbs of this client; `s3api` makes buckets and their settings. Everything else is
//! refused by name, and reported to the server that runs the script, so that its start fails.

mod documents;
mod line;
mod shorthand;

use std::ffi::OsString;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::documents::{SETTINGS, Setting};
use self::line::Line;
use crate::error::Error;
use crate::s3::Bucket;
use crate::session::{Alias, Options, PathStyle, Session, local_keys};
use crate::target::{Remote, Target};
use crate::verbs;

/// Exit code of the AWS CLI for a command line that it does not understand.
const NOT_UNDERSTOOD: u8 = 252;
/// The address of the server that runs the script, which gets a line about each refusal.
const REPORT_VARIABLE: &str = "LITEIO_INIT_REPORT";
/// The name of the service in targets.
const ALIAS: &str = "aws";
const IDLE: Duration = Duration::from_secs(60);
/// Options of all commands that change nothing here: output has one form, certificates of the system count.
const WITHOUT_EFFECT: [&str; 7] = [
    "cli-connect-timeout",
    "cli-read-timeout",
    "color",
    "no-cli-pager",
    "no-paginate",
    "output",
    "profile",
];
/// Options of `s3 cp` that are headers of the object.
const HEADERS: [(&str, &str); 7] = [
    ("acl", "x-amz-acl"),
    ("cache-control", "cache-control"),
    ("content-disposition", "content-disposition"),
    ("content-encoding", "content-encoding"),
    ("content-language", "content-language"),
    ("content-type", "content-type"),
    ("expires", "expires"),
];

/// The work of a command line.
#[derive(Debug, PartialEq)]
enum Action {
    /// A verb with its arguments.
    Verb(Vec<String>),
    Create {
        bucket: String,
        region: Option<String>,
        with_lock: bool,
        acl: Option<String>,
        ownership: Option<String>,
    },
    Head(String),
    List,
    Put {
        bucket: String,
        setting: Setting,
        document: String,
    },
    Policy {
        bucket: String,
        policy: String,
    },
    Acl {
        bucket: String,
        acl: String,
    },
    /// Nothing, with a note.
    Nothing(&'static str),
}

/// Runs the command line; see [`crate::run_aws`].
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let name = arguments.first().and_then(|it| Path::new(it).file_stem());
    let is_local = name.is_some_and(|it| it == "awslocal");
    let program = if is_local { "awslocal" } else { "aws" };
    let rest = arguments.get(1..).unwrap_or_default();
    let variable = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
    match understood(rest, is_local, variable) {
        Ok((action, alias, is_insecure)) => act(program, action, alias, is_insecure),
        Err(reason) => {
            let line = rest.iter().map(|it| it.to_string_lossy()).collect::<Vec<_>>().join(" ");
            let refusal = format!("\"{program} {line}\": {reason}").replace(['\n', '\r'], " ");
            report(&refusal);
            let _ = writeln!(std::io::stderr(), "{program}: {refusal}");
            ExitCode::from(NOT_UNDERSTOOD)
        }
    }
}

/// Reports a refusal to the server that runs the script.
fn report(refusal: &str) {
    let Ok(address) = std::env::var(REPORT_VARIABLE) else { return };
    // If the server has ended, nobody has to know.
    if let Ok(mut stream) = TcpStream::connect(address) {
        let _ = writeln!(stream, "{refusal}");
    }
}

/// The action of a command line, the service, and whether its certificate is not checked.
fn understood(
    arguments: &[OsString],
    is_local: bool,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(Action, Alias, bool), String> {
    let mut line = Line::parse(arguments)?;
    for name in WITHOUT_EFFECT {
        line.take(name);
    }
    let is_insecure = line.has("no-verify-ssl");
    let is_anonymous = line.has("no-sign-request");
    let endpoint = line.take("endpoint-url");
    let endpoint = endpoint
        .or_else(|| variable("AWS_ENDPOINT_URL_S3"))
        .or_else(|| variable("AWS_ENDPOINT_URL"))
        .or_else(|| is_local.then(|| "http://localhost:4566".to_owned()));
    let region = line.take("region");
    let region =
        region.or_else(|| variable("AWS_REGION")).or_else(|| variable("AWS_DEFAULT_REGION"));
    let action = match line.service.as_str() {
        "s3" => s3(line, region)?,
        "s3api" => s3api(line)?,
        "configure" if line.command == "set" => Action::Nothing(
            "settings are not kept: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
        ),
        "" => return Err("give a service and a command, such as s3 mb s3://BUCKET".to_owned()),
        other @ ("s3vectors" | "iam" | "sts") => {
            return Err(format!(
                "this command has s3 and s3api only: the server has {other} for the AWS CLI and the SDKs"
            ));
        }
        other => {
            return Err(format!(
                "there is no {other} here: this server has s3, s3vectors, iam and sts, and this command has s3 and s3api"
            ));
        }
    };
    let endpoint = match (endpoint, &action) {
        (Some(endpoint), _) => endpoint,
        (None, Action::Nothing(_)) => String::new(),
        (None, _) => return Err("give --endpoint-url or AWS_ENDPOINT_URL".to_owned()),
    };
    let (access_key, secret_key) =
        match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            _ if is_anonymous => (String::new(), String::new()),
            (Some(access_key), Some(secret_key)) => (access_key, secret_key),
            _ => local_keys()?,
        };
    let mut alias = Alias::new(&endpoint, &access_key, &secret_key, PathStyle::Auto);
    alias.session_token = variable("AWS_SESSION_TOKEN").filter(|_| !is_anonymous);
    Ok((action, alias, is_insecure))
}

/// A target of the client: `s3://BUCKET/KEY`, or the path of a file, which is never taken for an alias.
fn place(text: &str) -> String {
    match text.strip_prefix("s3://") {
        Some(rest) => format!("{ALIAS}/{rest}"),
        None if text == "-" || text.starts_with(['/', '.']) => text.to_owned(),
        None => format!("./{text}"),
    }
}

fn folder(text: &str) -> String {
    let place = place(text);
    if place.ends_with('/') { place } else { place + "/" }
}

fn s3(mut line: Line, region: Option<String>) -> Result<Action, String> {
    let mut verb: Vec<String> = Vec::new();
    let names = line.names.clone();
    let at = |index: usize| names.get(index).map_or("", String::as_str);
    let command = std::mem::take(&mut line.command);
    match command.as_str() {
        "mb" => {
            line.end(1..=1)?;
            verb.extend(["mb".to_owned(), "--as-aws".to_owned(), place(at(0))]);
            verb.extend(region.map(|region| format!("--region={region}")));
        }
        "rb" => {
            let is_forced = line.has("force");
            line.end(1..=1)?;
            verb.extend(["rb".to_owned(), place(at(0))]);
            verb.extend(is_forced.then(|| "--force".to_owned()));
        }
        "ls" => {
            let is_recursive = line.has("recursive");
            let is_summed = line.has("summarize");
            line.has("human-readable");
            line.end(0..=1)?;
            let place = if at(0).is_empty() { ALIAS.to_owned() } else { of_service(at(0))? };
            verb.extend(["ls".to_owned(), place]);
            verb.extend(is_recursive.then(|| "--recursive".to_owned()));
            verb.extend(is_summed.then(|| "--summarize".to_owned()));
        }
        "rm" => {
            let is_recursive = line.has("recursive");
            is_quiet(&mut line);
            line.end(1..=1)?;
            verb.extend(["rm".to_owned(), of_service(at(0))?]);
            verb.extend(
                is_recursive
                    .then(|| ["--recursive", "--force"].map(str::to_owned))
                    .into_iter()
                    .flatten(),
            );
        }
        command @ ("cp" | "mv") => {
            let is_recursive = line.has("recursive");
            let is_quiet = is_quiet(&mut line);
            let properties = properties(&mut line)?;
            line.end(2..=2)?;
            match (at(0), at(1)) {
                ("-", to) => verb.extend(["pipe".to_owned(), of_service(to)?]),
                (from, "-") => verb.extend(["cat".to_owned(), of_service(from)?]),
                (from, to) if is_recursive => {
                    verb.extend([
                        command.to_owned(),
                        "--recursive".to_owned(),
                        folder(from),
                        folder(to),
                    ]);
                }
                (from, to) => verb.extend([command.to_owned(), place(from), place(to)]),
            }
            verb.extend(properties);
            verb.extend(is_quiet.then(|| "--quiet".to_owned()));
        }
        "sync" => {
            let deletes = line.has("delete");
            let is_dry = line.has("dryrun");
            let is_quiet = is_quiet(&mut line);
            let excluded = line.take("exclude");
            let properties = properties(&mut line)?;
            line.end(2..=2)?;
            verb.extend([
                "mirror".to_owned(),
                "--overwrite".to_owned(),
                folder(at(0)),
                folder(at(1)),
            ]);
            verb.extend(deletes.then(|| "--remove".to_owned()));
            verb.extend(is_dry.then(|| "--dry-run".to_owned()));
            verb.extend(excluded.map(|pattern| format!("--exclude={pattern}")));
            verb.extend(properties);
            verb.extend(is_quiet.then(|| "--quiet".to_owned()));
        }
        other => return Err(format!("there is no s3 {other} here")),
    }
    Ok(Action::Verb(verb))
}

fn is_quiet(line: &mut Line) -> bool {
    let switches = ["quiet", "only-show-errors", "no-progress"].map(|name| line.has(name));
    switches.contains(&true)
}

/// A place that must be one of the service.
fn of_service(text: &str) -> Result<String, String> {
    match text.starts_with("s3://") {
        true => Ok(place(text)),
        false => Err(format!("{text:?} is no s3://BUCKET/KEY")),
    }
}

/// Properties of new objects, as arguments of the client.
fn properties(line: &mut Line) -> Result<Vec<String>, String> {
    let mut properties = Vec::new();
    for (option, header) in HEADERS {
        properties.extend(line.take(option).map(|value| format!("--header={header}={value}")));
    }
    if let Some(class) = line.take("storage-class") {
        properties.push(format!("--storage-class={class}"));
    }
    if let Some(text) = line.take("metadata") {
        let Value::Object(members) = shorthand::value(&text)? else {
            return Err("--metadata is no structure".to_owned());
        };
        for (name, value) in members {
            let value = value.as_str().ok_or(format!("the metadata {name:?} is no text"))?;
            properties.push(format!("--header=x-amz-meta-{}={value}", name.to_ascii_lowercase()));
        }
    }
    Ok(properties)
}

fn s3api(mut line: Line) -> Result<Action, String> {
    let command = std::mem::take(&mut line.command);
    if command == "list-buckets" {
        line.end(0..=0)?;
        return Ok(Action::List);
    }
    let setting = SETTINGS.iter().find(|it| it.command == command);
    let known =
        ["create-bucket", "head-bucket", "put-object", "put-bucket-acl", "put-bucket-policy"];
    if setting.is_none() && !known.contains(&command.as_str()) {
        return Err(format!("there is no s3api {command} here"));
    }
    let bucket = line.need("bucket")?;
    let action = match (command.as_str(), setting) {
        (_, Some(setting)) => {
            let value = shorthand::value(&line.need(setting.option)?)?;
            let document = setting.document(&value)?;
            Action::Put { bucket, setting: *setting, document }
        }
        ("create-bucket", _) => {
            let constraint = match line.take("create-bucket-configuration") {
                Some(text) => {
                    let value = shorthand::value(&text)?;
                    let region = value.get("LocationConstraint").and_then(Value::as_str);
                    Some(
                        region
                            .ok_or("a bucket's configuration here is LocationConstraint=REGION")?
                            .to_owned(),
                    )
                }
                None => None,
            };
            Action::Create {
                bucket,
                region: constraint,
                with_lock: line.has("object-lock-enabled-for-bucket")
                    && !line.has("no-object-lock-enabled-for-bucket"),
                acl: line.take("acl"),
                ownership: line.take("object-ownership"),
            }
        }
        ("head-bucket", _) => Action::Head(bucket),
        ("put-bucket-acl", _) => Action::Acl { bucket, acl: line.need("acl")? },
        ("put-bucket-policy", _) => {
            let text = line.need("policy")?;
            let policy = match text.strip_prefix("file://") {
                Some(path) => {
                    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?
                }
                None => text,
            };
            Action::Policy { bucket, policy }
        }
        _ => {
            let (key, body) = (line.need("key")?, line.need("body")?);
            let mut verb = vec![
                "cp".to_owned(),
                place(&body),
                format!("{ALIAS}/{bucket}/{key}"),
                "--quiet".to_owned(),
            ];
            verb.extend(properties(&mut line)?);
            Action::Verb(verb)
        }
    };
    line.end(0..=0)?;
    Ok(action)
}

fn act(program: &'static str, action: Action, alias: Alias, insecure: bool) -> ExitCode {
    let alias = Some((ALIAS, alias));
    match action {
        Action::Nothing(note) => {
            let _ = writeln!(std::io::stderr(), "{program}: {note}");
            ExitCode::SUCCESS
        }
        Action::Verb(verb) => {
            let flags = insecure.then(|| OsString::from("--insecure"));
            let arguments = [OsString::from(program)].into_iter().chain(flags);
            verbs::run_as(
                program,
                arguments.chain(verb.into_iter().map(Into::into)).collect(),
                alias,
            )
        }
        action => {
            let options = Options {
                directory: None,
                json: false,
                quiet: true,
                insecure,
                idle: IDLE,
                program,
                alias,
            };
            verbs::start(options, async move |session| call(&session, action).await)
        }
    }
}

/// Sends the request of an action of `s3api`.
async fn call(session: &Arc<Session>, action: Action) -> Result<(), Error> {
    let Remote { s3, .. } = Target::remote(session, ALIAS)?;
    match action {
        Action::Create { bucket, region, with_lock, acl, ownership } => {
            let region = region.as_deref();
            s3.create_bucket(Bucket { name: &bucket, region, with_lock }).await?;
            if let Some(ownership) = ownership {
                let value = json!({"Rules": [{"ObjectOwnership": ownership}]});
                let setting = SETTINGS.iter().find(|it| it.query == "ownershipControls");
                let document =
                    setting.map(|it| it.document(&value)).transpose().map_err(Error::Refused)?;
                s3.put_setting(&bucket, "ownershipControls", document.unwrap_or_default()).await?;
            }
            if let Some(acl) = acl {
                s3.put_canned_acl(&bucket, &acl).await?;
            }
            print(&json!({"Location": format!("/{bucket}")}))
        }
        Action::Head(bucket) => s3.head_bucket(&bucket).await,
        Action::List => {
            let buckets = s3.buckets().await?;
            let names: Vec<Value> = buckets.iter().map(|it| json!({"Name": it.key})).collect();
            print(&json!({"Buckets": names}))
        }
        Action::Put { bucket, setting, document } => {
            s3.put_setting(&bucket, setting.query, document).await
        }
        Action::Policy { bucket, policy } => s3.set_policy(&bucket, policy).await,
        Action::Acl { bucket, acl } => s3.put_canned_acl(&bucket, &acl).await,
        Action::Verb(_) | Action::Nothing(_) => Ok(()),
    }
}

fn print(answer: &Value) -> Result<(), Error> {
    writeln!(std::io::stdout(), "{answer:#}").map_err(Error::Output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Action, String> {
        let arguments: Vec<OsString> = line.split(' ').map(Into::into).collect();
        understood(&arguments, true, |_| None).map(|(action, _, _)| action)
    }

    #[test]
    fn commands_of_s3_are_verbs_of_the_client() {
        let rows = [
            ("s3 mb s3://b", "mb --as-aws aws/b"),
            ("--region eu-west-1 s3 mb s3://b", "mb --as-aws aws/b --region=eu-west-1"),
            (
                "s3 cp a.txt s3://b/k --content-type text/plain",
                "cp ./a.txt aws/b/k --header=content-type=text/plain",
            ),
            ("s3 cp /x s3://b --recursive --quiet", "cp --recursive /x/ aws/b/ --quiet"),
            ("s3 cp - s3://b/k", "pipe aws/b/k"),
            ("s3 cp s3://b/k -", "cat aws/b/k"),
            ("s3 sync ./x s3://b/p --delete", "mirror --overwrite ./x/ aws/b/p/ --remove"),
            ("s3 rm s3://b/p --recursive", "rm aws/b/p --recursive --force"),
            ("s3 ls", "ls aws"),
            (
                "s3api put-object --bucket b --key a/k --body f --metadata A=1,b=2",
                "cp ./f aws/b/a/k --quiet --header=x-amz-meta-a=1 --header=x-amz-meta-b=2",
            ),
        ];
        for (line, verb) in rows {
            let words: Vec<String> = verb.split(' ').map(str::to_owned).collect();
            assert_eq!(of(line), Ok(Action::Verb(words)), "{line}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let rows = [
            ("sqs create-queue --queue-name q", "no sqs here"),
            ("s3 website s3://b", "no s3 website here"),
            (
                "s3api put-bucket-inventory-configuration --bucket b",
                "put-bucket-inventory-configuration",
            ),
            ("s3 cp a s3://b/k --sse aws:kms", "--sse"),
            ("s3 cp a s3://b/k s3://c", "\"s3://c\""),
            ("s3api put-bucket-cors --bucket b", "--cors-configuration is missing"),
            ("s3 rm x", "\"x\""),
            ("s3 mb", "a name is missing"),
            ("s3api list-buckets --query Buckets", "--query"),
        ];
        for (line, expected) in rows {
            let refusal = of(line).expect_err(line);
            assert!(refusal.contains(expected), "{line}: {refusal}");
        }
        let none = understood(&["s3", "ls"].map(Into::into), false, |_| None).map(drop);
        assert!(none.expect_err("no endpoint").contains("--endpoint-url"));
    }

    #[test]
    fn a_bucket_is_made_with_its_settings() {
        let line = "s3api create-bucket --bucket b --create-bucket-configuration LocationConstraint=eu-west-1 \
                    --object-lock-enabled-for-bucket --acl public-read";
        let expected = Action::Create {
            bucket: "b".to_owned(),
            region: Some("eu-west-1".to_owned()),
            with_lock: true,
            acl: Some("public-read".to_owned()),
            ownership: None,
        };
        assert_eq!(of(line), Ok(expected));
    }
}
