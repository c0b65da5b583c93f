//! Components whose compile ended badly several times, which are not tried again for a while.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hotcell_core::ids::Digest;

use crate::error::CompileError;

/// How often a compile may end badly before the next is not tried.
const TRIES: u32 = 3;

/// For how long it is not tried.
const PAUSE: Duration = Duration::from_secs(60);

/// Components that are remembered; the one whose last bad end is the longest ago is forgotten first.
const REMEMBERED: usize = 64;

/// Remembers bad ends: being killed, running into a limit, ending without an answer.
///
/// A component that is built to exhaust the compiler costs a minute of a processor each time it is tried; one that is
/// loaded again and again by a program that retries would keep the compile workers from all others.
#[derive(Debug, Default)]
pub(super) struct BadEnds {
    known: Mutex<VecDeque<BadEnd>>,
}

#[derive(Debug)]
struct BadEnd {
    digest: Digest,
    times: u32,
    last: CompileError,
    at: Instant,
}

impl BadEnds {
    /// Whether it may be tried.
    ///
    /// # Errors
    /// [`CompileError::NotTried`] with the last reason.
    pub(super) fn check(&self, digest: &Digest) -> Result<(), CompileError> {
        self.check_at(digest, Instant::now())
    }

    /// Remembers how a compile ended; `None` is a good end, after which everything before is forgotten.
    pub(super) fn note(&self, digest: Digest, bad: Option<&CompileError>) {
        self.note_at(digest, bad, Instant::now());
    }

    fn check_at(&self, digest: &Digest, now: Instant) -> Result<(), CompileError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.iter().find(|bad| bad.digest == *digest) {
            Some(bad) if bad.times >= TRIES && now.saturating_duration_since(bad.at) < PAUSE => {
                Err(CompileError::NotTried {
                    last: Box::new(bad.last.clone()),
                    times: bad.times,
                    pause: PAUSE,
                })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn note_at(&self, digest: Digest, bad: Option<&CompileError>, now: Instant) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|bad| bad.digest == digest);
        let before = place.and_then(|place| known.remove(place)).map_or(0, |bad| bad.times);
        if let Some(last) = bad {
            known.truncate(REMEMBERED - 1);
            let times = before.saturating_add(1);
            known.push_front(BadEnd { digest, times, last: last.clone(), at: now });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad() -> CompileError {
        CompileError::Limit { reason: "it was too much".into() }
    }

    #[test]
    fn after_three_bad_ends_a_component_is_not_tried_for_a_minute_and_then_once() {
        let ends = BadEnds::default();
        let (digest, other) = (Digest::of(b"a"), Digest::of(b"b"));
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(ends.check_at(&digest, start), Ok(()));
            ends.note_at(digest, Some(&bad()), start);
        }
        let error = ends.check_at(&digest, start).unwrap_err();
        assert_eq!(error.code(), "compile_limit");
        assert_eq!(
            error.to_string(),
            "compiling was stopped: it was too much; after 3 such ends it is not tried again for 60.00 s"
        );
        assert_eq!(ends.check_at(&other, start), Ok(()));
        let later = start + PAUSE;
        assert_eq!(ends.check_at(&digest, later), Ok(()));
        ends.note_at(digest, Some(&bad()), later);
        assert!(ends.check_at(&digest, later).is_err());
        ends.note_at(digest, None, later);
        assert_eq!(ends.check_at(&digest, later), Ok(()));
    }

    #[test]
    fn only_so_many_components_are_remembered() {
        let ends = BadEnds::default();
        let now = Instant::now();
        for number in 0..200_u32 {
            ends.note_at(Digest::of(&number.to_be_bytes()), Some(&bad()), now);
        }
        assert_eq!(ends.known.lock().unwrap().len(), REMEMBERED);
    }
}
