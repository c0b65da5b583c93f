//! A place in the line.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use super::line::Place;
use super::{Compiled, Shared};
use crate::error::CompileError;

/// What changed for somebody who waits.
#[derive(Debug, Clone)]
pub enum Update {
    /// It waits.
    Queued {
        /// Its place, from 1: the next to be compiled.
        place: usize,
        /// How many wait.
        of: usize,
    },
    /// It is being compiled.
    Compiling,
    /// It is done. Nothing comes after this.
    Done(Result<Compiled, CompileError>),
}

impl Update {
    /// Whether it says no more than the other one.
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Queued { place, of }, Self::Queued { place: other_place, of: other_of }) => {
                (place, of) == (other_place, other_of)
            }
            (Self::Compiling, Self::Compiling) => true,
            (Self::Queued { .. } | Self::Compiling | Self::Done(_), _) => false,
        }
    }
}

/// A place in the line; dropping it gives it up.
#[derive(Debug)]
pub struct Ticket {
    shared: Arc<Shared>,
    place: Place,
    told: Option<Update>,
}

impl Ticket {
    pub(super) fn new(shared: Arc<Shared>, place: Place) -> Self {
        Self { shared, place, told: None }
    }

    /// Waits for the next change. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Update {
        poll_fn(|ctx| {
            let update = self.shared.with_line(|line| line.poll(self.place, self.told.as_ref(), ctx.waker()));
            match update {
                Some(update) => {
                    self.told = Some(update.clone());
                    Poll::Ready(update)
                }
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Waits until it is done.
    ///
    /// # Errors
    /// What stopped the compile.
    pub async fn done(mut self) -> Result<Compiled, CompileError> {
        loop {
            if let Update::Done(result) = self.next().await {
                return result;
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let can_be_stopped = self.shared.compiler.can_be_stopped();
        self.shared.with_line(|line| line.leave(self.place, can_be_stopped));
    }
}
