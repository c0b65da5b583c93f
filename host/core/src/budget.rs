//! Budgets with a parent: what a nested call spends counts for every caller above it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What is left for a call and everything it starts.
///
/// Cloning shares the counters. The deadline is an [`Instant`] of the caller's clock;
/// this type never reads a clock itself.
#[derive(Debug, Clone)]
pub struct Budget {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    parent: Option<Budget>,
    deadline: Option<Instant>,
    calls: Counter,
    fuel: Counter,
    bytes: Counter,
}

#[derive(Debug)]
struct Counter {
    limit: Option<u64>,
    used: AtomicU64,
}

impl Counter {
    const fn new(limit: Option<u64>) -> Self {
        Self { limit, used: AtomicU64::new(0) }
    }

    fn take(&self, amount: u64) -> bool {
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let next = used.saturating_add(amount);
                self.limit.is_none_or(|limit| next <= limit).then_some(next)
            })
            .is_ok()
    }

    fn put_back(&self, amount: u64) {
        self.used.fetch_sub(amount, Ordering::Relaxed);
    }

    fn add(&self, amount: u64) {
        self.used.fetch_add(amount, Ordering::Relaxed);
    }

    fn left(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_sub(self.used.load(Ordering::Relaxed)))
    }
}

/// The limits of one [`Budget`]; what is absent is bounded by the parent only.
#[derive(Debug, Clone, Copy, Default)]
pub struct BudgetLimits {
    /// When time is up.
    pub deadline: Option<Instant>,
    /// How many calls may be made.
    pub calls: Option<u64>,
    /// How much fuel may be burned.
    pub fuel: Option<u64>,
    /// How many result bytes may be taken in.
    pub bytes: Option<u64>,
}

impl Budget {
    /// A budget without a parent.
    #[must_use]
    pub fn root(limits: BudgetLimits) -> Self {
        Self::with_parent(None, limits)
    }

    /// A budget inside of this one.
    #[must_use]
    pub fn child(&self, limits: BudgetLimits) -> Self {
        Self::with_parent(Some(self.clone()), limits)
    }

    fn with_parent(parent: Option<Self>, limits: BudgetLimits) -> Self {
        let inherited = parent.as_ref().and_then(Self::deadline);
        let deadline = match (limits.deadline, inherited) {
            (Some(own), Some(parent)) => Some(own.min(parent)),
            (own, parent) => own.or(parent),
        };
        Self {
            inner: Arc::new(Inner {
                parent,
                deadline,
                calls: Counter::new(limits.calls),
                fuel: Counter::new(limits.fuel),
                bytes: Counter::new(limits.bytes),
            }),
        }
    }

    /// The earliest deadline of this budget and its parents.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.inner.deadline
    }

    /// The time left at `now`; `None` when no deadline exists.
    #[must_use]
    pub fn remaining(&self, now: Instant) -> Option<Duration> {
        self.inner.deadline.map(|deadline| deadline.saturating_duration_since(now))
    }

    /// The fuel left, the smallest of this budget and its parents; `None` when no limit exists.
    #[must_use]
    pub fn fuel_left(&self) -> Option<u64> {
        let parent = self.inner.parent.as_ref().and_then(Self::fuel_left);
        match (self.inner.fuel.left(), parent) {
            (Some(own), Some(parent)) => Some(own.min(parent)),
            (own, parent) => own.or(parent),
        }
    }

    /// Takes `count` calls from this budget and every parent, all or nothing; says whether they were left.
    #[must_use]
    pub fn take_calls(&self, count: u64) -> bool {
        if !self.inner.calls.take(count) {
            return false;
        }
        let granted = self.inner.parent.as_ref().is_none_or(|parent| parent.take_calls(count));
        if !granted {
            self.inner.calls.put_back(count);
        }
        granted
    }

    /// Records what a call used, here and in every parent.
    pub fn spend(&self, fuel: u64, bytes: u64) {
        self.inner.fuel.add(fuel);
        self.inner.bytes.add(bytes);
        if let Some(parent) = &self.inner.parent {
            parent.spend(fuel, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_never_has_more_than_its_parent() {
        let now = Instant::now();
        let soon = now + Duration::from_secs(1);
        let parent =
            Budget::root(BudgetLimits { deadline: Some(soon), calls: Some(2), fuel: Some(10), bytes: None });
        let child = parent.child(BudgetLimits {
            deadline: Some(soon + Duration::from_secs(9)),
            calls: Some(5),
            ..BudgetLimits::default()
        });
        assert_eq!(child.deadline(), Some(soon));
        assert!(!child.take_calls(3), "the parent has two");
        assert!(child.take_calls(2) && !parent.take_calls(1));
        child.spend(7, 1);
        assert_eq!(parent.fuel_left(), Some(3));
        assert_eq!(child.fuel_left(), Some(3));
    }
}
