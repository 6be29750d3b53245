//! One function for each group of figures.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use md5::{Digest, Md5};

use super::client::{Client, Signer};
use super::process::Process;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const LARGE_BYTES: usize = 10 * MIB;

fn text(path: &Path) -> &str {
    path.to_str().expect("the directory's name is text")
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn median(samples: &mut [Duration]) -> Duration {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

fn with_bucket(server: &Process) -> io::Result<(Client, Signer)> {
    let signer = Signer::new(server.address);
    let mut client = Client::connect(server.address)?;
    client.expect(200, "PUT", &signer.target("PUT", "/figures", ""), b"")?;
    Ok((client, signer))
}

/// The median of one `fdatasync` after rewriting a page of a file that already has its blocks.
fn fdatasync(folder: &Path, rounds: usize) -> io::Result<Duration> {
    let file = File::create(folder.join("probe"))?;
    file.write_all_at(&[1; 64 * KIB], 0)?;
    file.sync_all()?;
    let mut samples = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let started = Instant::now();
        file.write_all_at(&[round as u8; 4 * KIB], (round % 16 * 4 * KIB) as u64)?;
        file.sync_data()?;
        samples.push(started.elapsed());
    }
    Ok(median(&mut samples))
}

/// Durable puts of 1 KiB: the latency of one client beside a bare sync, and the rate of 64.
pub(crate) fn put(folder: &Path) -> io::Result<()> {
    for durability in ["fsync", "os"] {
        let data = folder.join(durability);
        let server = Process::start(&["--data-dir", text(&data), "--durability", durability])?;
        let (mut client, signer) = with_bucket(&server)?;
        let body = [7; KIB];
        let (mut syncs, mut puts) = (Vec::new(), Vec::new());
        for round in 0..20 {
            syncs.push(fdatasync(folder, 50)?);
            for number in 0..100 {
                let key = format!("/figures/one/{round}/{number}");
                let target = signer.target("PUT", &key, "");
                let started = Instant::now();
                client.expect(200, "PUT", &target, &body)?;
                puts.push(started.elapsed());
            }
        }
        let (sync, one) = (median(&mut syncs), median(&mut puts));
        println!(
            "{durability}: fdatasync {:.0} us; PUT 1 KiB, 1 client {:.0} us (limit 2 x sync + 100 = \
             {:.0} us)",
            micros(sync),
            micros(one),
            2.0 * micros(sync) + 100.0
        );
        let one_client = rate(server.address, 1, "a")?;
        for clients in [8, 64] {
            let rate = rate(server.address, clients, &format!("c{clients}"))?;
            println!(
                "{durability}: {clients} clients {rate:.0}/s, 1 client {one_client:.0}/s, ratio {:.1}",
                rate / one_client
            );
        }
    }
    Ok(())
}

/// Puts of 1 KiB a second by `clients` connections for three seconds.
fn rate(address: SocketAddr, clients: usize, name: &str) -> io::Result<f64> {
    let (count, started) = (AtomicU64::new(0), Instant::now());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..clients)
            .map(|worker| {
                let count = &count;
                scope.spawn(move || -> io::Result<()> {
                    let (signer, mut client) = (Signer::new(address), Client::connect(address)?);
                    for number in 0.. {
                        let key = format!("/figures/{name}/{worker}/{number}");
                        client.expect(200, "PUT", &signer.target("PUT", &key, ""), &[7; KIB])?;
                        count.fetch_add(1, Ordering::Relaxed);
                        if started.elapsed() > Duration::from_secs(3) {
                            break;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    Ok(count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64())
}

/// CPU of the server for each GET and HEAD of a small object, asked one by one and by 16 clients.
pub(crate) fn get(folder: &Path) -> io::Result<()> {
    let data = folder.join("data");
    let server = Process::start(&["--data-dir", text(&data)])?;
    let (mut client, signer) = with_bucket(&server)?;
    for (name, bytes) in [("1k", KIB), ("64k", 64 * KIB)] {
        let path = format!("/figures/{name}");
        client.expect(200, "PUT", &signer.target("PUT", &path, ""), &vec![7; bytes])?;
        for method in ["GET", "HEAD"] {
            for clients in [1_u32, 16] {
                let (cpu, started) = (server.cpu(), Instant::now());
                repeat(server.address, clients, method, &signer.target(method, &path, ""))?;
                let requests = clients * READS;
                println!(
                    "{method} {name}, {clients} clients: {:.1} us of server CPU, {:.0}/s",
                    micros(server.cpu() - cpu) / f64::from(requests),
                    f64::from(requests) / started.elapsed().as_secs_f64()
                );
            }
        }
    }
    Ok(())
}

/// Requests of each client.
const READS: u32 = 10_000;

fn repeat(address: SocketAddr, clients: u32, method: &str, target: &str) -> io::Result<()> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(move || -> io::Result<()> {
                    let mut client = Client::connect(address)?;
                    (0..READS).try_for_each(|_| client.expect(200, method, target, b"").map(drop))
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}

/// 10 MiB both ways, beside a file copied through a socket by hand and beside MD5 alone.
pub(crate) fn large(folder: &Path) -> io::Result<()> {
    let data = folder.join("data");
    let server = Process::start(&["--data-dir", text(&data)])?;
    let (mut client, signer) = with_bucket(&server)?;
    let body: Vec<u8> = (0..LARGE_BYTES).map(|i| ((i * 31) >> 3) as u8).collect();
    let plain = folder.join("plain");
    fs::write(&plain, &body)?;
    let by_hand = serve_file(&plain)?;
    let (mut gets, mut hands, mut puts, mut hashes, mut files) =
        (vec![], vec![], vec![], vec![], vec![]);
    for round in 0..30 {
        let put_target = signer.target("PUT", &format!("/figures/{}", round % 4), "");
        puts.push(timed(|| client.expect(200, "PUT", &put_target, &body).map(drop))?);
        hashes.push(timed(|| {
            std::hint::black_box(Md5::digest(&body));
            Ok(())
        })?);
        files.push(timed(|| {
            let file = File::create(folder.join("written"))?;
            (&file).write_all(&body)?;
            file.sync_data()
        })?);
        let get_target = signer.target("GET", &format!("/figures/{}", round % 4), "");
        gets.push(timed(|| client.expect(200, "GET", &get_target, b"").map(drop))?);
        let mut hand = Client::connect(by_hand)?;
        hand.expect(200, "GET", "/", b"")?;
        hands.push(timed(|| hand.expect(200, "GET", "/", b"").map(drop))?);
    }
    let (get, hand) = (median(&mut gets), median(&mut hands));
    let (put, hash, file) = (median(&mut puts), median(&mut hashes), median(&mut files));
    println!(
        "GET 10 MiB {:.0} us, by hand {:.0} us, ratio {:.2}",
        micros(get),
        micros(hand),
        micros(get) / micros(hand)
    );
    println!(
        "PUT 10 MiB {:.0} us, MD5 alone {:.0} us (ratio {:.2}), write and fdatasync alone {:.0} us",
        micros(put),
        micros(hash),
        micros(put) / micros(hash),
        micros(file)
    );
    Ok(())
}

fn timed(work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}

/// The by-hand rival: a thread that answers every request with the file, read in pieces of 256 KiB.
fn serve_file(path: &Path) -> io::Result<SocketAddr> {
    let (listener, path) = (TcpListener::bind("127.0.0.1:0")?, path.to_owned());
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|stream| answer(stream, &path));
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream, path: &Path) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = [0; 4 * KIB];
    let mut buffer = vec![0; 256 * KIB];
    while stream.read(&mut request)? > 0 {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n")?;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            stream.write_all(&buffer[..read])?;
        }
    }
    Ok(())
}

/// Fills `data` with `count` empty objects through the server, and leaves it stopped.
fn fill(data: &Path, count: usize, key: impl Fn(usize) -> String + Sync) -> io::Result<()> {
    let server = Process::start(&["--data-dir", text(data), "--durability", "os"])?;
    with_bucket(&server)?;
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..64)
            .map(|_| {
                let (next, key, address) = (&next, &key, server.address);
                scope.spawn(move || -> io::Result<()> {
                    let (signer, mut client) = (Signer::new(address), Client::connect(address)?);
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed) as usize;
                        if number >= count {
                            return Ok(());
                        }
                        let path = format!("/figures/{}", key(number));
                        client.expect(200, "PUT", &signer.target("PUT", &path, ""), b"")?;
                    }
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })
}

const MILLION: usize = 1_000_000;

/// 1,000 keys out of a million, and 1,000 prefixes of 1,000 keys each.
pub(crate) fn list(folder: &Path) -> io::Result<()> {
    let data = folder.join("data");
    fill(&data, MILLION, |number| format!("{:03}/{:03}", number / 1000, number % 1000))?;
    let server = Process::start(&["--data-dir", text(&data)])?;
    println!(
        "ready after kill -9 with a million objects: {:.0} ms",
        server.ready.as_secs_f64() * 1e3
    );
    let (signer, mut client) = (Signer::new(server.address), Client::connect(server.address)?);
    let queries = [
        ("1,000 of 1,000,000 keys", "list-type=2&start-after=500%2F500"),
        ("delimiter, 1,000 prefixes", "delimiter=%2F&list-type=2"),
    ];
    for (name, query) in queries {
        // The signed query is sorted; these names come after X-Amz in byte order.
        let target = signer.target("GET", "/figures", query);
        let mut samples = Vec::new();
        for _ in 0..50 {
            samples.push(timed(|| client.expect(200, "GET", &target, b"").map(drop))?);
        }
        println!("list, {name}: {:.2} ms", median(&mut samples).as_secs_f64() * 1e3);
    }
    println!("resident after listing: {} KiB", server.memory_kib("VmRSS"));
    Ok(())
}

/// From the start of the process to the line with its address, and memory at rest.
pub(crate) fn start(folder: &Path) -> io::Result<()> {
    let mut samples = Vec::new();
    for round in 0..20 {
        let data = folder.join(round.to_string());
        samples.push(Process::start(&["--data-dir", text(&data)])?.ready);
    }
    println!("ready on an empty directory: {:.1} ms", median(&mut samples).as_secs_f64() * 1e3);
    let mut in_memory = Vec::new();
    for _ in 0..20 {
        in_memory.push(Process::start(&["--memory"])?.ready);
    }
    println!("ready in memory: {:.1} ms", median(&mut in_memory).as_secs_f64() * 1e3);
    let server = Process::start(&["--data-dir", text(&folder.join("idle"))])?;
    Client::connect(server.address)?.send("GET", "/_liteio/health/ready", b"")?;
    println!(
        "idle: {} KiB resident, of which {} KiB anonymous",
        server.memory_kib("VmRSS"),
        server.anonymous_kib()
    );
    let before = server.anonymous_kib();
    let mut idle = Vec::new();
    for _ in 0..IDLE_CONNECTIONS {
        let mut connection = Client::connect(server.address)?;
        connection.send("GET", "/_liteio/health/live", b"")?;
        // One descriptor and no buffer for each: the usual limit of descriptors is near.
        idle.push(connection.into_stream());
    }
    println!(
        "{IDLE_CONNECTIONS} idle connections: {:.1} KiB each",
        (server.anonymous_kib() - before) as f64 / IDLE_CONNECTIONS as f64
    );
    Ok(())
}

const IDLE_CONNECTIONS: usize = 10_000;

/// Peak memory while 16 clients upload 1 GiB each, in one request.
pub(crate) fn memory(folder: &Path) -> io::Result<()> {
    let data = folder.join("data");
    let server = Process::start(&["--data-dir", text(&data)])?;
    with_bucket(&server)?;
    let (bytes, started) = (1_usize << 30, Instant::now());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..16)
            .map(|worker| {
                let address = server.address;
                scope.spawn(move || upload(address, &format!("/figures/{worker}"), bytes))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    println!(
        "16 clients of 1 GiB: {:.0} MB/s together, peak resident {} KiB",
        16.0 * bytes as f64 / 1e6 / started.elapsed().as_secs_f64(),
        server.memory_kib("VmHWM")
    );
    Ok(())
}

fn upload(address: SocketAddr, path: &str, bytes: usize) -> io::Result<()> {
    let target = Signer::new(address).target("PUT", path, "");
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "PUT {target} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {bytes}\r\n\r\n")?;
    let piece = vec![7; MIB];
    for _ in 0..bytes / MIB {
        stream.write_all(&piece)?;
    }
    let mut answer = [0; KIB];
    let read = stream.read(&mut answer)?;
    if answer[..read].starts_with(b"HTTP/1.1 200") {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&answer[..read]).into_owned()))
}
