//! From what a policy says of runs to the limits of a run.

use hotcell_core::limits::Limits;
use hotcell_core::policy::{Bound, RunPolicy};

/// The default limits, or the strict ones, with what the policy's `[run]` says in their place.
#[must_use]
pub fn run_limits(policy: &RunPolicy) -> Limits {
    let mut limits = if policy.strict == Some(true) { Limits::strict() } else { Limits::default() };
    let bound = |bound| match bound {
        Bound::Unlimited => None,
        Bound::AtMost(count) => Some(count),
    };
    if let Some(turns) = policy.max_turns {
        limits.max_turns = bound(turns);
    }
    if let Some(calls) = policy.max_tool_calls {
        limits.max_tool_calls = bound(calls);
    }
    limits.max_time = policy.max_time.or(limits.max_time);
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;
    use std::time::Duration;

    #[test]
    fn what_the_policy_does_not_say_stays_as_it_was() {
        assert_eq!(run_limits(&RunPolicy::default()), Limits::default());
        let policy = RunPolicy {
            max_turns: Some(Bound::Unlimited),
            max_tool_calls: NonZeroU32::new(7).map(Bound::AtMost),
            max_time: Some(Duration::from_secs(60)),
            ..RunPolicy::default()
        };
        let limits = run_limits(&policy);
        assert_eq!((limits.max_turns, limits.max_tool_calls), (None, NonZeroU32::new(7)));
        assert_eq!(limits.max_time, Some(Duration::from_secs(60)));
        let strict =
            RunPolicy { strict: Some(true), max_turns: Some(Bound::Unlimited), ..RunPolicy::default() };
        assert_eq!(run_limits(&strict), Limits { max_turns: None, ..Limits::strict() });
    }
}
