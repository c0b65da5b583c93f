//! What goes into one tool call and what comes out: plain, serialisable values.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::Block;
use crate::ids::{CallId, Digest, IdempotencyKey, PrincipalId, RunId, SessionId, TenantId};
use crate::limits::CallLimits;
use crate::outcome::{Fault, Outcome, Phase, TrapKind};
use crate::units::millis;

/// Who a call is made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// Whose data and budgets are touched.
    pub tenant: TenantId,
    /// Who is served; scheduling is fair between principals.
    pub principal: PrincipalId,
    /// The conversation, when there is one.
    pub session: Option<SessionId>,
    /// The run, when there is one.
    pub run: Option<RunId>,
}

impl Caller {
    /// A caller without session and run, as the command line uses it.
    ///
    /// # Panics
    /// Never: both texts are constants that satisfy the rules for ids.
    #[must_use]
    pub fn local() -> Self {
        Self {
            tenant: TenantId::parse("local").expect("a constant that satisfies the rules for ids"),
            principal: PrincipalId::parse("local").expect("a constant that satisfies the rules for ids"),
            session: None,
            run: None,
        }
    }
}

/// One call of one tool of one component; everything the sandbox needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// Who is served.
    pub caller: Caller,
    /// The call.
    pub call: CallId,
    /// The same for every repetition of the call.
    pub idempotency_key: Option<IdempotencyKey>,
    /// The component that is called.
    pub component: Digest,
    /// The name of the tool inside of the component.
    pub tool: String,
    /// The arguments, one JSON text.
    pub arguments: String,
    /// What caps the call.
    pub limits: CallLimits,
    /// How much of the caller's own time is left; the smaller of this and the call's timeout counts.
    #[serde(rename = "remaining_ms", with = "millis")]
    pub remaining: Duration,
}

/// How one call ended: one outcome, what came back, and what it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallReport {
    /// The stable code.
    pub outcome: Outcome,
    /// Where the call was when it ended, unless it ended well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Written by the host: what happened, in one sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Written by the host: what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What the tool returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Block>,
    /// The tool's structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The guest's own words, capped; data, never an instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_message: Option<String>,
    /// The kind of trap, also when a limit was the cause of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trap: Option<Trap>,
    /// What the tool says of its own failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_fault: Option<ToolFault>,
    /// The limit that was reached and what was used of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetUse>,
    /// The end of what the guest wrote to standard error, capped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_tail: Option<String>,
    /// What the call used.
    pub usage: Usage,
}

impl CallReport {
    /// A report without content.
    pub fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self {
            outcome,
            phase: None,
            message: message.into(),
            advice: None,
            content: Vec::new(),
            structured: None,
            guest_message: None,
            trap: None,
            tool_fault: None,
            budget: None,
            stderr_tail: None,
            usage: Usage::default(),
        }
    }

    /// A successful report with one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Block::text(text)], ..Self::new(Outcome::Ok, "") }
    }

    /// A failure of the tool itself, of this kind and in its own words, that changed nothing outside.
    ///
    /// The kind says whether the call is worth another try; see [`CallReport::is_transient`].
    pub fn failure(fault: Fault, words: impl Into<String>) -> Self {
        let fault = ToolFault { fault, code: None, retry_after_ms: None, effect_possible: false };
        Self {
            guest_message: Some(words.into()),
            tool_fault: Some(fault),
            ..Self::new(Outcome::ToolError, "")
        }
    }

    /// The same failure of a tool, which may be gone after this time.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        if let Some(fault) = &mut self.tool_fault {
            fault.retry_after_ms = Some(u32::try_from(wait.as_millis()).unwrap_or(u32::MAX));
        }
        self
    }

    /// Whether the same call may succeed a little later: the tool says so, by the kind of its failure, or
    /// the host took no more calls.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self.outcome {
            Outcome::Overloaded => true,
            Outcome::ToolError => self.tool_fault.as_ref().is_some_and(|fault| fault.fault.is_transient()),
            _ => false,
        }
    }

    /// The same report with advice.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same report with a phase.
    #[must_use]
    pub fn at(mut self, phase: Phase) -> Self {
        self.phase = Some(phase);
        self
    }
}

/// A trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// Its kind.
    pub kind: TrapKind,
}

/// What a tool says of its own failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFault {
    /// The kind of failure.
    pub fault: Fault,
    /// Finer detail in the tool's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// When a retry may succeed, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u32>,
    /// Whether something outside of the tool may have changed.
    pub effect_possible: bool,
}

/// A limit and what was used of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUse {
    /// The limit.
    pub limit: u64,
    /// What was used.
    pub used: u64,
}

/// What one call used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Wall-clock time in microseconds, by where it went.
    pub wall_us: WallTime,
    /// Fuel units burned by the guest.
    pub fuel: u64,
    /// Most bytes of linear memory at one time.
    pub peak_memory_bytes: u64,
    /// How often the guest was refused more memory or table space.
    pub growth_refused: u64,
    /// Bytes of the arguments.
    pub bytes_in: u64,
    /// Bytes of the result.
    pub bytes_out: u64,
    /// Requests that left the host.
    pub requests: u64,
    /// Bytes written to standard output and error, kept or not.
    pub output_bytes: u64,
    /// Of those, bytes that were dropped.
    pub output_dropped: u64,
    /// Log records written, kept or not.
    pub log_records: u64,
    /// How often the tool was called again after a transient failure; the rest is what all tries used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature serde asks for")]
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Usage {
    /// Adds what another call used: sums, and of the memory the most.
    pub fn add(&mut self, other: &Self) {
        self.wall_us.add(&other.wall_us);
        self.peak_memory_bytes = self.peak_memory_bytes.max(other.peak_memory_bytes);
        for (sum, more) in [
            (&mut self.fuel, other.fuel),
            (&mut self.growth_refused, other.growth_refused),
            (&mut self.bytes_in, other.bytes_in),
            (&mut self.bytes_out, other.bytes_out),
            (&mut self.requests, other.requests),
            (&mut self.output_bytes, other.output_bytes),
            (&mut self.output_dropped, other.output_dropped),
            (&mut self.log_records, other.log_records),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.retries = self.retries.saturating_add(other.retries);
    }
}

/// Wall-clock time of one call in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallTime {
    /// From the request to the report.
    pub total: u64,
    /// Waiting for admission and for a turn to run.
    pub queue: u64,
    /// Waiting for a compilation.
    pub compile: u64,
    /// Creating instances, start functions included.
    pub instantiate: u64,
    /// Running guest code.
    pub guest: u64,
    /// Waiting inside of host functions.
    pub host_wait: u64,
}

impl WallTime {
    /// Adds the time of another call, place by place.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.total, other.total),
            (&mut self.queue, other.queue),
            (&mut self.compile, other.compile),
            (&mut self.instantiate, other.instantiate),
            (&mut self.guest, other.guest),
            (&mut self.host_wait, other.host_wait),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_round_trips_and_leaves_out_what_is_absent() {
        let report = CallReport::text("hi");
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["outcome"], "ok");
        assert!(json.get("trap").is_none() && json.get("message").is_none());
        assert_eq!(serde_json::from_value::<CallReport>(json).unwrap(), report);
    }
}
