//! Calls that repeat earlier ones of the run.

use super::Drive;
use crate::machine::{CommandId, CommandOutcome};

impl Drive<'_> {
    /// Shows the door what a call came to, for those that repeat it.
    pub(super) fn remember(&self, id: &CommandId, outcome: &CommandOutcome) {
        if let CommandOutcome::Tool(answer) = outcome
            && let Some(tool) = self.machine.tool(id)
        {
            let call = tool.call_to_run();
            self.door.remember(&call.name, &call.arguments, answer);
        }
    }
}
