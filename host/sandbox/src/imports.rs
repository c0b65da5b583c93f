//! What guests can import: the closed baseline of WASI, and the services of the host.

use hotcell_core::services::{LogLevel, LogRecord, Progress};
use hotcell_core::text::cap_bytes;
use std::sync::atomic::Ordering;
use std::time::Instant;
use wasmtime::component::{ComponentType, Lift, Linker};
use wasmtime::{Engine, Result, StoreContextMut};

use crate::call_state::Stop;
use crate::host::Host;

/// Named values of one log record that are kept.
const MAX_LOG_FIELDS: usize = 16;

/// How important a guest says a record is.
#[derive(Debug, Clone, Copy, ComponentType, Lift)]
#[component(enum)]
#[repr(u8)]
#[expect(dead_code, reason = "values come from guests, through the derived `Lift`")]
enum Level {
    #[component(name = "trace")]
    Trace,
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
}

/// A linker with everything a component may import, the same for every grant set: what was not granted
/// is there and empty, because toolchains import the baseline whether a tool uses it or not.
pub(crate) fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    linker.instance("hotcell:log/log@0.1.0")?.func_wrap("write", write_log)?;
    linker.instance("hotcell:progress/progress@0.1.0")?.func_wrap("report", report_progress)?;
    let mut control = linker.instance("hotcell:control/control@0.1.0")?;
    control.func_wrap("remaining-ms", |store: StoreContextMut<'_, Host>, (): ()| {
        let left = store.data().call.deadline.saturating_duration_since(Instant::now());
        Ok((u64::try_from(left.as_millis()).unwrap_or(u64::MAX),))
    })?;
    control.func_wrap("cancelled", |store: StoreContextMut<'_, Host>, (): ()| {
        Ok((store.data().call.stopped() == Some(Stop::Cancelled),))
    })?;
    Ok(linker)
}

type Fields = Vec<(String, String)>;

fn write_log(
    mut store: StoreContextMut<'_, Host>,
    (level, message, fields): (Level, String, Fields),
) -> Result<()> {
    let host = store.data_mut();
    host.call.meters.log_records.fetch_add(1, Ordering::Relaxed);
    if host.logged >= host.call.limits.log_records {
        return Ok(());
    }
    host.logged += 1;
    // One cap over the whole record: what the message leaves is for the fields.
    let mut room = usize::try_from(host.call.limits.log_record_bytes).unwrap_or(usize::MAX);
    let mut take = |text: &str| {
        let kept = cap_bytes(text, room).to_owned();
        room -= kept.len();
        kept
    };
    let message = take(&message);
    let fields = fields.iter().take(MAX_LOG_FIELDS).map(|(name, value)| (take(name), take(value))).collect();
    let level = match level {
        Level::Trace => LogLevel::Trace,
        Level::Debug => LogLevel::Debug,
        Level::Info => LogLevel::Info,
        Level::Warn => LogLevel::Warn,
        Level::Error => LogLevel::Error,
    };
    host.services.log(LogRecord { level, message, fields });
    Ok(())
}

fn report_progress(
    mut store: StoreContextMut<'_, Host>,
    (done, total, note): (u64, Option<u64>, Option<String>),
) -> Result<()> {
    let host = store.data_mut();
    let cap = usize::try_from(host.call.limits.log_record_bytes).unwrap_or(usize::MAX);
    let note = note.map(|note| cap_bytes(&note, cap).to_owned());
    host.services.progress(Progress { done, total, note });
    Ok(())
}
