//! The policy that is in force for a command.

use std::path::PathBuf;

use hotcell::{Policy, load_policy, policy_from_environment};

use crate::arguments::PolicyOption;
use crate::ending::Complaint;

/// A policy and the file it was read from.
#[derive(Debug, Clone, Default)]
pub(crate) struct InForce {
    pub(crate) policy: Policy,
    pub(crate) file: Option<PathBuf>,
}

impl PolicyOption {
    /// Reads the policy of `--policy`, else of HOTCELL_POLICY; without both the empty policy is in force.
    pub(crate) fn load(&self) -> Result<InForce, Complaint> {
        let Some(file) = self.policy_file.clone().or_else(policy_from_environment) else {
            return Ok(InForce::default());
        };
        let policy = load_policy(&file)?;
        Ok(InForce { policy, file: Some(file) })
    }
}
