//! What somebody approved for as long as a conversation lasts.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hotcell_core::approval::Approval;
use hotcell_core::ids::Digest;

/// Most tools one conversation can hold approvals of; one more counts for its call only.
pub const MAX_SESSION_GRANTS: usize = 1_024;

/// The tools somebody approved with
/// [`Decision::ApproveForSession`](hotcell_core::approval::Decision::ApproveForSession): their later
/// calls run without asking, whatever their arguments are.
///
/// An entry holds for one component, one definition and one set of grants. It answers a permission that
/// comes to `ask` and nothing else: what the policy denies stays denied, also when it says so later.
/// Clones share the entries. They are of one conversation with one caller; whoever lends them to another
/// lends the approvals.
#[derive(Clone, Default)]
pub struct SessionGrants {
    held: Arc<Mutex<BTreeSet<Key>>>,
}

/// What an entry is bound to; arguments are not a part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    component: Option<Digest>,
    definition: Digest,
    grants: Option<Digest>,
}

impl Key {
    const fn of(approval: &Approval) -> Self {
        let Approval { component, definition, grants, arguments: _ } = *approval;
        Self { component, definition, grants }
    }
}

impl SessionGrants {
    /// Without any.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many tools were approved.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held().len()
    }

    /// Whether nothing was approved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held().is_empty()
    }

    /// Withdraws all of them; calls that were let through already go on.
    pub fn clear(&self) {
        self.held().clear();
    }

    /// Whether calls like this one were approved.
    #[must_use]
    pub fn cover(&self, approval: &Approval) -> bool {
        self.held().contains(&Key::of(approval))
    }

    /// Remembers an approval, unless there are [`MAX_SESSION_GRANTS`] already.
    pub(crate) fn remember(&self, approval: &Approval) {
        let mut held = self.held();
        if held.len() < MAX_SESSION_GRANTS {
            held.insert(Key::of(approval));
        }
    }

    fn held(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        // A set is whole between two calls of its methods, whoever panicked elsewhere.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SessionGrants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionGrants").field("len", &self.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_set_takes_no_more_and_forgets_none() {
        let grants = SessionGrants::new();
        let approval = |n: usize| Approval {
            component: None,
            definition: Digest::of(&n.to_be_bytes()),
            grants: None,
            arguments: Digest::of(b""),
        };
        for n in 0..=MAX_SESSION_GRANTS {
            grants.remember(&approval(n));
        }
        assert_eq!(grants.len(), MAX_SESSION_GRANTS);
        assert!(grants.cover(&approval(0)) && !grants.cover(&approval(MAX_SESSION_GRANTS)));
        grants.clear();
        assert!(grants.is_empty() && !grants.cover(&approval(0)));
    }
}
