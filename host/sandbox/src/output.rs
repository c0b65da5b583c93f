//! Standard output and error of a guest: keeps the first bytes, counts the rest, never waits, never traps.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use crate::call_state::CallState;

/// Bytes of standard error that a report can show: its end, where a panic message stands.
const TAIL_BYTES: usize = 4 << 10;

/// How much a guest may write at a time; the engine's own constant for streams.
const CHUNK_BYTES: usize = 64 << 10;

/// What one call wrote; part of the call's state, since every call has one and most write nothing.
#[derive(Debug, Default)]
pub(crate) struct Output {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    stderr_tail: Vec<u8>,
}

/// Which of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

/// Standard output of a call.
pub(crate) fn stdout(call: &Arc<CallState>) -> Sink {
    Sink { call: Arc::clone(call), stream: Stream::Out }
}

/// Standard error of a call.
pub(crate) fn stderr(call: &Arc<CallState>) -> Sink {
    Sink { call: Arc::clone(call), stream: Stream::Err }
}

impl Output {
    /// The end of standard error; nothing when nothing was written.
    pub(crate) fn stderr_tail(&self) -> Option<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (!kept.stderr_tail.is_empty()).then(|| String::from_utf8_lossy(&kept.stderr_tail).into_owned())
    }
}

/// Keeps what fits, counts everything.
fn write(call: &CallState, stream: Stream, bytes: &[u8]) {
    let mut kept = call.output.kept.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = usize::try_from(call.limits.output_bytes).unwrap_or(usize::MAX);
    let room = limit.saturating_sub(kept.stdout.len() + kept.stderr.len()).min(bytes.len());
    let (keep, drop) = bytes.split_at(room);
    match stream {
        Stream::Out => kept.stdout.extend_from_slice(keep),
        Stream::Err => {
            kept.stderr.extend_from_slice(keep);
            keep_tail(&mut kept.stderr_tail, bytes);
        }
    }
    let count = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    call.meters.output_bytes.fetch_add(count(bytes), Ordering::Relaxed);
    call.meters.output_dropped.fetch_add(count(drop), Ordering::Relaxed);
}

fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(bytes.get(bytes.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default());
    let excess = tail.len().saturating_sub(TAIL_BYTES);
    tail.drain(..excess);
}

/// One of the two streams, as the guest writes to it.
#[derive(Debug, Clone)]
pub(crate) struct Sink {
    call: Arc<CallState>,
    stream: Stream,
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Sink {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only asked for by interfaces that are not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Sink {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        write(&self.call, self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK_BYTES)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Sink {
    async fn ready(&mut self) {}
}
