//! A proxy that loses answers and requests.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// The fate of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It passes.
    Passes,
    /// It passes, but the client's connection ends instead of the answer.
    LosesAnswer,
    /// The client's connection ends before it passes.
    Vanishes,
    /// The client's connection ends, and the request waits for [`Proxy::release`].
    ComesLate,
}

/// A proxy from a port to the socket of a server.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    next: Arc<Mutex<Next>>,
    late: Receiver<(UnixStream, Vec<u8>)>,
    /// The answers that were lost.
    answered: Receiver<()>,
}

impl Proxy {
    pub(crate) fn new(socket: PathBuf) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let next = Arc::new(Mutex::new(Next::Passes));
        let (sender, late) = channel();
        let (teller, answered) = channel();
        let fate = next.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { break };
                // A server that is down ends the client's connection.
                let Ok(server) = UnixStream::connect(&socket) else { continue };
                connect(client, server, fate.clone(), sender.clone(), teller.clone());
            }
        });
        Self { port, next, late, answered }
    }

    /// Decides about the next request.
    pub(crate) fn set(&self, next: Next) {
        *self.next.lock().expect("no panic") = next;
    }

    /// Sends the request that waits, and waits until the server has answered it.
    pub(crate) fn release(&self) {
        let (mut server, request) = self.late.recv().expect("a request");
        server.write_all(&request).expect("it is sent");
        self.wait_for_answer();
    }

    /// Waits until the server has answered a request whose answer is lost.
    pub(crate) fn wait_for_answer(&self) {
        self.answered.recv().expect("an answer");
    }
}

fn connect(
    mut client: TcpStream,
    mut server: UnixStream,
    next: Arc<Mutex<Next>>,
    late: Sender<(UnixStream, Vec<u8>)>,
    answered: Sender<()>,
) {
    let loses_answer = Arc::new(AtomicBool::new(false));
    let (mut to_client, mut from_server) =
        (client.try_clone().expect("a handle"), server.try_clone().expect("a handle"));
    let loses = loses_answer.clone();
    thread::spawn(move || {
        let mut bytes = [0; 65_536];
        loop {
            let count = from_server.read(&mut bytes).unwrap_or(0);
            if count > 0 && loses.load(SeqCst) {
                let _ = answered.send(());
                break;
            }
            if count == 0 || to_client.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = to_client.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let mut bytes = [0; 65_536];
        loop {
            let count = client.read(&mut bytes).unwrap_or(0);
            let mut next = next.lock().expect("no panic");
            let fate =
                if count == 0 { Next::Passes } else { std::mem::replace(&mut *next, Next::Passes) };
            drop(next);
            loses_answer.fetch_or(fate == Next::LosesAnswer, SeqCst);
            match fate {
                Next::Passes | Next::LosesAnswer => {
                    if count == 0 || server.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                Next::Vanishes => {
                    let _ = client.shutdown(Shutdown::Both);
                    break;
                }
                Next::ComesLate => {
                    loses_answer.store(true, SeqCst);
                    let _ = client.shutdown(Shutdown::Both);
                    let _ = late.send((server, bytes[..count].to_vec()));
                    return;
                }
            }
        }
        let _ = server.shutdown(Shutdown::Both);
    });
}
