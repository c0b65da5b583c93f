//! The thread that advances the engine's epoch once per millisecond while guests exist.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

use crate::error::SandboxError;

/// How long a guest runs before it makes room for another.
pub(crate) const QUANTUM: Duration = Duration::from_millis(1);

/// Ticks without a guest after which the thread sleeps; waking it costs a system call, which
/// a series of short calls should not pay each time.
const IDLE_TICKS: u32 = 50;

/// Counts guests; the thread runs while there are any.
#[derive(Debug)]
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Thread,
    handle: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    guests: AtomicUsize,
    asleep: AtomicBool,
    closed: AtomicBool,
}

impl Ticker {
    pub(crate) fn start(engine: EngineWeak) -> Result<Self, SandboxError> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let handle = std::thread::Builder::new()
            .name("hotcell-ticker".into())
            .spawn(move || tick(&of_thread, &engine))
            .map_err(SandboxError::Thread)?;
        Ok(Self { shared, thread: handle.thread().clone(), handle: Mutex::new(Some(handle)) })
    }

    /// A guest begins; the ticker runs at least until the value is dropped.
    pub(crate) fn guest(self: &Arc<Self>) -> Guest {
        self.shared.guests.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        Guest { ticker: Arc::clone(self) }
    }

    /// How many guests exist.
    pub(crate) fn guests(&self) -> usize {
        self.shared.guests.load(Ordering::SeqCst)
    }

    /// Whether the thread sleeps because no guest exists.
    pub(crate) fn is_asleep(&self) -> bool {
        self.shared.asleep.load(Ordering::SeqCst)
    }

    /// Ends the thread and waits for it.
    pub(crate) fn close(&self) {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.thread.unpark();
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(handle) = handle {
            drop(handle.join());
        }
    }
}

/// One guest.
#[derive(Debug)]
pub(crate) struct Guest {
    ticker: Arc<Ticker>,
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.ticker.shared.guests.fetch_sub(1, Ordering::SeqCst);
    }
}

fn tick(shared: &Shared, engine: &EngineWeak) {
    let mut idle = 0;
    while !shared.closed.load(Ordering::SeqCst) {
        std::thread::sleep(QUANTUM);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
        idle = if shared.guests.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
        if idle < IDLE_TICKS {
            continue;
        }
        shared.asleep.store(true, Ordering::SeqCst);
        // A guest that came between the count and the store sees `asleep` and unparks.
        while shared.guests.load(Ordering::SeqCst) == 0 && !shared.closed.load(Ordering::SeqCst) {
            std::thread::park();
        }
        shared.asleep.store(false, Ordering::SeqCst);
        idle = 0;
    }
}
