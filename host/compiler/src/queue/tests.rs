use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

use crate::compile::{Compile, CompileLimits};

use super::*;

/// A component that compiles in a moment; each number is another one.
fn component(number: u8) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component (core module $m (func (export "run") (result i32) i32.const {number}))
            (core instance $i (instantiate $m))
            (func (export "run") (result u32) (canon lift (core func $i "run"))))"#
    ))
    .unwrap()
}

fn queue(workers: usize, waiting: usize) -> CompileQueue {
    let compiler = Compiler::new(Compile::InProcess, CompileLimits::default());
    let workers = NonZeroUsize::new(workers).unwrap();
    CompileQueue::new(compiler, ArtifactCache::off("a test"), QueueLimits { workers, waiting })
}

/// A source that waits until it is allowed to go on, and says when it was asked.
struct Gate {
    asked: mpsc::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

fn gated(number: u8) -> (Digest, Source, Gate) {
    let bytes = component(number);
    let digest = Digest::of(&bytes);
    let (ask, asked) = mpsc::channel();
    let (go_on, allowed) = mpsc::channel();
    let source: Source = Box::new(move || {
        ask.send(()).unwrap();
        // A test that is over has dropped the gate.
        match allowed.recv() {
            Ok(()) => Ok(Box::new(bytes)),
            Err(_over) => Err(CompileError::internal("the gate is gone")),
        }
    });
    (digest, source, Gate { asked, go_on })
}

fn free(number: u8) -> (Digest, Source) {
    let bytes = component(number);
    (Digest::of(&bytes), Box::new(move || Ok(Box::new(bytes))))
}

/// What a ticket is told when it is asked now.
fn now(ticket: &mut Ticket) -> Option<Update> {
    let mut ctx = Context::from_waker(Waker::noop());
    match pin!(ticket.next()).poll(&mut ctx) {
        Poll::Ready(update) => Some(update),
        Poll::Pending => None,
    }
}

/// Waits for the end of a ticket on this thread.
fn end(mut ticket: Ticket) -> Result<Compiled, CompileError> {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(Update::Done(result)) = now(&mut ticket) {
            return result;
        }
        assert!(Instant::now() < patience, "nothing came within a minute");
        std::thread::yield_now();
    }
}

#[track_caller]
fn check_place(ticket: &mut Ticket, expected: (usize, usize)) {
    match now(ticket) {
        Some(Update::Queued { place, of }) => assert_eq!((place, of), expected),
        other => panic!("expected a place, found {other:?}"),
    }
}

#[test]
fn two_loads_of_the_same_bytes_share_one_compile_and_its_failure() {
    let queue = queue(2, 8);
    let (digest, source, gate) = gated(1);
    let first = queue.enter(digest, source).unwrap();
    gate.asked.recv().unwrap();
    let never: Source = Box::new(|| panic!("one compile is enough"));
    let second = queue.enter(digest, never).unwrap();
    assert_eq!(queue.gauges(), QueueGauges { running: 1, waiting: 0 });
    gate.go_on.send(()).unwrap();
    let (first, second) = (end(first).unwrap(), end(second).unwrap());
    assert_eq!(first.artifact.code().read().unwrap(), second.artifact.code().read().unwrap());
    assert_eq!(first.took, second.took);

    let (digest, source, gate) = gated(2);
    let (first, never): (_, Source) = (queue.enter(digest, source).unwrap(), Box::new(|| panic!("no")));
    let second = queue.enter(digest, never).unwrap();
    gate.asked.recv().unwrap();
    drop(gate);
    assert_eq!(end(first).unwrap_err(), end(second).unwrap_err());
    let (digest, source) = free(2);
    end(queue.enter(digest, source).unwrap()).expect("a failure is not kept");
}

#[test]
fn few_run_the_others_know_their_place_and_one_more_is_overloaded() {
    let queue = queue(1, 3);
    let (digest, source, gate) = gated(0);
    let mut running = queue.enter(digest, source).unwrap();
    gate.asked.recv().unwrap();
    assert!(matches!(now(&mut running), Some(Update::Compiling)));
    assert!(now(&mut running).is_none(), "nothing changed");
    let mut waiting: Vec<_> = (1..=3)
        .map(|number| {
            let (digest, source) = free(number);
            queue.enter(digest, source).unwrap()
        })
        .collect();
    for (ticket, place) in waiting.iter_mut().zip(1..) {
        check_place(ticket, (place, 3));
        assert!(now(ticket).is_none());
    }
    let (digest, source) = free(9);
    let error = queue.enter(digest, source).unwrap_err();
    assert_eq!(error, CompileError::Overloaded { waiting: 3 });
    assert_eq!(error.code(), "overloaded");
    // Who joins one that waits takes no room.
    let (digest, source) = free(2);
    let mut joined = queue.enter(digest, source).unwrap();
    check_place(&mut joined, (2, 3));

    drop(waiting.remove(0));
    check_place(&mut joined, (1, 2));
    assert_eq!(queue.gauges(), QueueGauges { running: 1, waiting: 2 });
    gate.go_on.send(()).unwrap();
    end(running).unwrap();
    let third = waiting.pop().unwrap();
    end(third).unwrap();
    end(joined).unwrap();
}

#[test]
fn who_leaves_the_line_leaves_nothing_and_the_order_is_that_of_arrival() {
    let queue = queue(1, 8);
    let (digest, source, gate) = gated(0);
    let running = queue.enter(digest, source).unwrap();
    gate.asked.recv().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let enter = |number: u8| {
        let (digest, source) = free(number);
        let order = Arc::clone(&order);
        let noting: Source = Box::new(move || {
            order.lock().unwrap().push(number);
            source()
        });
        queue.enter(digest, noting).unwrap()
    };
    let tickets: Vec<_> = [5, 3, 4, 1, 2].map(enter).into_iter().collect();
    let mut tickets = tickets.into_iter();
    let (five, three) = (tickets.next().unwrap(), tickets.next().unwrap());
    drop(three);
    gate.go_on.send(()).unwrap();
    end(running).unwrap();
    tickets.for_each(|ticket| drop(end(ticket).unwrap()));
    end(five).unwrap();
    assert_eq!(*order.lock().unwrap(), [5, 4, 1, 2]);
    assert_eq!(queue.gauges().waiting, 0);
}

#[test]
fn bytes_that_changed_while_they_waited_and_a_panic_are_errors_and_the_line_goes_on() {
    let queue = queue(1, 8);
    let (digest, _) = free(1);
    let (_, other) = free(2);
    let error = end(queue.enter(digest, other).unwrap()).unwrap_err();
    assert!(error.to_string().contains("changed while it waited"), "{error}");
    let panics: Source = Box::new(|| std::panic::resume_unwind(Box::new("a fault of the host")));
    let error = end(queue.enter(digest, panics).unwrap()).unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    let (digest, source) = free(1);
    end(queue.enter(digest, source).unwrap()).unwrap();
}

#[test]
fn nothing_is_compiled_where_everything_was_made_beforehand() {
    let how = Compile::Prepared { folder: "/srv/artifacts".into() };
    let compiler = Compiler::new(how, CompileLimits::default());
    let queue = CompileQueue::new(compiler, ArtifactCache::off("a test"), QueueLimits::default());
    let (digest, source) = free(1);
    let error = end(queue.enter(digest, source).unwrap()).unwrap_err();
    assert_eq!(error.code(), "not_compiled");
    assert!(error.advice().contains("hotcell tool compile FILE --out /srv/artifacts"), "{}", error.advice());
}
