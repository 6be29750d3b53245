//! The URL of a database.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use super::{Host, Password, PostgresConfig, SslMode, defaults};
use crate::limits;

const PORT: u16 = 5432;

/// Parses a URL: the settings, and the file of passwords that it names. An error does not have the URL in
/// it, since that may have a password.
pub(super) fn parse(url: &str) -> Result<(PostgresConfig, Option<PathBuf>), String> {
    let rest = url
        .strip_prefix("postgres://")
        .or_else(|| url.strip_prefix("postgresql://"))
        .ok_or("the URL of the database must begin with postgres://")?;
    if rest.contains('#') {
        return Err("the URL of the database has a fragment: write # as %23".to_owned());
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (who, hosts) = match authority.rsplit_once('@') {
        Some((who, hosts)) => (Some(who), hosts),
        None => (None, authority),
    };
    let mut config = defaults();
    if let Some(who) = who {
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (who, None),
        };
        config.user = decoded(user, "the user")?;
        config.password =
            password.map(|it| decoded(it, "the password")).transpose()?.map(Password::new);
    }
    config.database = decoded(path, "the database")?;
    let mut names: Vec<String> = Vec::new();
    let mut ports: Vec<u16> = Vec::new();
    for host in hosts.split(',').filter(|_| !hosts.is_empty()) {
        let (name, port) = host_and_port(host)?;
        names.push(name);
        ports.push(port);
    }
    let passfile = parameters(query, &mut config, &mut names, &mut ports)?;
    if names.is_empty() {
        return Err("the URL of the database names no host".to_owned());
    }
    if ports.len() == 1 {
        ports.resize(names.len(), ports[0]);
    }
    if ports.len() != names.len() {
        return Err("the URL of the database has another number of ports than of hosts".to_owned());
    }
    config.hosts = names.into_iter().zip(ports).map(|(name, port)| Host { name, port }).collect();
    if config.user.is_empty() {
        return Err("the URL of the database names no user".to_owned());
    }
    if config.database.is_empty() {
        return Err("the URL of the database names no database".to_owned());
    }
    Ok((config, passfile))
}

/// Applies the parameters. Returns the file of passwords.
fn parameters(
    query: &str,
    config: &mut PostgresConfig,
    names: &mut Vec<String>,
    ports: &mut Vec<u16>,
) -> Result<Option<PathBuf>, String> {
    let mut passfile = None;
    let mut seen: Vec<String> = Vec::new();
    for parameter in query.split('&').filter(|it| !it.is_empty()) {
        let (name, value) =
            parameter.split_once('=').ok_or("a parameter of the database's URL has no value")?;
        let name = decoded(name, "the name of a parameter")?;
        let value = decoded(value, "a parameter")?;
        if seen.contains(&name) {
            return Err(format!("the URL of the database has the parameter {name:?} twice"));
        }
        match &*name {
            "host" => {
                *names = value.split(',').map(str::to_owned).collect();
                if names.iter().any(String::is_empty) {
                    return Err("a host of the database has no name".to_owned());
                }
                // Those of the URL were for its own hosts.
                if !seen.iter().any(|it| it == "port") {
                    *ports = vec![PORT];
                }
            }
            "port" => *ports = value.split(',').map(port).collect::<Result<_, _>>()?,
            "user" => config.user = value,
            "passfile" => passfile = Some(PathBuf::from(value)),
            "sslmode" => config.ssl.mode = ssl_mode(&value)?,
            "sslrootcert" => {
                config.ssl.authorities = (value != "system").then(|| PathBuf::from(value));
            }
            "target_session_attrs" => {
                config.is_any_session = one_of(&name, &value, "read-write", "any")?;
            }
            "connect_timeout" => config.connect_timeout = seconds(&name, &value)?,
            "keepalives_idle" => config.keepalive = seconds(&name, &value)?,
            "application_name" => config.application = value,
            "statement_cache" => config.caches_statements = one_of(&name, &value, "0", "1")?,
            "connections" => config.connections = count(&name, &value, 1)?,
            // One for fetches and one for a view.
            "read_connections" => config.read_connections = count(&name, &value, 2)?,
            _ => return Err(format!("unknown parameter {name:?} in the URL of the database")),
        }
        seen.push(name);
    }
    Ok(passfile)
}

fn decoded(text: &str, what: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    let text = decoded.map_err(|_| format!("{what} in the URL of the database is not UTF-8"))?;
    if text.contains('\0') {
        return Err(format!("{what} in the URL of the database has a zero byte"));
    }
    Ok(text.into_owned())
}

/// `name`, `name:port`, `[address]` or `[address]:port`.
fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let (name, after) = match text.strip_prefix('[') {
        Some(rest) => {
            rest.split_once(']').ok_or("an address in the URL of the database has no ]")?
        }
        None => match text.find(':') {
            Some(colon) => text.split_at(colon),
            None => (text, ""),
        },
    };
    let name = decoded(name, "a host")?;
    if name.is_empty() {
        return Err("a host of the database has no name".to_owned());
    }
    let port = match after.strip_prefix(':') {
        Some(number) => port(number)?,
        None if after.is_empty() => PORT,
        None => {
            return Err(
                "an address in the URL of the database is not followed by a port".to_owned()
            );
        }
    };
    Ok((name, port))
}

fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|&port| port > 0);
    port.ok_or_else(|| "a port in the URL of the database is none".to_owned())
}

fn ssl_mode(value: &str) -> Result<SslMode, String> {
    Ok(match value {
        "disable" => SslMode::Disable,
        "prefer" => SslMode::Prefer,
        "require" => SslMode::Require,
        "verify-ca" => SslMode::VerifyAuthority,
        "verify-full" => SslMode::VerifyFull,
        _ => {
            return Err(format!(
                "sslmode={value}: use disable, prefer, require, verify-ca or verify-full"
            ));
        }
    })
}

/// `true` for the second of two values.
fn one_of(name: &str, value: &str, first: &str, second: &str) -> Result<bool, String> {
    match value {
        _ if value == first => Ok(false),
        _ if value == second => Ok(true),
        _ => Err(format!("{name}={value}: use {first} or {second}")),
    }
}

fn seconds(name: &str, value: &str) -> Result<Duration, String> {
    match value.parse() {
        Ok(seconds @ 1..=3_600) => Ok(Duration::from_secs(seconds)),
        _ => Err(format!("{name}={value}: use 1 to 3600 seconds")),
    }
}

fn count(name: &str, value: &str, min: usize) -> Result<usize, String> {
    let count = value.parse().ok().filter(|it| (min..=limits::CONNECTIONS_MAX).contains(it));
    count.ok_or_else(|| format!("{name}={value}: use {min} to {}", limits::CONNECTIONS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_hosts_a_user_and_parameters() {
        let url = "postgres://us%40er:pass%3Aword@db1,db2:6000,[::1]:7000/li%2Fteio?sslmode=verify-full\
                   &statement_cache=0&connections=3&connect_timeout=9&passfile=/p&sslrootcert=/ca.pem";
        let (config, passfile) = parse(url).expect("it is valid");
        let hosts: Vec<(&str, u16)> =
            config.hosts.iter().map(|host| (&*host.name, host.port)).collect();
        assert_eq!(hosts, [("db1", 5432), ("db2", 6000), ("::1", 7000)]);
        assert_eq!((&*config.user, &*config.database), ("us@er", "li/teio"));
        assert_eq!(config.password.as_ref().map(Password::text), Some("pass:word"));
        assert_eq!(config.ssl.mode, SslMode::VerifyFull);
        assert_eq!(config.ssl.authorities, Some(PathBuf::from("/ca.pem")));
        assert_eq!((config.caches_statements, config.connections), (false, 3));
        assert_eq!(config.connect_timeout, Duration::from_secs(9));
        assert_eq!(passfile, Some(PathBuf::from("/p")));
    }

    #[test]
    fn a_socket_is_named_by_its_directory() {
        let (config, _) = parse("postgresql://u@/d?host=/run/pg&port=6001").expect("it is valid");
        assert_eq!(config.hosts, [Host { name: "/run/pg".to_owned(), port: 6001 }]);
        let (config, _) = parse("postgres://u@%2Frun%2Fpg/d").expect("it is valid");
        assert_eq!(config.hosts, [Host { name: "/run/pg".to_owned(), port: 5432 }]);
    }

    #[test]
    fn what_is_unknown_or_wrong_is_refused_without_the_password() {
        for (url, word) in [
            ("mysql://u:secret@h/d", "postgres://"),
            ("postgres://u:secret@h/d?sslmode=allow", "sslmode"),
            ("postgres://u:secret@h/d?sslMode=require", "sslMode"),
            ("postgres://u:secret@h/d?options=-c%20fsync", "options"),
            ("postgres://u:secret@h/d?sslmode", "value"),
            ("postgres://u:secret@h/d?connections=0", "connections"),
            ("postgres://u:secret@h/d?read_connections=1", "read_connections"),
            ("postgres://u:secret@h/d?statement_cache=no", "statement_cache"),
            ("postgres://u:secret@h/d?target_session_attrs=standby", "target_session_attrs"),
            ("postgres://u:secret@h/d?connect_timeout=1&connect_timeout=2", "twice"),
            ("postgres://u:secret@h:0/d", "port"),
            ("postgres://u:secret@h:70000/d", "port"),
            ("postgres://u:secret@h,,i/d", "host"),
            ("postgres://u:secret@[::1/d", "]"),
            ("postgres://u:secret@[::1]x/d", "port"),
            ("postgres://u:secret@a,b,c/d?port=1,2", "number of ports"),
            ("postgres://u:secret@/d", "no host"),
            ("postgres://:secret@h/d", "no user"),
            ("postgres://u:secret@h/", "no database"),
            ("postgres://u:secret@h", "no database"),
            ("postgres://u:secret@h/d#x", "fragment"),
            ("postgres://u:secret%ff@h/d", "UTF-8"),
            ("postgres://u:secret%00@h/d", "zero byte"),
        ] {
            let error = parse(url).expect_err(url);
            assert!(error.contains(word), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
