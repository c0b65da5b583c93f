//! How a call can end: stable codes, phases, trap kinds and a tool's own faults.
//!
//! The texts of these codes are part of the public interface: never reused, never renamed.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)+
        }

        impl $name {
            /// Every code, in the order of its declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable text of the code.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

codes! {
    /// The code one call ended with.
    Outcome {
        /// The tool returned a result that passed every check.
        Ok = "ok",
        /// The tool said that it failed, or exited before returning.
        ToolError = "tool_error",
        /// The guest trapped; see [`TrapKind`].
        Trap = "trap",
        /// The wall-clock limit passed.
        Deadline = "deadline",
        /// The fuel limit was used up.
        Fuel = "fuel",
        /// Memory beyond the limit was needed.
        MemoryLimit = "memory_limit",
        /// Another countable resource ran out: tables, instances, handles, host-call bytes.
        ResourceLimit = "resource_limit",
        /// The result is larger than the limit.
        ResultTooLarge = "result_too_large",
        /// The result is not what the interface or the output schema promises.
        InvalidResult = "invalid_result",
        /// Policy or an approver said no; the tool did not run.
        Denied = "denied",
        /// The caller gave up on the call.
        Cancelled = "cancelled",
        /// A fault of the host.
        Internal = "internal",
        /// The arguments do not match the input schema; the tool did not run.
        InvalidArgs = "invalid_args",
        /// No tool of this name is offered.
        UnknownTool = "unknown_tool",
        /// An approval is needed first; the tool did not run.
        ApprovalRequired = "approval_required",
        /// A budget of the caller is used up; the tool did not run.
        Quota = "quota",
        /// The host takes no more calls at present; the tool did not run.
        Overloaded = "overloaded",
    }
}

impl Outcome {
    /// Whether the call produced a result the model can use as it is.
    #[must_use]
    pub const fn is_ok(self) -> bool {
        matches!(self, Self::Ok)
    }

    /// The outcome an event shows; one total function, so that no code is forgotten.
    #[must_use]
    pub const fn event_outcome(self) -> EventOutcome {
        match self {
            Self::Ok => EventOutcome::Success,
            Self::Denied | Self::ApprovalRequired => EventOutcome::Denied,
            Self::Deadline => EventOutcome::TimedOut,
            Self::Trap => EventOutcome::Trapped,
            Self::Cancelled | Self::Internal => EventOutcome::Interrupted,
            Self::ToolError
            | Self::Fuel
            | Self::MemoryLimit
            | Self::ResourceLimit
            | Self::ResultTooLarge
            | Self::InvalidResult
            | Self::InvalidArgs
            | Self::UnknownTool
            | Self::Quota
            | Self::Overloaded => EventOutcome::Error,
        }
    }
}

codes! {
    /// The coarse outcome an event carries.
    EventOutcome {
        /// The tool returned a result.
        Success = "success",
        /// The call ended with an error the model can act on.
        Error = "error",
        /// The call was not allowed.
        Denied = "denied",
        /// The call was never dispatched; a reason is given.
        Skipped = "skipped",
        /// The call ran out of time.
        TimedOut = "timed_out",
        /// The guest trapped.
        Trapped = "trapped",
        /// The call was cut short by a cancellation or a fault of the host.
        Interrupted = "interrupted",
        /// An earlier result was used.
        Cached = "cached",
    }
}

codes! {
    /// Where in a call something happened.
    Phase {
        /// Bytes are being fetched.
        Fetch = "fetch",
        /// The component is being compiled.
        Compile = "compile",
        /// The call waits to be admitted.
        Queue = "queue",
        /// The artifact is being loaded.
        Load = "load",
        /// Core instances are created and start functions run.
        Instantiate = "instantiate",
        /// The tool is asked for its definitions.
        Definitions = "definitions",
        /// Arguments are written into the guest.
        Lower = "lower",
        /// The tool's function runs.
        Call = "call",
        /// The result is read out of the guest.
        Lift = "lift",
        /// The guest cleans up after its result was read.
        PostReturn = "post_return",
    }
}

codes! {
    /// What kind of trap ended the guest.
    TrapKind {
        /// An `unreachable` instruction, which is also how a panic ends.
        Unreachable = "unreachable",
        /// Recursion deeper than the stack.
        StackOverflow = "stack_overflow",
        /// An access beyond the end of a memory.
        MemoryOob = "memory_oob",
        /// An access beyond the end of a table.
        TableOob = "table_oob",
        /// An indirect call to an empty table slot.
        IndirectNull = "indirect_null",
        /// An indirect call with another signature.
        IndirectType = "indirect_type",
        /// An integer division by zero.
        DivByZero = "div_by_zero",
        /// An integer operation whose result does not fit.
        IntOverflow = "int_overflow",
        /// A float that has no integer value.
        BadFloatConversion = "bad_float_conversion",
        /// The guest broke the rules of the component interface.
        CanonicalAbi = "canonical_abi",
        /// A handle that does not exist, or is of another type.
        BadHandle = "bad_handle",
        /// More handles than allowed.
        HandleTableFull = "handle_table_full",
        /// A trap that has no name of its own here.
        Other = "other",
    }
}

codes! {
    /// What a tool says of its own failure.
    Fault {
        /// The arguments make no sense to the tool.
        InvalidInput = "invalid_input",
        /// What was asked for does not exist.
        NotFound = "not_found",
        /// The tool was refused something it needs.
        Denied = "denied",
        /// Credentials are missing or wrong.
        Unauthenticated = "unauthenticated",
        /// The state of the world does not allow it.
        Conflict = "conflict",
        /// Too many requests; see the retry hint.
        RateLimited = "rate_limited",
        /// A service the tool depends on failed.
        Upstream = "upstream",
        /// The tool cannot serve at present.
        Unavailable = "unavailable",
        /// The tool noticed that it was cancelled.
        Cancelled = "cancelled",
        /// A fault of the tool itself.
        Internal = "internal",
    }
}

impl Fault {
    /// Whether the same call may succeed a little later.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        match self {
            Self::RateLimited | Self::Upstream | Self::Unavailable => true,
            Self::InvalidInput
            | Self::NotFound
            | Self::Denied
            | Self::Unauthenticated
            | Self::Conflict
            | Self::Cancelled
            | Self::Internal => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_serialise_to_their_stable_text() {
        for code in Outcome::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
        for phase in Phase::ALL {
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.as_str());
        }
    }

    #[test]
    fn every_outcome_maps_to_one_event_outcome() {
        let table: Vec<_> = Outcome::ALL.iter().map(|o| (o.as_str(), o.event_outcome().as_str())).collect();
        assert_eq!(
            table,
            [
                ("ok", "success"),
                ("tool_error", "error"),
                ("trap", "trapped"),
                ("deadline", "timed_out"),
                ("fuel", "error"),
                ("memory_limit", "error"),
                ("resource_limit", "error"),
                ("result_too_large", "error"),
                ("invalid_result", "error"),
                ("denied", "denied"),
                ("cancelled", "interrupted"),
                ("internal", "interrupted"),
                ("invalid_args", "error"),
                ("unknown_tool", "error"),
                ("approval_required", "denied"),
                ("quota", "error"),
                ("overloaded", "error"),
            ]
        );
    }
}
