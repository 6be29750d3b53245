//! Trusted proxies, which name the senders of the requests that they forward.
//!
//! A proxy appends the address of its peer to `X-Forwarded-For` or to `Forwarded` ([RFC
//! 7239](https://www.rfc-editor.org/rfc/rfc7239)). The entries to the left of it came from that
//! peer, and are only as trustworthy as the peer. So the list is read from its right end: the
//! sender is the first address that is not a trusted proxy. From other peers the headers are
//! ignored.
//!
//! `X-Forwarded-Proto`, `-Host` and `-Port` have no such order: a proxy that sets `-For` only passes
//! on the ones that the client has made. So the setting of a network may name the headers that its
//! proxies set, and the others do not count.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr as _;

use http::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue};

use crate::origin::{Peer, without_port};
use crate::settings::ConfigError;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PORT: HeaderName = HeaderName::from_static("x-forwarded-port");

/// A network of addresses, or one address, and the headers that its proxies set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: u128,
    bits: u32,
    sets: Sets,
}

/// The headers that a proxy sets besides the address of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sets {
    /// `X-Forwarded-Proto`.
    protocol: bool,
    /// `X-Forwarded-Host` and `X-Forwarded-Port`.
    host: bool,
}

impl Network {
    /// The network of `address` with `bits` leading bits. `None` if the address has fewer bits, or
    /// if any of the remaining bits is set.
    pub fn new(address: IpAddr, bits: u32) -> Option<Network> {
        let bits = match address {
            IpAddr::V4(_) if bits <= 32 => bits + 96,
            IpAddr::V6(_) if bits <= 128 => bits,
            _ => return None,
        };
        let sets = Sets { protocol: true, host: true };
        let network = Network { address: number(address), bits, sets };
        (network.address & network.mask() == network.address).then_some(network)
    }

    fn mask(&self) -> u128 {
        u128::MAX.checked_shl(128 - self.bits).unwrap_or(0)
    }

    fn contains(&self, address: IpAddr) -> bool {
        number(address) & self.mask() == self.address
    }
}

/// The address as a number. IPv4 addresses are mapped to IPv6, so that both have one scale.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The trusted proxies.
#[derive(Clone, Debug, Default)]
pub struct Proxies(Vec<Network>);

/// A request as described by its proxy.
#[derive(Debug, PartialEq, Eq)]
pub struct Told {
    /// The sender.
    pub peer: Peer,
    /// The requested host, if the proxy names it.
    pub host: Option<HeaderValue>,
}

/// `Forwarded` and `X-Forwarded-For` name different senders: the client made one of them, and the
/// proxy did not remove it.
#[derive(Debug, PartialEq, Eq)]
pub struct Contradiction;

/// One hop as described by a proxy.
#[derive(Clone, Copy, Default)]
struct Hop<'h> {
    /// The address of the hop's peer.
    from: &'h str,
    secure: Option<bool>,
    host: Option<&'h str>,
    /// The port of a host that is told without one.
    port: Option<&'h str>,
}

impl<'h> Hop<'h> {
    /// The host, with its port unless that is one that clients leave out.
    fn host(&self) -> Option<HeaderValue> {
        let host = self.host.filter(|host| is_host(host))?;
        let port = self.port.and_then(|port| port.parse::<u16>().ok());
        // Proxies behind others tell 80 for connections that began as HTTPS, so the scheme is no help.
        let port = port.filter(|port| !matches!(port, 0 | 80 | 443));
        let told: Cow<'h, str> = match port {
            Some(port) if without_port(host) == host => format!("{host}:{port}").into(),
            _ => host.into(),
        };
        told.parse().ok()
    }
}

impl Proxies {
    /// The proxies in these networks.
    pub fn new(networks: Vec<Network>) -> Proxies {
        Proxies(networks)
    }

    /// `true` if the proxy at this address is trusted.
    pub fn trust(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The headers that the proxy at this address sets, by the smallest network that it is in.
    fn sets(&self, address: IpAddr) -> Sets {
        let networks = self.0.iter().filter(|network| network.contains(address));
        let smallest = networks.max_by_key(|network| network.bits);
        smallest.map_or(Sets { protocol: false, host: false }, |network| network.sets)
    }

    /// The request that the trusted proxy `proxy` forwards. If a header is malformed, the last
    /// well-formed hop is the sender.
    ///
    /// # Errors
    /// [`Contradiction`].
    pub fn told(&self, proxy: Peer, headers: &HeaderMap) -> Result<Told, Contradiction> {
        let sets = self.sets(proxy.address.ip());
        let standard =
            texts(headers, &FORWARDED).map(|values| self.sender(proxy, forwarded(&values)));
        let by_usual = |values: &[&str]| self.sender(proxy, x_forwarded(values, headers, sets));
        let usual = texts(headers, &X_FORWARDED_FOR).map(|values| by_usual(&values));
        match (standard, usual) {
            (Some(standard), Some(usual))
                if standard.peer.address.ip() != usual.peer.address.ip() =>
            {
                Err(Contradiction)
            }
            (Some(mut told), usual) => {
                // The client may have forged one of the two: the connection counts as secure only
                // if both say so.
                let usual = usual.unwrap_or_else(|| by_usual(&[]));
                if sets.protocol && headers.contains_key(&X_FORWARDED_PROTO) {
                    told.peer.secure &= usual.peer.secure;
                }
                Ok(told)
            }
            (None, Some(told)) => Ok(told),
            // The proxy does not send addresses.
            (None, None) => Ok(by_usual(&[])),
        }
    }

    /// The sender, found by walking the hops from the nearest on.
    fn sender<'h>(&self, proxy: Peer, hops: Option<Vec<Hop<'h>>>) -> Told {
        let mut told = Told { peer: proxy, host: None };
        for hop in hops.unwrap_or_default() {
            told.peer.tls = None;
            told.peer.secure = hop.secure.unwrap_or(told.peer.secure);
            told.host = hop.host().or(told.host);
            let Some(address) = address(hop.from) else {
                break;
            };
            told.peer.address = address;
            // The first untrusted address is the sender; further hops are its own claims.
            if !self.trust(address.ip()) {
                break;
            }
        }
        told
    }
}

/// The values of a header in order, an empty text for a value that is not ASCII. `None` without the
/// header.
fn texts<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<Vec<&'h str>> {
    let values = headers.get_all(name).iter();
    let texts: Vec<&str> = values.map(|value| value.to_str().unwrap_or_default()).collect();
    (!texts.is_empty()).then_some(texts)
}

/// The hops of `X-Forwarded-…`, the nearest first. Protocols and hosts are assigned to hops one by
/// one if their counts match; otherwise the last of them belongs to the nearest hop.
fn x_forwarded<'h>(values: &[&'h str], headers: &'h HeaderMap, sets: Sets) -> Option<Vec<Hop<'h>>> {
    let list = |lines: &[&'h str]| -> Vec<&'h str> {
        lines.iter().rev().flat_map(|line| line.split(',').rev()).map(str::trim).collect()
    };
    let set = |name: HeaderName, is_set: bool| match texts(headers, &name) {
        Some(values) if is_set => list(&values),
        _ => Vec::new(),
    };
    let protocols = set(X_FORWARDED_PROTO, sets.protocol);
    let hosts = set(X_FORWARDED_HOST, sets.host);
    let ports = set(X_FORWARDED_PORT, sets.host);
    let mut addresses = list(values);
    if addresses.is_empty() {
        // No address, but perhaps a protocol and a host.
        addresses.push("");
    }
    let count = addresses.len();
    let of_hop = |list: &[&'h str], hop: usize| {
        (hop == 0 || list.len() == count).then(|| list.get(hop).copied()).flatten()
    };
    let hop = |(at, from)| Hop {
        from,
        secure: of_hop(&protocols, at).and_then(is_secure),
        host: of_hop(&hosts, at),
        port: of_hop(&ports, at),
    };
    Some(addresses.into_iter().enumerate().map(hop).collect())
}

/// The hops of `Forwarded`, the nearest first. `None` if it is malformed.
fn forwarded<'h>(values: &[&'h str]) -> Option<Vec<Hop<'h>>> {
    let mut hops = Vec::new();
    for value in values {
        for element in split_outside_quotes(value, ',')? {
            let mut hop = Hop::default();
            for pair in split_outside_quotes(element, ';')? {
                let Some((name, value)) = pair.trim().split_once('=') else {
                    match pair.trim().is_empty() {
                        true => continue,
                        false => return None,
                    }
                };
                let value = match value.strip_prefix('"') {
                    // Neither addresses nor hosts contain escapes.
                    Some(rest) => rest.strip_suffix('"').filter(|it| !it.contains(['"', '\\']))?,
                    None => value,
                };
                match name {
                    _ if name.eq_ignore_ascii_case("for") => hop.from = value,
                    _ if name.eq_ignore_ascii_case("proto") => hop.secure = is_secure(value),
                    _ if name.eq_ignore_ascii_case("host") => hop.host = Some(value),
                    _ => {}
                }
            }
            hops.push(hop);
        }
    }
    hops.reverse();
    Some(hops)
}

/// The parts of a text between unquoted separators. `None` if a quote does not end.
fn split_outside_quotes(text: &str, separator: char) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut is_quoted, mut is_escaped) = (Vec::new(), 0, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            it if it == separator && !is_quoted => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (!is_quoted).then_some(parts)
}

fn is_secure(protocol: &str) -> Option<bool> {
    match protocol {
        _ if protocol.eq_ignore_ascii_case("https") => Some(true),
        _ if protocol.eq_ignore_ascii_case("http") => Some(false),
        _ => None,
    }
}

/// An address with a port, or without one, which becomes 0.
fn address(text: &str) -> Option<SocketAddr> {
    let with_port = || text.parse::<SocketAddr>().ok();
    let bare = || text.parse::<IpAddr>().ok().map(|address| SocketAddr::new(address, 0));
    let bracketed = || {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        Some(SocketAddr::new(inner.parse::<Ipv6Addr>().ok()?.into(), 0))
    };
    let address = bare().or_else(with_port).or_else(bracketed)?;
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}

/// `true` for `HOST` or `HOST:PORT`, as in URLs.
fn is_host(text: &str) -> bool {
    !text.is_empty() && text.parse::<http::uri::Authority>().is_ok() && !text.contains('@')
}

impl Network {
    /// Parses an address, or `ADDRESS/BITS`, and after an equals sign the headers that the proxies set:
    /// `for`, `proto` and `host`, separated by plus signs. Without them, they set all.
    ///
    /// # Errors
    /// [`ConfigError`] if it is not an address or a network, has host bits set, or names no header.
    pub fn parse(text: &str) -> Result<Network, ConfigError> {
        let advice = || {
            ConfigError(format!(
                "the network {text:?} is not valid: give --trusted-proxy ADDRESS or ADDRESS/BITS, such as \
                 10.0.0.0/8, or with the headers that the proxy sets, 10.0.0.0/8=for+proto+host"
            ))
        };
        let (network, headers) = match text.split_once('=') {
            Some((network, headers)) => (network, Some(headers)),
            None => (text, None),
        };
        let mut sets = Sets { protocol: headers.is_none(), host: headers.is_none() };
        for header in headers.into_iter().flat_map(|headers| headers.split('+')) {
            match header {
                "for" => {}
                "proto" => sets.protocol = true,
                "host" => sets.host = true,
                _ => return Err(advice()),
            }
        }
        let (address, bits) = match network.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (network, None),
        };
        let address = IpAddr::from_str(address).map_err(|_| advice())?;
        let is_number =
            |bits: &&str| !bits.is_empty() && bits.bytes().all(|it| it.is_ascii_digit());
        let bits = match bits {
            Some(bits) => {
                Some(bits).filter(is_number).and_then(|it| it.parse().ok()).ok_or_else(advice)?
            }
            None if address.is_ipv4() => 32,
            None => 128,
        };
        let network = Network::new(address, bits).ok_or_else(advice)?;
        Ok(Network { sets, ..network })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        Network::parse(text).expect("a network")
    }

    #[test]
    fn networks() {
        let rows = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("0.0.0.0/0", "255.255.255.255", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("::1", "::1", true),
        ];
        for (text, address, expected) in rows {
            let address = address.parse().expect("an address");
            assert_eq!(network(text).contains(address), expected, "{text} {address}");
        }
        let bad = [
            "",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "host",
            "1.2.3.4:5",
            "10.0.0.0/8=",
            "10.0.0.0/8=from",
            "10.0.0.0/8=for,proto",
            "10.0.0.0/8=for++host",
            "=for",
        ];
        for text in bad {
            assert!(Network::parse(text).is_err(), "{text}");
        }
    }

    /// The sender, its scheme and the host as told by a proxy at 10.0.0.1; `None` for a
    /// contradiction.
    fn told(headers: &[(&'static str, &'static str)]) -> Option<(String, bool, String)> {
        told_to(&["10.0.0.0/8", "fd00::/8"], headers)
    }

    fn told_to(
        networks: &[&str],
        headers: &[(&'static str, &'static str)],
    ) -> Option<(String, bool, String)> {
        let proxies = Proxies::new(networks.iter().copied().map(network).collect());
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let proxy = Peer {
            address: "10.0.0.1:1234".parse().expect("an address"),
            secure: false,
            tls: None,
        };
        let Told { peer, host } = proxies.told(proxy, &map).ok()?;
        let host = host.as_ref().and_then(|it| it.to_str().ok()).unwrap_or_default().to_owned();
        Some((peer.name().to_string(), peer.secure, host))
    }

    /// A client sends a header of its own through a proxy that sets the other one.
    #[test]
    fn what_is_secure_by_one_header_alone_is_not_secure() {
        let f = "forwarded";
        let own = "for=192.0.2.1;proto=https";
        let secure = |headers: &[_]| told(headers).expect("no contradiction").1;
        assert!(secure(&[(f, own)]));
        assert!(!secure(&[(f, own), ("x-forwarded-proto", "http")]));
        let by = ("x-forwarded-for", "192.0.2.1");
        assert!(!secure(&[(f, own), by, ("x-forwarded-proto", "http")]));
        assert!(secure(&[(f, own), by, ("x-forwarded-proto", "https")]));
    }

    /// A client sends headers of its own through a proxy that sets others only.
    #[test]
    fn headers_that_the_proxy_does_not_set_are_the_clients() {
        let by = |value| ("x-forwarded-for", value);
        let headers = [
            by("192.0.2.1"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "s3.example"),
            ("x-forwarded-port", "8443"),
        ];
        let rows: [(&[&str], bool, &str); 7] = [
            (&["10.0.0.0/8=for"], false, ""),
            (&["10.0.0.0/8=for+proto"], true, ""),
            (&["10.0.0.0/8=for+host"], false, "s3.example:8443"),
            (&["10.0.0.0/8=proto+for+host"], true, "s3.example:8443"),
            (&["10.0.0.0/8"], true, "s3.example:8443"),
            // The smallest network decides.
            (&["10.0.0.0/8", "10.0.0.1=for"], false, ""),
            (&["10.0.0.0/8=for", "10.0.0.1"], true, "s3.example:8443"),
        ];
        for (networks, secure, host) in rows {
            let expected = Some(("192.0.2.1".to_owned(), secure, host.to_owned()));
            assert_eq!(told_to(networks, &headers), expected, "{networks:?}");
        }
        // One that does not count makes nothing insecure, either.
        let standard = [("forwarded", "for=192.0.2.1;proto=https"), ("x-forwarded-proto", "http")];
        let told = told_to(&["10.0.0.0/8=for"], &standard).expect("no contradiction");
        assert!(told.1);
    }

    const PROXY: &str = "10.0.0.1:1234";

    #[test]
    fn x_forwarded() {
        let f = "x-forwarded-for";
        let p = "x-forwarded-proto";
        let h = "x-forwarded-host";
        let o = "x-forwarded-port";
        type Row<'a> = (&'a [(&'static str, &'static str)], (&'a str, bool, &'a str));
        let rows: &[Row<'_>] = &[
            (&[], (PROXY, false, "")),
            (&[(f, "192.0.2.1")], ("192.0.2.1", false, "")),
            (&[(f, "192.0.2.1:77")], ("192.0.2.1:77", false, "")),
            (&[(f, "2001:db8::1")], ("2001:db8::1", false, "")),
            (&[(f, "[2001:db8::1]:77")], ("[2001:db8::1]:77", false, "")),
            (&[(f, "[2001:db8::1]")], ("2001:db8::1", false, "")),
            // A forged entry of the client is to the left of its address.
            (&[(f, "203.0.113.9, 192.0.2.1")], ("192.0.2.1", false, "")),
            (&[(f, "203.0.113.9"), (f, "192.0.2.1")], ("192.0.2.1", false, "")),
            (&[(f, "10.0.0.9, 192.0.2.1")], ("192.0.2.1", false, "")),
            // Several trusted proxies.
            (&[(f, "203.0.113.9, 192.0.2.1, 10.2.2.2, fd00::1")], ("192.0.2.1", false, "")),
            (&[(f, "10.3.3.3,10.2.2.2")], ("10.3.3.3", false, "")),
            // Entries behind a malformed one are ignored.
            (&[(f, "192.0.2.1, nonsense")], (PROXY, false, "")),
            (&[(f, "192.0.2.1, unknown, 10.2.2.2")], ("10.2.2.2", false, "")),
            (&[(f, "192.0.2.1,")], (PROXY, false, "")),
            (&[(f, "")], (PROXY, false, "")),
            (&[(f, "192.0.2.300")], (PROXY, false, "")),
            (&[(f, "192.0.2.1"), (p, "https")], ("192.0.2.1", true, "")),
            (&[(f, "192.0.2.1"), (p, "HTTPS")], ("192.0.2.1", true, "")),
            (&[(f, "192.0.2.1"), (p, "ftp")], ("192.0.2.1", false, "")),
            (&[(f, "192.0.2.1"), (p, "https, http")], ("192.0.2.1", false, "")),
            (&[(f, "192.0.2.1, 10.2.2.2"), (p, "https, http")], ("192.0.2.1", true, "")),
            (&[(p, "https"), (h, "s3.example")], (PROXY, true, "s3.example")),
            (&[(f, "192.0.2.1"), (h, "s3.example:8443")], ("192.0.2.1", false, "s3.example:8443")),
            (&[(f, "192.0.2.1"), (h, "s3 example")], ("192.0.2.1", false, "")),
            (&[(f, "192.0.2.1"), (h, "u@s3.example")], ("192.0.2.1", false, "")),
            // A port beside a host without one.
            (&[(h, "s3.example"), (o, "8443")], (PROXY, false, "s3.example:8443")),
            (&[(h, "[2001:db8::1]"), (o, "8443")], (PROXY, false, "[2001:db8::1]:8443")),
            (&[(h, "s3.example:9000"), (o, "8443")], (PROXY, false, "s3.example:9000")),
            (&[(h, "s3.example"), (p, "https"), (o, "443")], (PROXY, true, "s3.example")),
            (&[(h, "s3.example"), (p, "http"), (o, "80")], (PROXY, false, "s3.example")),
            (&[(h, "s3.example"), (p, "https"), (o, "80")], (PROXY, true, "s3.example")),
            (&[(h, "s3.example"), (o, "port")], (PROXY, false, "s3.example")),
            (&[(h, "s3.example"), (o, "0")], (PROXY, false, "s3.example")),
            (&[(h, "s3.example"), (o, "70000")], (PROXY, false, "s3.example")),
            (&[(h, "s3.example"), (o, "7000, 8443")], (PROXY, false, "s3.example:8443")),
            (&[(o, "8443")], (PROXY, false, "")),
        ];
        for (headers, expected) in rows {
            let expected = (expected.0.to_owned(), expected.1, expected.2.to_owned());
            assert_eq!(told(headers), Some(expected), "{headers:?}");
        }
    }

    #[test]
    fn forwarded() {
        let f = "forwarded";
        type Row<'a> = (&'a [(&'static str, &'static str)], Option<(&'a str, bool, &'a str)>);
        let rows: &[Row<'_>] = &[
            (&[(f, "for=192.0.2.1")], Some(("192.0.2.1", false, ""))),
            (&[(f, "For=\"[2001:db8::1]:77\";Proto=https")], Some(("[2001:db8::1]:77", true, ""))),
            (
                &[(f, "for=203.0.113.9;proto=https, for=192.0.2.1;host=s3.example;by=10.0.0.1")],
                Some(("192.0.2.1", false, "s3.example")),
            ),
            (
                &[(f, "for=192.0.2.1;proto=https;host=\"s3.example:1\""), (f, "for=10.2.2.2")],
                Some(("192.0.2.1", true, "s3.example:1")),
            ),
            (&[(f, "for=_hidden")], Some((PROXY, false, ""))),
            (&[(f, "for=unknown;proto=https")], Some((PROXY, true, ""))),
            (&[(f, "for=\"192.0.2.1")], Some((PROXY, false, ""))),
            (&[(f, "for=192.0.2.1, \"")], Some((PROXY, false, ""))),
            (&[(f, "nonsense")], Some((PROXY, false, ""))),
            (&[(f, "for=192.0.2.1;ext=\"a,b;for=9.9.9.9\"")], Some(("192.0.2.1", false, ""))),
            (
                &[(f, "for=192.0.2.1"), ("x-forwarded-for", "192.0.2.1")],
                Some(("192.0.2.1", false, "")),
            ),
            (&[(f, "for=203.0.113.9"), ("x-forwarded-for", "192.0.2.1")], None),
        ];
        for (headers, expected) in rows {
            let expected = expected.map(|it| (it.0.to_owned(), it.1, it.2.to_owned()));
            assert_eq!(told(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn only_the_networks_are_trusted() {
        let proxies = Proxies::new(vec![network("10.0.0.0/8")]);
        assert!(proxies.trust("10.9.9.9".parse().expect("an address")));
        assert!(!proxies.trust("192.0.2.1".parse().expect("an address")));
        assert!(!Proxies::default().trust("127.0.0.1".parse().expect("an address")));
    }
}
