use std::time::Instant;

use super::server::PATIENCE;
use super::*;

async fn failure(answer: Answer) -> ModelError {
    let server = Server::start(vec![answer]);
    let error = ask(settings(&server.base_url), request([Message::user("hi")], &[])).await.unwrap_err();
    let address = server.base_url.trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    match error {
        ModelError::Provider { message, status } => {
            ModelError::Provider { message: message.replace(&address, "HOST"), status }
        }
        other => other,
    }
}

fn provider(message: &str, status: Option<u16>) -> ModelError {
    ModelError::Provider { message: message.into(), status }
}

// A client that gives up closes its connection in a task; the threads here are for that task.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_is_no_success_is_an_error_with_what_the_server_says() {
    let said = |text: &str| json!({"error": {"message": text, "type": "x"}}).to_string().into_bytes();
    let cases = [
        (
            "401 Unauthorized",
            said("bad key"),
            "`HOST` answered 401 Unauthorized: bad key; check the key",
            401,
        ),
        (
            "404 Not Found",
            said("no such model"),
            "`HOST` answered 404 Not Found: no such model; check the base URL and the name of the model",
            404,
        ),
        (
            "429 Too Many Requests",
            said("slow down"),
            "`HOST` answered 429 Too Many Requests: slow down; wait, or check the quota",
            429,
        ),
        (
            "500 Internal Server Error",
            b"<html>\x1b[31moops</html>".to_vec(),
            "`HOST` answered 500 Internal Server Error: <html>\\u{1b}[31moops</html>; try again later",
            500,
        ),
        ("400 Bad Request", vec![], "`HOST` answered 400 Bad Request", 400),
        (
            "503 Service Unavailable",
            said(""),
            "`HOST` answered 503 Service Unavailable; try again later",
            503,
        ),
    ];
    for (status, body, expected, code) in cases {
        assert_eq!(failure(Answer::Whole(status, "", body)).await, provider(expected, Some(code)));
    }
    let endless = failure(Answer::Whole("500 Oops", "", vec![b'x'; 10 << 20])).await.to_string();
    assert!(endless.len() < 1_000, "{endless}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let location: &'static str =
        Box::leak(format!("location: http://{}/v1/x\r\n", other.local_addr().unwrap()).into_boxed_str());
    for status in ["302 Found", "307 Temporary Redirect"] {
        let error = failure(Answer::Whole(status, location, vec![])).await.to_string();
        assert!(error.ends_with("redirects are not followed, set the base URL they lead to"), "{error}");
    }
    assert_eq!(other.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "nobody came");
}

#[tokio::test]
async fn a_body_that_is_no_json_is_quoted() {
    let error = failure(Answer::Whole("200 OK", "", b"<html>\x1b nope".to_vec())).await;
    let expected =
        "malformed reply: expected JSON, found `<html>\\u{1b} nope` (expected value at line 1 column 1)";
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_reply_that_breaks_off_or_is_too_long_is_an_error() {
    let error = failure(Answer::Truncated).await.to_string();
    assert!(error.starts_with("provider failed: the reply of `HOST` broke off: "), "{error}");
    let server = Server::start(vec![Answer::Whole("200 OK", "", vec![b' '; 100_000])]);
    let settings = OpenAiSettings { max_reply_bytes: 64 << 10, ..settings(&server.base_url) };
    let error = ask(settings, request([Message::user("hi")], &[])).await.unwrap_err().to_string();
    assert!(error.ends_with("has more than 64 KiB, the most that is read"), "{error}");
}

// A client that gives up closes its connection in a task; the threads here are for that task.
/// P-45.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_server_is_given_up_in_time() {
    for answer in [Answer::Hold, Answer::HoldBody] {
        let server = Server::start(vec![answer]);
        let settings = OpenAiSettings { timeout: Duration::from_millis(200), ..settings(&server.base_url) };
        let start = Instant::now();
        let error = ask(settings, request([Message::user("hi")], &[])).await.unwrap_err().to_string();
        assert!(start.elapsed() < PATIENCE, "gave up after {:?}", start.elapsed());
        assert!(
            error.ends_with("gave no whole reply within 200.0 ms; try again, or allow more time"),
            "{error}"
        );
        server.wait_for_close();
    }
}

// A client that gives up closes its connection in a task; the threads here are for that task.
#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_stream_closes_the_connection() {
    let server = Server::start(vec![Answer::Hold]);
    let model = OpenAiChat::new(settings(&server.base_url)).unwrap();
    let mut stream = model.stream(request([Message::user("hi")], &[]));
    // Waiting on the server's channel here would keep this thread from driving the client.
    let received = async {
        while server.requests.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        event = stream.next() => panic!("{event:?}"),
        () = received => {}
    }
    drop(stream);
    server.wait_for_close();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = settings(&format!("http://{free}/v1"));
    let error = ask(settings, request([Message::user("hi")], &[])).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("provider failed: `{free}` cannot be reached: ")), "{error}");
    assert!(error.ends_with("; check the base URL and the network"), "{error}");
}

#[tokio::test]
async fn a_request_without_messages_is_an_error_and_sends_nothing() {
    let error = ask(settings("http://127.0.0.1:9/v1"), request([], &[])).await.unwrap_err().to_string();
    assert!(error.starts_with("provider failed: the request cannot be written: "), "{error}");
}

#[test]
fn wrong_settings_say_what_was_expected() {
    let form = "; expected one such as `https://api.openai.com/v1` or `http://127.0.0.1:8080/v1`";
    for (base_url, expected) in [
        ("", format!("base URL cannot be read (relative URL without a base){form}")),
        ("api.openai.com/v1", format!("base URL cannot be read (relative URL without a base){form}")),
        ("ftp://x/v1", format!("base URL has neither `http://` nor `https://` in front{form}")),
        ("https://user:secret@x/v1", format!("base URL has a user or a password in it{form}")),
        ("https://x/v1?key=secret", format!("base URL has a `?` or a `#` in it{form}")),
        (
            "http://example.com/v1",
            "a key is not sent over plain http to `example.com`; use https, or leave the key out".into(),
        ),
    ] {
        assert_eq!(OpenAiChat::new(settings(base_url)).unwrap_err().to_string(), expected);
    }
    for base_url in ["http://localhost:1/v1", "http://127.0.0.1:1/v1", "http://[::1]:1/v1"] {
        assert!(OpenAiChat::new(settings(base_url)).is_ok(), "{base_url}");
    }
    let keyless = OpenAiSettings { api_key: None, ..settings("http://example.com/v1") };
    assert!(OpenAiChat::new(keyless).is_ok());
    for key in ["", " ", "sk-x\n", "sk x", "sk-\u{e9}"] {
        let settings = OpenAiSettings { api_key: Some(key.into()), ..settings("http://localhost:1/v1") };
        let error = OpenAiChat::new(settings).unwrap_err().to_string();
        assert!(error.starts_with("the key is empty or has a character"), "{error}");
    }
}

// The handshake fails before any certificate is looked at, so this needs no authority of its own.
#[tokio::test(flavor = "multi_thread")]
async fn https_speaks_tls_and_never_falls_back_to_plain_http() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut first = [0; 1];
        stream.read_exact(&mut first).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        first[0]
    });
    let settings = settings(&format!("https://{address}/v1"));
    let error = ask(settings, request([Message::user("hi")], &[])).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("provider failed: `{address}` cannot be reached: ")), "{error}");
    assert_eq!(server.join().unwrap(), 22, "the first byte is that of a TLS handshake");
}
