//! What people see while the demo runs.

use futures::future::BoxFuture;
use hotcell::event::{EventKind, EventSink, RunEvent, SinkError};

use super::attacks::Attack;
use super::heartbeat::{Heartbeat, shown};
use crate::call_lines::line;
use crate::console::print;

/// Prints each call as it ends, and tells the heartbeat which attacks run.
pub(super) struct Watch {
    pub(super) heartbeat: Heartbeat,
    /// Tools of a component of somebody else.
    pub(super) attack_tools: Vec<String>,
    /// Whether lines are wanted, and not JSON at the end.
    pub(super) lines: bool,
}

impl Watch {
    fn is_attack(&self, tool: &str) -> bool {
        Attack::of(tool).is_some() || self.attack_tools.iter().any(|known| known == tool)
    }

    fn take(&self, event: &EventKind) -> anyhow::Result<()> {
        let mut meanwhile = String::new();
        match event {
            EventKind::ToolStarted { call, tool } if self.is_attack(tool.as_str()) => {
                self.heartbeat.begin(call, tool.as_str());
            }
            EventKind::ToolFinished { call, tool, .. } if self.is_attack(tool) => {
                let pulse = self.heartbeat.end(call);
                if pulse.answered > 0 {
                    meanwhile = format!("\n                   meanwhile {}", shown(pulse));
                }
            }
            _ => {}
        }
        match line(event).filter(|_| self.lines) {
            Some(line) => print(format_args!("{line}{meanwhile}\n")),
            None => Ok(()),
        }
    }
}

impl EventSink for Watch {
    fn send(&self, event: RunEvent) -> BoxFuture<'_, Result<(), SinkError>> {
        let taken = self.take(&event.kind).map_err(|error| SinkError(error.to_string()));
        Box::pin(std::future::ready(taken))
    }
}
