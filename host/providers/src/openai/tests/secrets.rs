//! The key never shows: not in an error, not in `Debug`, not in a log at its most talkative.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::span;

use super::*;

/// Keeps everything that is traced on this thread.
#[derive(Clone, Default)]
struct Everything(Arc<Mutex<String>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0, "{field}={value:?}").unwrap();
    }
}

impl tracing::Subscriber for Everything {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        attributes.record(&mut Fields(&mut self.0.lock().unwrap()));
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, record: &span::Record<'_>) {
        record.record(&mut Fields(&mut self.0.lock().unwrap()));
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Fields(&mut self.0.lock().unwrap()));
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Keeps everything that is logged in this process, by whichever test.
struct Log(Mutex<String>);

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        writeln!(self.0.lock().unwrap(), "{} {}", record.target(), record.args()).unwrap();
    }
    fn flush(&self) {}
}

fn log() -> &'static Log {
    static LOG: OnceLock<&'static Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log: &'static Log = Box::leak(Box::new(Log(Mutex::new(String::new()))));
        log::set_logger(log).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
        log
    })
}

#[tokio::test]
async fn the_key_shows_nowhere_whatever_goes_wrong() {
    let log = log();
    let traced = Everything::default();
    let _guard = tracing::subscriber::set_default(traced.clone());
    // A server that repeats the key is the worst case; long texts cut it at every place.
    let echo = |before: usize| {
        json!({"error": {"message": format!("{}{KEY} is wrong, {KEY}", "x".repeat(before))}})
            .to_string()
            .into_bytes()
    };
    let garbage = |before: usize| format!("{}{KEY} {KEY}", "x".repeat(before)).into_bytes();
    let mut answers = vec![Answer::Truncated, Answer::Hold, Answer::HoldBody];
    answers.extend(["401 No", "302 Found", "500 Oops", "200 OK"].map(|s| Answer::Whole(s, "", echo(0))));
    answers.extend((480..=500).step_by(5).map(|before| Answer::Whole("401 No", "", echo(before))));
    answers.extend((480..=500).step_by(5).map(|before| Answer::Whole("200 OK", "", garbage(before))));
    answers.extend((1_980..=2_000).step_by(5).map(|before| Answer::Whole("200 OK", "", garbage(before))));
    let count = answers.len();
    let server = Server::start(answers);
    let settings = OpenAiSettings { timeout: Duration::from_millis(500), ..settings(&server.base_url) };
    let mut shown = vec![format!("{settings:?}")];
    let model = OpenAiChat::new(settings.clone()).unwrap();
    shown.push(format!("{model:?}"));
    for _ in 0..count {
        let mut stream = model.stream(request([Message::user("hi")], &[]));
        let error = stream.next().await.unwrap().unwrap_err();
        shown.extend([error.to_string(), format!("{error:?}"), serde_json::to_string(&error).unwrap()]);
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = OpenAiSettings { base_url: format!("http://{free}"), ..settings };
    let error = ask(nobody, request([Message::user("hi")], &[])).await.unwrap_err();
    shown.extend([error.to_string(), format!("{error:?}")]);

    let traced = traced.0.lock().unwrap().clone();
    let logged = log.0.lock().unwrap().clone();
    assert!(traced.contains("OpenAI Chat Completions request"), "tracing was captured: {traced}");
    assert!(!logged.is_empty(), "logs were captured");
    shown.extend([traced, logged]);
    for text in &shown {
        // Half a key is a leak as well.
        assert!(!text.contains("sk-canary"), "{text}");
    }
    assert!(shown.iter().any(|text| text.contains("[key] is wrong")), "{shown:?}");
}
