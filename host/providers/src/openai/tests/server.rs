//! A small HTTP server on the loopback interface that gives prepared answers and records what it was sent.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

/// Longest wait for anything in a test.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// What the server does with one connection.
pub(super) enum Answer {
    /// A status line, such as `200 OK`, further headers, and a body.
    Whole(&'static str, &'static str, Vec<u8>),
    /// Says that more bytes come than do.
    Truncated,
    /// Nothing, until the client goes away.
    Hold,
    /// A status and half a body, and then nothing until the client goes away.
    HoldBody,
}

/// One request as it arrived.
pub(super) struct Recorded {
    pub(super) head: String,
    pub(super) body: Value,
}

impl Recorded {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub(super) struct Server {
    pub(super) base_url: String,
    pub(super) requests: Receiver<Recorded>,
    closed: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers one connection after the other.
    pub(super) fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (sent, requests) = channel();
        let (gone, closed) = channel();
        let thread = std::thread::spawn(move || {
            for answer in answers {
                let (stream, _) = listener.accept().unwrap();
                serve(stream, &answer, &sent, &gone);
            }
        });
        Self { base_url, requests, closed, thread: Some(thread) }
    }

    pub(super) fn json(body: &Value) -> Self {
        Self::start(vec![Answer::Whole("200 OK", "", body.to_string().into_bytes())])
    }

    /// The next request.
    pub(super) fn request(&self) -> Recorded {
        self.requests.recv_timeout(PATIENCE).expect("a request arrives")
    }

    /// Waits until the client has closed the connection.
    pub(super) fn wait_for_close(&self) {
        self.closed.recv_timeout(PATIENCE).expect("the client closes the connection");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that failed leaves the thread in `accept`; the process ends it.
        if let Some(thread) = self.thread.take().filter(|_| !std::thread::panicking()) {
            thread.join().unwrap();
        }
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, sent: &Sender<Recorded>, gone: &Sender<()>) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let recorded = read(&mut stream);
    // The test may not look at its requests.
    sent.send(recorded).ok();
    match answer {
        Answer::Whole(status, headers, body) => {
            let head = format!(
                "HTTP/1.1 {status}\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            // A client that has read enough closes early.
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).ok();
        }
        Answer::Truncated => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\"").unwrap();
        }
        Answer::Hold => hold(&mut stream, gone),
        Answer::HoldBody => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\"").unwrap();
            hold(&mut stream, gone);
        }
    }
}

fn hold(stream: &mut TcpStream, gone: &Sender<()>) {
    let end = stream.read(&mut [0; 16]);
    assert!(matches!(end, Ok(0)) || end.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    gone.send(()).ok();
}

fn read(stream: &mut TcpStream) -> Recorded {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let split = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = split {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let recorded = Recorded { head, body: Value::Null };
            let length: usize = recorded.header("content-length").unwrap().parse().unwrap();
            if bytes.len() >= end + 4 + length {
                let body = serde_json::from_slice(&bytes[end + 4..]).unwrap();
                return Recorded { body, ..recorded };
            }
        }
        let count = stream.read(&mut chunk).unwrap();
        assert!(count > 0, "the client closed before its request was whole");
        bytes.extend_from_slice(&chunk[..count]);
    }
}
