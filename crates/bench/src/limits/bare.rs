//! Files, sockets and hashes without a server around them.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use md5::{Digest as _, Md5};

use super::rows::{LARGE_BYTES, Task};
use crate::client::Driven;
use crate::process::evict;
use crate::s3::case::{COLD_OBJECTS, Work};

const PAGE_BYTES: usize = 4 << 10;
/// Number of pages of the rewritten file, whose blocks are allocated before.
const PAGES: usize = 16;
/// Length of the pieces in which a file goes through the socket.
const PIECE_BYTES: usize = 256 << 10;

/// Work of the machine on a file of its own, for a given time.
type Measure = fn(&Path, Duration) -> io::Result<Driven>;

/// The least work of the machine for a task; `None` if there is none.
pub(super) fn least(task: &Task) -> Option<Measure> {
    match task {
        Task::Hash => Some(hash),
        Task::Case(case) => match case.work {
            Work::Put { bytes: LARGE_BYTES, .. } if case.clients == 1 => Some(write),
            Work::Put { .. } if case.clients == 1 => Some(sync),
            Work::Get { bytes: LARGE_BYTES } => Some(read),
            Work::GetCold { bytes: LARGE_BYTES } => Some(read_cold),
            _ => None,
        },
        _ => None,
    }
}

fn repeat(time: Duration, mut once: impl FnMut(u64) -> io::Result<()>) -> io::Result<Driven> {
    let mut driven = Driven::default();
    once(0)?;
    let begin = Instant::now();
    while driven.samples.len() < 3 || begin.elapsed() < time {
        let before = Instant::now();
        once(driven.begun)?;
        driven.samples.record(before.elapsed());
        driven.begun += 1;
    }
    driven.elapsed = begin.elapsed();
    Ok(driven)
}

fn body() -> Vec<u8> {
    (0..LARGE_BYTES).map(|place| ((place * 31) >> 3) as u8).collect()
}

fn hash(_: &Path, time: Duration) -> io::Result<Driven> {
    let body = body();
    repeat(time, |_| {
        std::hint::black_box(Md5::digest(&body));
        Ok(())
    })
}

fn sync(path: &Path, time: Duration) -> io::Result<Driven> {
    let file = File::create(path)?;
    file.write_all_at(&[1; PAGES * PAGE_BYTES], 0)?;
    file.sync_all()?;
    repeat(time, |round| {
        let place = round % PAGES as u64 * PAGE_BYTES as u64;
        file.write_all_at(&[round as u8; PAGE_BYTES], place)?;
        file.sync_data()
    })
}

fn write(path: &Path, time: Duration) -> io::Result<Driven> {
    let body = body();
    repeat(time, |_| {
        let mut file = File::create(path)?;
        file.write_all(&body)?;
        file.sync_data()
    })
}

/// Reads a file in memory through a socket, again and again.
fn read(path: &Path, time: Duration) -> io::Result<Driven> {
    fs::write(path, body())?;
    through_a_socket(|ask| repeat(time, |_| ask(path)))
}

/// Reads files through a socket, each once after the page cache has lost them.
fn read_cold(path: &Path, _: Duration) -> io::Result<Driven> {
    fs::create_dir(path)?;
    let files: Vec<PathBuf> =
        (0..COLD_OBJECTS).map(|number| path.join(number.to_string())).collect();
    files.iter().try_for_each(|file| fs::write(file, body()))?;
    evict(path)?;
    let driven = through_a_socket(|ask| {
        let mut driven = Driven::default();
        let begin = Instant::now();
        for file in &files {
            let before = Instant::now();
            ask(file)?;
            driven.samples.record(before.elapsed());
            driven.begun += 1;
        }
        driven.elapsed = begin.elapsed();
        Ok(driven)
    });
    fs::remove_dir_all(path)?;
    driven
}

/// Runs `work`, which asks a thread behind a socket for files.
fn through_a_socket(
    work: impl FnOnce(&mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<Driven>,
) -> io::Result<Driven> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address: SocketAddr = listener.local_addr()?;
    let (sender, names) = mpsc::channel();
    let answering = thread::spawn(move || send(listener.accept()?.0, &names));
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut answer = vec![0; LARGE_BYTES];
    let driven = work(&mut |path| {
        sender.send(path.to_owned()).map_err(io::Error::other)?;
        stream.write_all(b"!")?;
        stream.read_exact(&mut answer)
    });
    drop(stream);
    answering.join().map_err(|_| io::Error::other("the sender has panicked"))??;
    driven
}

/// Sends a file for every byte that it receives, the next of `paths`.
fn send(mut stream: TcpStream, paths: &mpsc::Receiver<PathBuf>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut piece = vec![0; PIECE_BYTES];
    while stream.read(&mut [0])? > 0 {
        let mut file = File::open(paths.recv().map_err(io::Error::other)?)?;
        loop {
            let read = file.read(&mut piece)?;
            if read == 0 {
                break;
            }
            stream.write_all(&piece[..read])?;
        }
    }
    Ok(())
}
